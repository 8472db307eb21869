# The watchdog (a POSIX thread) and the channel between ranks (sockets) that zp_engine_create makes,
# on a device whose functions any thread may call (at_once.c); also under ThreadSanitizer.
# spec: LEDG-7
# inputs: build/tests/drivers/cuda/api_threads* tests/fixtures/lib.sh
# alone: a watchdog's deadlines run on real threads
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}

# law NAME PROGRAM FAULT RANK IDLE: rank N must print $saysN
law() {
  name=$1
  shift
  timeout 150 "$@" >"$tmp/out" 2>"$tmp/err"
  code=$?
  why=
  [ $code -eq 0 ] || why="exit code $code"
  grep -q 'ThreadSanitizer' "$tmp/err" &&
    why="$why $(grep -m1 -A4 ThreadSanitizer "$tmp/err" | tr '\n' ' ')"
  for r in 0 1 2; do
    eval "pattern=\$says$r"
    grep -qE -e "^rank $r: $pattern" "$tmp/out" ||
      why="$why; $(grep "^rank $r:" "$tmp/out" | head -c 300)"
  done
  [ -z "$why" ]
  verdict $? "$name" "$why"
}
for tsan in '' _tsan; do
  [ -n "$tsan" ] && [ "${SAN:-0}" = 1 ] && continue
  program=$build/tests/drivers/cuda/api_threads$tsan
  says0='$' says1='$' says2='$'
  law "a_clean_end_is_not_an_alarm$tsan" "$program" none 9 9
  for failing in 0 2; do
    idle=$((failing == 0 ? 1 : 0))
    says0=".*rank $failing has failed: .*step 20,.* entry 0 was announced twice in micro-batch 0"
    says1=$says0 says2=$says0
    eval "says$failing='rank $failing .*: entry 0 was announced twice in micro-batch 0'"
    law "the_failure_of_rank_${failing}_is_sent_and_the_watchdog_of_rank_${idle}_receives_it$tsan" \
      "$program" twice $failing $idle
    says0='.*(before the deadline|has given up: .*before the deadline)' says1=$says0 says2=$says0
    law "that_rank_${failing}_is_stuck_is_found_at_the_deadline_and_reported$tsan" \
      "$program" stuck $failing 9
  done
done
# device 0 is every new thread's current one, and yet it has no context there
# shellcheck disable=SC2034 # law reads them through eval
says0='.*CUDA driver error 201 from cuStreamWriteValue32' says1='.*before the deadline' says2=$says1
law "a_thread_that_announces_is_given_a_context" "$build/tests/drivers/cuda/api_threads" unbound 0 9
finish
