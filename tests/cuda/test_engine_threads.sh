#!/bin/sh
# Gradients are announced by several hosts of a rank at once, and a watchdog looks on. Jobs with odd
# numbers have these hosts.
set -u
build=${ZP_BUILD:-build}
tsan=$build/tests/cuda/engine_syncs_tsan
out=$(mktemp)
trap 'rm -f "$out"' EXIT
export TSAN_OPTIONS=symbolize=0:exitcode=0

verdict() { # verdict CODE NAME
  if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2" && tail -5 "$out"; fi
}

"$tsan" run 201 231 2 >"$out" 2>/dev/null
verdict $? "hosts_that_announce_at_once_do_not_race"

# each job with these hosts, and no other, races when the lock locks nothing
ZP_ENGINE_NO_LOCK=1 "$tsan" run 201 231 2 >"$out" 2>/dev/null
[ "$(sed -n 's/^job \([0-9]*\):.*race.*/\1/p' "$out" | sort -nu | awk '$1 % 2 { n++ } END { print n + 0 }')" -ge 12 ] &&
  [ -z "$(sed -n 's/^job \([0-9]*\):.*/\1/p' "$out" | awk '$1 % 2 == 0')" ]
verdict $? "without_its_lock_they_are_found_to_race"
