#!/bin/sh
# Gradients are announced by several hosts of a rank at once, and a watchdog looks on.
# inputs: build/tests/drivers/cuda/engine_threads_tsan
set -u
tsan=${ZP_BUILD:-build}/tests/drivers/cuda/engine_threads_tsan
out=$(mktemp)
trap 'rm -f "$out"' EXIT
export TSAN_OPTIONS=symbolize=0:exitcode=0

verdict() { # verdict CODE NAME
  if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2" && tail -5 "$out"; fi
}

"$tsan" 201 231 2 >"$out" 2>/dev/null
verdict $? "hosts_that_announce_at_once_do_not_race"

# cases with these hosts, and no others, race when the lock locks nothing
ZP_ENGINE_NO_LOCK=1 "$tsan" 201 231 2 >"$out" 2>/dev/null
[ "$(grep -c 'several hosts: race' "$out")" -ge 12 ] && ! grep -q 'one host' "$out"
verdict $? "without_its_lock_they_are_found_to_race"
