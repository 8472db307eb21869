# zeroproof train --engine cuda with a library's matrix products, on a device of the tests: each
# product is checked, ref follows the engine, and a product that lacks a term is found; options that
# choose the device and the GEMM backend. spec: ERR-7, ERR-8, PIPE-6
# inputs: build/zeroproof build/zeroproof-simdev build/tests/drivers/cuda/zeroproof_threads_lt
# inputs: tests/fixtures/lib.sh LICENSE
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}
mkdir "$tmp/here" # the command as it is where there is a GPU: a program for it is beside
cp "$build/zeroproof" "$build/zeroproof-simdev" "$tmp/here"
cp "$build/tests/drivers/cuda/zeroproof_threads_lt" "$tmp/here/zeroproof-cuda"
head -c 3000 LICENSE >"$tmp/text"
set -- train --engine cuda --data "$tmp/text" --layers 2 --d-model 16 --heads 2 --context 16 \
  --batch 2 --sample 0 --steps 3
ends() { # ends COMMAND...: the bits of its end
  "$@" 2>/dev/null | sed -n 's/^hash of the run.*: //p'
}
zp=$tmp/here/zeroproof

# ---- Device and GEMM backend
expect 0 'on a CUDA device.*beside ref' a_gpu_is_used_if_there_is_one "$@"
expect 0 'on a simulated device' device_sim_uses_the_simulated_device "$@" --device sim
expect 0 "^products: ref's own, in ref's order" on_simdev_products_are_refs "$@" --device sim
expect 2 "'x' is not one of: gpu sim" an_unknown_device_is_refused "$@" --device x
expect 2 '--device is for --engine cuda' device_requires_engine_cuda train --device gpu
expect 2 '--products is for --engine cuda' products_requires_engine_cuda train --products ref
expect 2 '--tsan sees a simulated device only' tsan_refuses_a_gpu "$@" --tsan --device gpu
expect 2 "cublaslt: here products are ref's own" a_missing_cublaslt_is_refused "$@" --device sim \
  --products cublaslt
expect 2 '--verify: .* add --products ref' verify_requires_refs_products "$@" --verify
expect 2 '--verify: .* bf16 operands; add --products ref' verify_refuses_bf16_operands "$@" \
  --device sim --products bf16 --verify
expect 2 "'x' is not one of: ref cublaslt bf16" unknown_products_are_refused "$@" --products x
json env_prints_the_gemm_backend_of_a_gpu '.engines | ."cuda --device gpu" == "zeroproof-cuda" and
  (."products on a GPU" | startswith("cuBLASLt"))' env --json
expect 2 '26 ranks: one GPU has at most 24' too_many_ranks_for_a_gpu_are_refused "$@" --dp 13
ref=$(ends "$build/zeroproof" train --data "$tmp/text" --layers 2 --d-model 16 --heads 2 \
  --context 16 --batch 2 --sample 0 --steps 3)
cuda=$(ends "$zp" "$@" --products ref)
[ -n "$ref" ] && [ "$ref" = "$cuda" ]
verdict $? with_refs_products_all_bits_are_refs "got $cuda, expected $ref"
expect 0 '^Verified: ' with_refs_products_verify_works "$@" --products ref --verify
mv "$tmp/here/zeroproof-cuda" "$tmp/kept"
expect 3 'zeroproof-cuda is not beside this one; run `make gpu-command`' \
  a_missing_program_for_a_gpu_is_reported "$@" --device gpu
printf '#!/bin/sh\nexit 3\n' >"$tmp/here/zeroproof-cuda"
chmod +x "$tmp/here/zeroproof-cuda"
expect 0 'on a simulated device' without_a_gpu_a_simulated_device_is_used "$@"
mv "$tmp/kept" "$tmp/here/zeroproof-cuda"

expect 3 'CUDA error 2 .*ranks share 2 GiB of pinned memory' out_of_memory_is_not_a_verdict \
  train --engine cuda --data "$tmp/text" --layers 2 --d-model 768 --heads 8 --context 2 --batch 1 \
  --micro-batches 1 --sample 0 --steps 1 --pp 1 --dp 2 --stage 0
