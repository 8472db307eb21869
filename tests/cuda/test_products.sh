# zeroproof train --engine cuda with a library's matrix products, on a device of the tests' own: each
# product is judged, ref follows, and a product that lacks a term is found; who trains where.
# spec: ERR-7, PIPE-6
. tests/cli/lib.sh
build=${ZP_BUILD:-build}
mkdir "$tmp/here" # the command as it is where there is a GPU: a program for it is beside
cp "$build/zeroproof" "$build/zeroproof-simdev" "$tmp/here"
cp "$build/tests/cuda/zeroproof_threads_lt" "$tmp/here/zeroproof-cuda"
head -c 3000 Makefile >"$tmp/text"
set -- train --engine cuda --data "$tmp/text" --layers 2 --d-model 16 --heads 2 --context 16 \
  --batch 2 --sample 0 --steps 3
ends() { # ends COMMAND...: the bits of its end
  "$@" 2>/dev/null | sed -n 's/^bits of the end.*norms: //p'
}
zp=$tmp/here/zeroproof

# ---- Where, and who multiplies
expect 0 'on a CUDA device.*beside ref' a_gpu_is_taken_where_there_is_one "$@"
expect 0 'on a simulated device' unless_told_otherwise "$@" --device sim
expect 0 "^products: ref's own, in ref's order" then_products_are_refs "$@" --device sim
expect 2 "'x' is not one of: gpu sim" another_device "$@" --device x
expect 2 '--device is for --engine cuda' a_device_for_ref train --device gpu
expect 2 '--products is for --engine cuda' products_for_ref train --products ref
expect 2 '--tsan sees a simulated device only' a_gpu_under_tsan "$@" --tsan --device gpu
expect 2 "cublaslt: here products are ref's own" cublaslt_where_there_is_none "$@" --device sim \
  --products cublaslt
expect 2 '--verify: .* add --products ref' other_topologies_have_other_bits "$@" --verify
json env_says_who_multiplies_on_a_gpu '.engines | ."cuda --device gpu" == "zeroproof-cuda" and
  (."products on a GPU" | startswith("cuBLASLt"))' env --json
expect 2 '26 ranks: one GPU has at most 24' more_ranks_than_a_gpu_has "$@" --dp 13
ref=$(ends "$build/zeroproof" train --data "$tmp/text" --layers 2 --d-model 16 --heads 2 \
  --context 16 --batch 2 --sample 0 --steps 3)
twin=$(ends "$zp" "$@" --products ref)
[ -n "$ref" ] && [ "$ref" = "$twin" ]
verdict $? with_refs_products_all_bits_are_refs "$twin, not $ref"
expect 0 'with losses and norms: ' and_can_be_verified "$@" --products ref --verify
mv "$tmp/here/zeroproof-cuda" "$tmp/kept"
expect 3 'zeroproof-cuda is not beside this one; run `make gpu-command`' no_program_for_a_gpu "$@" \
  --device gpu
printf '#!/bin/sh\nexit 3\n' >"$tmp/here/zeroproof-cuda"
chmod +x "$tmp/here/zeroproof-cuda"
expect 0 'on a simulated device' without_a_gpu_a_simulated_one_is_taken "$@"
mv "$tmp/kept" "$tmp/here/zeroproof-cuda"

expect 3 'CUDA error 2 .*ranks share 2 GiB of pinned memory' memory_that_runs_out_is_no_verdict \
  train --engine cuda --data "$tmp/text" --layers 8 --d-model 768 --heads 8 --context 64 --batch 8 \
  --sample 0 --steps 1 --dp 12
"$tmp/here/zeroproof-cuda" --help | grep -q '^Usage: '
verdict $? the_program_for_a_gpu_says_what_it_is

# ---- A library adds in an order of its own
export FAKE_CUBLAS=pairwise
for precision in fp32 bf16 fp16; do
  for more in "--pp 1 --dp 3" "--pp 3 --dp 2 --stage 1 --vary-shapes --tuple" \
    "--pp 2 --dp 2 --offload"; do
    # shellcheck disable=SC2086
    json "ref_follows_${precision}_$(echo "$more" | tr -d ' -')" '.products |
      (.by | startswith("cuBLASLt")) and .judged > 100000 and .not_judged == 0 and
      .farthest > 0.05 and .farthest <= 1 and .loss_apart >= 0 and .loss_apart < 1e-4 and
      .gradient_apart > 0 and .gradient_apart < 1e-2' "$@" --json --precision $precision $more
  done
done
other=$(ends "$zp" "$@")
[ -n "$other" ] && [ "$other" != "$ref" ]
verdict $? the_order_shows_in_the_bits "$other"
expect 0 'ref bit for bit: .*from the losses and gradients that it made' it_says_what_is_equal "$@"
expect 0 'elements judged, the farthest at 0\.[0-9]* of what ERR-7 allows' and_how_near_products_are \
  "$@"
json what_overflows_is_judged_too '.products.not_judged == 0 and .products.judged > 100000 and
  .steps[0].skipped' "$@" --json \
  --precision fp16 --loss-scale 16777216

# ---- Checkpoints: of one's own, and under another split
first="--reduce exact --dp 2 --pp 2 --steps 2"
whole=$(ends "$zp" "$@" --reduce exact --dp 2 --pp 2 --steps 4)
# shellcheck disable=SC2086
expect 0 'saved in .*, continues at step 2' it_saves "$@" $first --save "$tmp/saved"
"$zp" "$@" --reduce exact --dp 1 --pp 3 --micro-batches 12 --steps 2 --load "$tmp/saved" \
  >"$tmp/out" 2>&1
rest=$(sed -n 's/^bits of the end[^:]*: \([0-9a-f]*\);.*/\1/p' "$tmp/out")
straight=$("$zp" "$@" --reduce exact --dp 2 --pp 2 --steps 4 |
  sed -n 's/^bits of the end[^:]*: \([0-9a-f]*\);.*/\1/p')
[ -n "$whole" ] && [ -n "$rest" ] && [ "$rest" = "$straight" ]
verdict $? and_goes_on_under_another_split "$rest, not $straight: $(tail -1 "$tmp/out")"

# Ranks are threads, and the checkpoint's reader is one: in turns, however often.
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  "$zp" "$@" --steps 1 --reduce exact --load "$tmp/saved" >"$tmp/out" 2>&1 || break
done
[ "$n" -eq 20 ] && grep -q '^bits of the end' "$tmp/out"
verdict $? threads_load_in_turns "load $n: $(tail -1 "$tmp/out")"

# ---- One product lacks its largest term
for n in 200 301 402 503 604 705; do
  export FAKE_CUBLAS_LACKS=$n
  expect 1 'ERR-7: rank [0-9]: in step [0-9] the product .* has 1 element farther .* than any order' \
    "without_one_term_$n" "$@"
done
finish
