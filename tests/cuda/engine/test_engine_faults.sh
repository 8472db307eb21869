#!/bin/sh
# Both builds find each fault that is injected into the CUDA engine, and each wait and record that
# is left out, in the case and order of cuda/verify/faults_found.h, and nothing without the fault.
# inputs: build/zeroproof build/zeroproof-simdev* build/tests/drivers/cuda/engine_faults*
# inputs: cuda/README.md
# inputs: tests/fixtures/singles.txt
set -u
build=${ZP_BUILD:-build}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
export TSAN_OPTIONS=symbolize=0:exitcode=0 # reports are made by the hundred, and not read

each() { # each PROGRAM SUFFIX: its lines, with the build in the name
  "$build/tests/drivers/cuda/$1" check 2>/dev/null | sed "s/^\(ok\|not ok\) .*/&$2/"
}
each engine_faults _is_found_by_a_wrong_result
each engine_faults_tsan _is_found_by_ThreadSanitizer

# Each single wait and record, too: its number is one that some run needs. Plain runs tell by chance
# which they need, and would take long: `engine_faults single N CASE ...` counts them.
"$build/tests/drivers/cuda/engine_faults_tsan" single 12 $(cat tests/fixtures/singles.txt) \
  2>/dev/null

# The list in cuda/README.md is the engine's.
"$build/tests/drivers/cuda/engine_faults" table >"$out"
if sed -n '/^| N | sync point/,$p' cuda/README.md | cmp -s - "$out"; then
  echo "ok the_readme_lists_every_site"
else
  echo "not ok the_readme_lists_every_site"
fi

# One command shows the race: the injected fault, both accesses, the missing wait, the replay.
"$build/zeroproof" sim --engine cuda --tsan --fault pr8080 >"$out" 2>/dev/null
code=$?
if [ $code -eq 1 ] && grep -q "DeepSpeed #8061" "$out" && grep -q "^missing: copied.wait" "$out" &&
  grep -q "read of .* stream 'reduce'" "$out" && grep -q "write of .* stream 'producer" "$out" &&
  grep -q "schedule=[0-9]" "$out"; then
  echo "ok one_command_shows_the_race_of_pr8080"
else
  echo "not ok one_command_shows_the_race_of_pr8080"
fi

# saving, and the caller's own loop
for site in stored.record stored.host caller_loss.record caller_loss.wait caller.record \
  resumed.wait; do
  for tsan in "" --tsan; do
    "$build/zeroproof" sim --engine cuda $tsan --fault "drop-sync:$site" >"$out" 2>/dev/null
    [ $? -eq 1 ] && grep -q "^missing: $site: " "$out" && grep -q '^failed: ' "$out" &&
      { [ -z "$tsan" ] || grep -q '^failed: race' "$out"; }
    if [ $? -eq 0 ]; then echo "ok sim_finds_$site$tsan"
    else echo "not ok sim_finds_$site$tsan"; fi
  done
done

"$build/zeroproof" sim --engine cuda --fault drop-sync:given.wait >"$out" 2>/dev/null
if grep -q '^missing: caller_loss.wait: ' "$out"; then
  echo "ok a_former_name_of_a_sync_point_is_found"
else
  echo "not ok a_former_name_of_a_sync_point_is_found"
fi

refused() { # refused WORD NAME: --fault WORD is refused with a message that says how to list them
  "$build/zeroproof" sim --engine cuda --fault "$1" >/dev/null 2>"$out"
  code=$?
  if [ $code -eq 2 ] && grep -q -- "--fault list" "$out"; then echo "ok $2"
  else echo "not ok $2"; fi
}
refused drop-sync:0 "site_0_is_refused"
refused drop-sync:99 "a_site_that_is_not_there_is_refused"
refused drop-sync:copied.wait:0 "occurrence_0_is_refused"
refused pr8081 "an_unknown_fault_is_refused"
