# The CUDA engine on nccl_threads: random topologies of 2 to 24 ranks on simdev and on threads, no
# race under ThreadSanitizer, injected faults found. Without sanitizers a small gpu-check on simdev
# runs them.
# spec: STRM-1, STRM-5, LEDG-1
# inputs: @make
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}

if [ "${SAN:-0}" != 1 ]; then
  "${MAKE:-make}" gpu-check DEVICE=sim BUILD="$build" TRIALS=60,3 RESULTS="$tmp/results" \
    >"$tmp/out" 2>&1
  verdict $? gpu_check_passes_on_simdev "$(tail -12 "$tmp/out")"
  # of these, 18 run the engine over NCCL
  grep -cE "^(build|kernels|steps|bandwidth|launches|.*over NCCL|random topologies|races of \
nccl_threads|gpt's bounds|gpt trained,).* passed " "$tmp/out" | grep -qx 31
  verdict $? all_of_its_parts_for_simdev_are_run "$(cat "$tmp/out")"
  # gpt's kernels with another epsilon: the command for a device reports which bits differ
  mkdir "$tmp/cuda" && cp -r cuda/gpt cuda/kernels cuda/simdev cuda/engine "$tmp/cuda"
  ln -s "$PWD/ref" "$tmp"
  sed 's/1e-5f/2e-5f/' cuda/gpt/forward.h >"$tmp/cuda/gpt/forward.h"
  # shellcheck disable=SC2046
  "${CC:-gcc}" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing \
    ${ZP_CUDA_FLAGS:-$(make -s cuda-flags)} -c "$tmp/cuda/gpt/layers.c" \
    -o "$tmp/layers.o" >"$tmp/why" 2>&1 &&
    "${MAKE:-make}" BUILD="$build" CC="${CC:-gcc}" THREADS_COMMAND="$tmp/train" "$tmp/train" \
      "$tmp/train_lt" \
      COMMAND_OBJ="$build/cuda/cli/device_main.o $build/ref/comm/no_mpi/comm_no_mpi.o \
        $tmp/layers.o" \
      >"$tmp/why" 2>&1
  "$tmp/train" train --engine cuda --data LICENSE --layers 1 --d-model 8 --heads 1 --context 8 \
    --batch 1 --sample 0 --steps 2 --dp 2 >>"$tmp/why" 2>&1
  [ $? -eq 1 ] && grep -q 'STAT-5: rank .* the loss of step 0 differs from ref' "$tmp/why"
  verdict $? gpt_with_another_epsilon_fails "$(tail -3 "$tmp/why")"
  FAKE_CUBLAS=pairwise "$tmp/train_lt" train --engine cuda --data LICENSE --layers 1 --d-model 8 \
    --heads 1 --context 8 --batch 1 --sample 0 --steps 2 --dp 2 >"$tmp/why" 2>&1
  [ $? -eq 1 ] &&
    grep -q "its first step with ref's products: STAT-5: .* the loss of step 0" "$tmp/why"
  verdict $? gpt_with_another_epsilon_fails_with_a_library "$(tail -3 "$tmp/why")"
  "${MAKE:-make}" -Bn gpu-programs-sim BUILD="$build" >"$tmp/why" 2>&1
  grep -q "$build/tests/drivers/cuda/zeroproof_threads_lt" "$tmp/why"
  verdict $? its_build_makes_the_program_that_trains "$(tail -1 "$tmp/why")"
  cp "$tmp/results/results.json" "$tmp/out"
else
  "$build/random_topologies" 40 2 60 11 >"$tmp/out" 2>&1
  verdict $? topologies_on_one_simulated_device_equal_ref "$(tail -3 "$tmp/out")"
  "$build/kernel_check" 3 9 >"$tmp/kernels" 2>&1
  verdict $? kernels_equal_their_bodies_on_the_host "$(tail -3 "$tmp/kernels")"
fi
grep -q '"2[0-4]":' "$tmp/out"
verdict $? topologies_have_more_than_16_ranks "$(tail -3 "$tmp/out")"
"$build/tests/drivers/cuda/random_topologies_threads" 5 1 120 11 >"$tmp/out" 2>&1
verdict $? topologies_on_threads_equal_ref "$(tail -3 "$tmp/out")"
for seconds in 2 8 32 128 512; do # on a busy machine the first case may begin late
  timeout -s TERM $seconds "$build/tests/drivers/cuda/random_topologies_threads" 9999 1 120 11 \
    >"$tmp/out" 2>&1
  grep -q '^case: .*pp=' "$tmp/out" && break
done
grep -q '^case: .*pp=' "$tmp/out" && grep -q '^order [0-9]' "$tmp/out"
verdict $? a_stopped_run_prints_its_case "$(tail -3 "$tmp/out")"

"$build/zeroproof-nccl-threads" sim --engine cuda --fault pr8080 >"$tmp/out" 2>&1
[ $? -eq 1 ]
verdict $? an_injected_fault_is_found_on_nccl_threads "$(tail -3 "$tmp/out")"
if [ -x "$build/zeroproof-nccl-threads-tsan" ] && [ "${SAN:-0}" != 1 ]; then
  "$build/zeroproof-nccl-threads-tsan" sim --engine cuda --fault pr8080 >"$tmp/out" 2>&1
  [ $? -eq 1 ] && grep -q '^ *race\|race: two' "$tmp/out"
  verdict $? a_race_on_nccl_threads_is_found "$(tail -5 "$tmp/out")"
fi

"$build/kernel_bench" 20000 1 >"$tmp/out" 2>&1
verdict $? the_benchmark_of_kernels_runs "$(tail -3 "$tmp/out")"
[ "$(grep -c '"simulated"' "$tmp/out")" -eq 59 ]
verdict $? the_benchmark_has_59_measurements "$(wc -l <"$tmp/out")"
python3 -B tests/cuda/gpu/gpu_check_test.py || bad=1
python3 -B tests/cuda/gpu/gpu_report_test.py || bad=1
finish
