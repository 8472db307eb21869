# `--offload`: training and simulating with optimizer states in host memory. The tests of the update
# on the host must find each fault that sed injects into a copy of its sources.
# spec: OPT-5, STRM-9
# inputs: build/zeroproof build/zeroproof-simdev* build/libzeroproof.a
# inputs: build/tests/drivers/cuda/api_driver* build/tests/drivers/mpi/engine_driver
# inputs: build/tests/cuda/host_optimizer/test_offload_update.o tests/fixtures/lib.sh LICENSE
# inputs: spec/*.md spec/acsl cuda/host_optimizer cuda/kernels cuda/simdev ref
. tests/fixtures/lib.sh

build=${ZP_BUILD:-build}
cc=${CC:-gcc}

# ---- The command
small="--layers 2 --d-model 16 --heads 2 --context 16 --batch 1 --sample 0"
head -c 3000 LICENSE >"$tmp/text"
for dp in 1 3; do
  set -- --data "$tmp/text" $small --steps 50 --pp 1 --dp $dp --stage 2 --precision fp16 \
    --loss-scale dynamic --reduce ordered --bucket 300
  expect 0 "engine equal to ref bit for bit: .*in each of 50 steps and on each of $dp ranks" \
    "gpt_equals_ref_with_offload_dp_$dp" train --engine cuda --offload "$@"
  cuda=$(sed -n 's/^hash of the run.*: //p' "$tmp/out")
  ref=$("$zp" train "$@" | sed -n 's/^hash of the run.*: //p')
  [ -n "$ref" ] && [ "$cuda" = "$ref" ]
  verdict $? "gpt_ends_with_refs_bits_with_offload_dp_$dp" "got $cuda, expected $ref"
done
expect 0 'engine equal to ref' gpt_with_offload_under_tsan train --engine cuda --tsan --offload \
  --data "$tmp/text" $small --steps 3 --dp 2 --pp 2
old="--data $tmp/text $small --pp 2 --dp 2 --steps 3"
expect 0 'saved in' offload_saves train --engine cuda --offload $old --save "$tmp/host"
expect 0 'saved in' without_offload_train_saves train --engine cuda $old --save "$tmp/device"
diff -r -x 'LOCK*' "$tmp/host" "$tmp/device" >"$tmp/out" && [ -s "$tmp/host/step-3/manifest.json" ]
verdict $? offload_saves_the_same_bytes "$(head -c 200 "$tmp/out")"
new="--data $tmp/text $small --pp 1 --dp 3 --stage 1 --steps 2"
a=$("$zp" train $new --load "$tmp/device" 2>&1 | grep '^hash of')
b=$("$zp" train --engine cuda --offload $new --load "$tmp/host" 2>&1 | grep '^hash of')
[ -n "$a" ] && [ "$a" = "$b" ]
verdict $? offload_continues_under_another_split "$b, not $a"
json every_order_has_offload_with_the_flag '.orders == 4 and .orders_with_offload == 4' \
  sim --engine cuda --offload --schedules 4 --json
json eight_of_sixteen_orders_have_offload_without_the_flag \
  '.orders == 16 and .orders_with_offload == 8' \
  sim --engine cuda --schedules 16 --json
json fuzz_covers_offload '.orders_with_offload > 0 and .orders_with_offload < .orders' \
  fuzz --engine cuda --cases 4 --schedules 8 --seed 3 --json
expect 2 '--offload is for --engine cuda' offload_requires_engine_cuda train --offload $old

# ---- The public functions: own loop, callbacks, saving and loading
driver=$build/tests/drivers/cuda/api_driver
while read -r name ranks arguments; do
  why=
  for seed in 0 1 2 3; do
    # shellcheck disable=SC2086
    "$driver" "$ranks" $seed offload=1 $arguments >"$tmp/out" 2>&1 ||
      why="seed $seed: exit code $?: $(head -c 500 "$tmp/out")"
  done
  [ -z "$why" ]
  verdict $? "public_functions_with_offload_$name" "$why"
done <<'END'
alone 1 seed=1 mb=3
alone_stage_0 1 seed=3 stage=0 precision=2
four_replicas_in_the_caller_s_loop 4 dp=4 seed=5 reduce=0
four_replicas_in_fp32_with_callbacks 4 dp=4 seed=6 callbacks=1 precision=0
three_stages_of_two 6 pp=3 dp=2 tied=1 mb=4 seed=7
tensor_parallel_and_experts 4 dp=2 tp=2 ep=2 seed=9
END
TSAN_OPTIONS=symbolize=0 "${driver}_tsan" 4 0 dp=4 seed=5 offload=1 >"$tmp/out" 2>&1
verdict $? public_functions_with_offload_have_no_race "$(head -c 500 "$tmp/out")"
"$driver" 4 1 dp=4 mb=1 seed=12 offload=1 "save=$tmp/ck" >"$tmp/out" 2>&1 &&
  "$build/tests/drivers/mpi/engine_driver" mb=4 seed=12 "load=$tmp/ck" >"$tmp/out" 2>&1
verdict $? ref_continues_from_offload "$(head -c 500 "$tmp/out")"
"$driver" 1 0 offload=2 >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q 'options.offload: 0 or 1 (it is 2)' "$tmp/out"
verdict $? offload_must_be_0_or_1 "$(head -c 300 "$tmp/out")"

