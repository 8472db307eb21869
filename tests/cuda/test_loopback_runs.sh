# The engine on the loopback: trials of 2 to 24 ranks on simdev and on threads, no race under
# ThreadSanitizer, planted mistakes found: by gpu-check itself, a small one, as far as it goes
# without a GPU.
# spec: STRM-1, STRM-5, LEDG-1
. tests/cli/lib.sh
build=${ZP_BUILD:-build}

if [ "${SAN:-0}" != 1 ]; then
  "${MAKE:-make}" gpu-check DEVICE=sim BUILD="$build" TRIALS=60,3 RESULTS="$tmp/results" \
    >"$tmp/out" 2>&1
  verdict $? gpu_check_passes_on_simdev "$(tail -12 "$tmp/out")"
  grep -cE "^(build|kernels|trials on the loopback|races of the loopback|gpt's bounds|gpt trained,|\
bandwidth).* passed " "$tmp/out" | grep -qx 9
  verdict $? all_of_its_parts_for_simdev_are_run "$(cat "$tmp/out")"
  # gpt's kernels with another epsilon: the command for a device says which bits differ
  mkdir "$tmp/cuda" && cp -r cuda/model cuda/kernels cuda/simdev cuda/engine "$tmp/cuda"
  ln -s "$PWD/ref" "$tmp"
  sed 's/1e-5f/2e-5f/' cuda/model/forward.h >"$tmp/cuda/model/forward.h"
  # shellcheck disable=SC2046
  "${CC:-gcc}" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing \
    $("${MAKE:-make}" -s --no-print-directory cuda-flags) -c "$tmp/cuda/model/layers.c" \
    -o "$tmp/layers.o" >"$tmp/why" 2>&1 &&
    "${MAKE:-make}" BUILD="$build" CC="${CC:-gcc}" THREADS_COMMAND="$tmp/train" "$tmp/train" \
      "$tmp/train_lt" COMMAND_OBJ="$build/cuda/gpu/command.o $build/cuda/gpu/no_mpi.o $tmp/layers.o" \
      >"$tmp/why" 2>&1
  "$tmp/train" train --engine cuda --data STYLE.md --layers 1 --d-model 8 --heads 1 --context 8 \
    --batch 1 --sample 0 --steps 2 --dp 2 >>"$tmp/why" 2>&1
  [ $? -eq 1 ] && grep -q 'STAT-5: rank .* the loss of step 0 differs from ref' "$tmp/why"
  verdict $? gpt_with_another_epsilon_is_found "$(tail -3 "$tmp/why")"
  FAKE_CUBLAS=pairwise "$tmp/train_lt" train --engine cuda --data STYLE.md --layers 1 --d-model 8 \
    --heads 1 --context 8 --batch 1 --sample 0 --steps 2 --dp 2 >"$tmp/why" 2>&1
  [ $? -eq 1 ] && grep -q "its first step with ref's products: STAT-5: .* the loss of step 0" "$tmp/why"
  verdict $? and_where_a_library_multiplies "$(tail -3 "$tmp/why")"
  "${MAKE:-make}" -Bn gpu-programs-sim BUILD="$build" >"$tmp/why" 2>&1
  grep -q "$build/tests/cuda/zeroproof_threads_lt" "$tmp/why"
  verdict $? its_build_makes_what_trains "$(tail -1 "$tmp/why")"
  cp "$tmp/results/results.json" "$tmp/out"
else
  "$build/loopback_trials" 40 2 60 11 >"$tmp/out" 2>&1
  verdict $? trials_on_one_simulated_device_equal_ref "$(tail -3 "$tmp/out")"
  "$build/kernel_check" 3 9 >"$tmp/kernels" 2>&1
  verdict $? kernels_equal_their_bodies_on_the_host "$(tail -3 "$tmp/kernels")"
fi
grep -q '"2[0-4]":' "$tmp/out"
verdict $? they_reach_more_ranks_than_16 "$(tail -3 "$tmp/out")"
"$build/tests/cuda/loopback_threads" 5 1 120 11 >"$tmp/out" 2>&1
verdict $? trials_on_threads_equal_ref "$(tail -3 "$tmp/out")"
timeout -s TERM 2 "$build/tests/cuda/loopback_threads" 9999 1 120 11 >"$tmp/out" 2>&1
grep -q '^case: .*pp=' "$tmp/out" && grep -q '^order [0-9]' "$tmp/out"
verdict $? trials_that_are_stopped_say_where "$(tail -3 "$tmp/out")"

"$build/zeroproof-loopback" sim --engine cuda --fault pr8080 >"$tmp/out" 2>&1
[ $? -eq 1 ]
verdict $? a_planted_mistake_is_found_on_the_loopback "$(tail -3 "$tmp/out")"
if [ -x "$build/zeroproof-loopback-tsan" ] && [ "${SAN:-0}" != 1 ]; then
  "$build/zeroproof-loopback-tsan" sim --engine cuda --fault pr8080 >"$tmp/out" 2>&1
  [ $? -eq 1 ] && grep -q '^ *race\|race: two' "$tmp/out"
  verdict $? a_race_on_the_loopback_is_found "$(tail -5 "$tmp/out")"
fi

"$build/kernel_bench" 20000 1 >"$tmp/out" 2>&1
verdict $? every_measurement_can_be_made "$(tail -3 "$tmp/out")"
[ "$(grep -c '"simulated"' "$tmp/out")" -eq 49 ]
verdict $? there_are_49_of_them "$(wc -l <"$tmp/out")"
python3 -B tests/cuda/gpu_check_test.py