# it writes what the command writes, under the same laws
for words in "train --help" --products "$*"; do
  for output in /dev/full closed; do
    # shellcheck disable=SC2086 # options are split at spaces
    if [ $output = closed ]; then "$tmp/here/zeroproof-cuda" $words >&- 2>"$tmp/err"
    else "$tmp/here/zeroproof-cuda" $words >$output 2>"$tmp/err"; fi
    got=$?
    [ $got -eq 3 ] && grep -q 'standard output could not be written' "$tmp/err"
    verdict $? "output_is_not_lost_${output#/dev/}_$(echo "$words" | tr -dc 'a-z' | head -c 9)" \
      "exit code $got: $(head -c 300 "$tmp/err")"
  done
done
"$tmp/here/zeroproof-cuda" --help | grep -q '^Usage: '
verdict $? the_program_for_a_gpu_prints_its_device_and_backend

# ---- Operands rounded to bf16; on simdev added in ref's order
judged='.products | .operands == "bf16" and .judged > 100000 and .not_judged == 0 and
  .farthest > 0 and .farthest <= 1 and .loss_apart > 0 and .loss_apart < 1e-2 and
  .gradient_apart > 1e-4 and .gradient_apart < 1e-1'
for precision in fp32 bf16; do
  json "bf16_operands_on_simdev_$precision" "$judged" "$@" --device sim --products bf16 \
    --precision $precision --json
  json "bf16_operands_on_a_device_$precision" "$judged" "$@" --products bf16 \
    --precision $precision --pp 3 --dp 2 --stage 1 --vary-shapes --tuple --json
done
expect 0 '^products: operands rounded to bf16; ref.s own, in ref.s order: .* of what ERR-8 allows' \
  train_prints_that_operands_are_bf16 "$@" --device sim --products bf16

# ---- A library adds in another order
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
verdict $? another_order_gives_other_bits "$other"
expect 0 'ref bit for bit: .*from the losses and gradients that it made' \
  train_prints_what_is_equal "$@"
expect 0 'elements judged, the farthest at 0\.[0-9]* of what ERR-7 allows' \
  train_prints_the_largest_error_of_products "$@"
json overflows_are_judged '.products.not_judged == 0 and .products.judged > 100000 and
  .steps[0].skipped' "$@" --json \
  --precision fp16 --loss-scale 16777216

# ---- Checkpoints, also under another split
first="--reduce exact --dp 2 --pp 2 --steps 2"
whole=$(ends "$zp" "$@" --reduce exact --dp 2 --pp 2 --steps 4)
# shellcheck disable=SC2086
expect 0 'saved in .*, continues at step 2' train_saves "$@" $first --save "$tmp/saved"
"$zp" "$@" --reduce exact --dp 1 --pp 3 --micro-batches 12 --steps 2 --load "$tmp/saved" \
  >"$tmp/out" 2>&1
rest=$(sed -n 's/^hash of the final state[^:]*: \([0-9a-f]*\)$/\1/p' "$tmp/out")
straight=$("$zp" "$@" --reduce exact --dp 2 --pp 2 --steps 4 |
  sed -n 's/^hash of the final state[^:]*: \([0-9a-f]*\)$/\1/p')
[ -n "$whole" ] && [ -n "$rest" ] && [ "$rest" = "$straight" ]
verdict $? train_continues_under_another_split "$rest, not $straight: $(tail -1 "$tmp/out")"

# Ranks are threads that share one reader of the checkpoint.
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  "$zp" "$@" --steps 1 --reduce exact --load "$tmp/saved" >"$tmp/out" 2>&1 || break
done
[ "$n" -eq 20 ] && grep -q '^hash of the run' "$tmp/out"
verdict $? threads_load_one_after_the_other "load $n: $(tail -1 "$tmp/out")"

FAKE_CUBLAS_LACKS=302 expect 1 \
  'ERR-8: rank [0-9]: in step [0-9] the product .* has 1 element farther' \
  bf16_without_one_term "$@" --products bf16

# ---- One product lacks its largest term
for n in 200 301 402 503 604 705; do
  export FAKE_CUBLAS_LACKS=$n
  expect 1 \
    'ERR-7: rank [0-9]: in step [0-9] the product .* has 1 element farther .* than any order' \
    "without_one_term_$n" "$@"
done
finish