# ---- Faults in the update; not under sanitizers
if [ "${SAN:-0}" = 1 ]; then finish; fi
mkdir "$tmp/cuda" && cp -r cuda/host_optimizer cuda/kernels cuda/simdev "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"

compiled() { # compiled: makes $tmp/test of the copy
  for source in update update_avx2 update_avx512; do
    "$cc" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing -c \
      "$tmp/cuda/host_optimizer/$source.c" -o "$tmp/$source.o" || return 1
  done
  "$cc" -o "$tmp/test" "$build/tests/cuda/host_optimizer/test_offload_update.o" "$tmp/update.o" \
    "$tmp/update_avx2.o" "$tmp/update_avx512.o" "$build/libzeroproof.a" -pthread -lcriterion \
    -ljansson -lxxhash -lm
}

fault() { # fault NAME FILE SED: the tests must fail; sed must have changed something
  cp "cuda/host_optimizer/$2" "$tmp/kept"
  sed "$3" "$tmp/kept" >"$tmp/cuda/host_optimizer/$2"
  if cmp -s "$tmp/kept" "$tmp/cuda/host_optimizer/$2"; then
    verdict 1 "fault:$1" "sed changed nothing in $2"
  elif ! compiled 2>"$tmp/out"; then
    verdict 1 "fault:$1" "does not compile: $(head -2 "$tmp/out")"
  else
    limited "$tmp/test" --fail-fast >"$tmp/out" 2>&1
    [ $? -ne 0 ]
    verdict $? "fault:$1" "the tests pass"
  fi
  cp "$tmp/kept" "$tmp/cuda/host_optimizer/$2"
}

compiled 2>"$tmp/out" && timeout 900 "$tmp/test" >"$tmp/out" 2>&1
verdict $? update_without_a_fault_passes "$(tail -3 "$tmp/out")"

fault modes_of_the_process update.c 's/fesetenv(FE_DFL_ENV);//'
fault modes_not_restored update.c 's/fesetenv(&modes);//'
fault padding_updated update.c 's/u->real < to ? u->real : to/to/'
fault tail_skipped update.c 's/update_plain(u, i, real);//'
fault rounded_tail_skipped update.c 's/^  round_plain(u, i, to);//'
fault a_share_skipped update.c 's/chunks \* t \/ n \* CHUNK/(chunks * t \/ n + t) * CHUNK/'
fault last_chunk_too_long update.c 's/s->end - from < CHUNK ? s->end : from + CHUNK/from + CHUNK/'
fault not_a_power_of_two update_internal.h 's/(divisor - 1)) == 0/(divisor - 1)) <= 4/'
fault inverse_left_out_without_vectors update.c 's/sum\[i\] \* inverse/sum[i]/'
grep -qm1 avx2 /proc/cpuinfo || { echo "not run: faults of vectors: this CPU has no AVX2"; finish; }
fault other_order update_vectors.inc \
  's/mean \* \(k->unscale \* k->factor_clip\)/\1 * mean/'
fault mean_left_out update_vectors.inc 's/mean = vec_mean(mean, k->divisor)/mean = mean/'
fault inverse_left_out update_vectors.inc 's/else mean = mean \* k->inverse;//'
fault mean_rounded_with_the_scale update_vectors.inc \
  's/else mean = .*/else return mean * (k->inverse * k->unscale) * k->factor_clip;/'
fault squared_later update_vectors.inc 's/k.c2 \* (g \* g)/k.c2 * g * g/'
fault divided_once update_vectors.inc 's/k.size \* (moment1 \/ d)/k.size * moment1 \/ d/'
fault eps_inside update_vectors.inc \
  's/vec_sqrt(moment2) \/ k.root + k.eps/(vec_sqrt(moment2) + k.eps) \/ k.root/'
fault momentum_not_stored update_vectors.inc 's/^      vec_store(u->m + i, g);//'
fault scalars_mixed_up update_vectors.inc 's/vec_set(s\[8\])/vec_set(s[7])/'
fault truncated_avx2 update_avx2.c 's/_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff))/u/'
fault ties_up_avx2 update_avx2.c \
  's/set1_epi32(0x7fff)), odd/set1_epi32(0x8000)), _mm256_setzero_si256()/'
fault nan_to_inf_avx2 update_avx2.c 's/quiet, nan);/quiet, _mm256_setzero_si256());/'
fault halves_in_register_order update_avx2.c 's/0x08)/0x04)/'
if grep -qm1 avx512dq /proc/cpuinfo; then
  fault ties_up_avx512 update_avx512.c \
  's/set1_epi32(0x7fff)), odd/set1_epi32(0x8000)), _mm512_setzero_si512()/'
  fault nan_to_inf_avx512 update_avx512.c 's/, nan, quiet);/, 0, quiet);/'
  fault fp16_truncated update_avx512.c 's/_MM_FROUND_TO_NEAREST_INT/_MM_FROUND_TO_ZERO/'
  fault short_fraction update_avx512.c 's/_mm512_sqrt_ps(a)/_mm512_rcp14_ps(_mm512_rsqrt14_ps(a))/'
else echo "not run: faults of the widest vectors: this CPU has no AVX-512"; fi
finish
