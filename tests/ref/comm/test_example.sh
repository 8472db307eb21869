# The example program, built from the files that `make install` installs, one process per rank: the
# same bits for any split of the global batch over replicas and stages. spec: RED-5, STEP-1, LEDG-7
# inputs: @make
. tests/fixtures/lib.sh
. tests/fixtures/job.sh
san=${SAN:-0}
${MAKE:-make} --no-print-directory install SAN="$san" BUILD="${ZP_BUILD:-build}" CC="${CC:-gcc}" \
  PREFIX="$tmp/usr" >"$tmp/out" 2>&1
verdict $? install "$(tail -3 "$tmp/out")"
export PKG_CONFIG_PATH="$tmp/usr/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
flags="-std=c11 -Wall -Wextra -Werror"
[ "$san" = 1 ] && flags="$flags -fsanitize=address,undefined"
source=ref/example/train.c
driver=$tmp/train
[ "$(wc -l <$source)" -lt 100 ]
verdict $? example_is_under_a_hundred_lines "$(wc -l <$source)"
# shellcheck disable=SC2046,SC2086
${CC:-gcc} $flags $source -o "$tmp/static" $(pkg-config --static --cflags --libs zeroproof-mpi |
  sed 's/-lzeroproof[a-z_]*/-Wl,-Bstatic & -Wl,-Bdynamic/g') >"$tmp/out" 2>&1 &&
  "$tmp/static" >"$tmp/alone" 2>&1
verdict $? example_with_static_libraries "$(cat "$tmp/out" "$tmp/alone" | head -5)"
# shellcheck disable=SC2046,SC2086
${CC:-gcc} $flags $source -o "$driver" $(pkg-config --cflags --libs zeroproof-mpi) \
  -Wl,-rpath,"$tmp/usr/lib" >"$tmp/out" 2>&1
verdict $? example_with_shared_libraries "$(head -5 "$tmp/out")"
[ "$(grep -c '^step' "$tmp/alone")" -eq 5 ] && [ "$(grep -c '^layer' "$tmp/alone")" -eq 100 ]
verdict $? example_says_every_step_and_weight "$(head -3 "$tmp/alone")"
sort "$tmp/alone" >"$tmp/want"
for run in 1 2 4 "2 pp" "4 pp"; do
  # shellcheck disable=SC2086
  set -- $run
  ranks=$1
  shift
  job "$@"
  [ "$code" -eq 0 ] || complain "exit code $code: $(cat "$tmp"/job/1/rank.*/stderr | head -c 300)"
  cat "$tmp"/job/1/rank.*/stdout | sort | cmp -s - "$tmp/want" || complain "other bits than alone"
  law "example_has_the_bits_of_one_process_with_$(echo "$run" | tr ' ' _)_processes"
done
ranks=3
job pp
[ "$code" -ne 0 ] || complain "exit code 0"
says "0 1 2" 'options.world is 3, and the configuration.s pp x dp x tp = 2 x 1 x 1 needs 2'
law example_with_three_processes_for_two_stages_is_refused
RANK=0 WORLD_SIZE=x "$driver" >"$tmp/out" 2>&1
[ $? -eq 3 ] &&
  grep -q "WORLD_SIZE is 'x'; it should be a whole number from 1 to 1048576" "$tmp/out"
verdict $? example_with_a_nonsense_environment_is_refused "$(cat "$tmp/out")"
RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "$driver" >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q "not started by Open MPI's mpirun" "$tmp/out"
verdict $? example_under_torchrun_says_that_the_reference_needs_mpi "$(cat "$tmp/out")"
finish
