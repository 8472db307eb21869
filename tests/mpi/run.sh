#!/bin/sh
# Six MPI processes: the same bits as comm_sim, and no failure without its name or its end.
# Usage: tests/mpi/run.sh DRIVER [ZEROPROOF]   (DRIVER: the built tests/mpi/mpi_driver.c)
# spec: LEDG-1 LEDG-2 LEDG-7
set -u
driver=$1
zeroproof=${2:-}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failures=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# Open MPI keeps memory until the process ends; our own leaks show in the single-process tests
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
command -v ssh >/dev/null || command -v rsh >/dev/null || export OMPI_MCA_plm=isolated

# job LIMIT_S RANKS ARGUMENTS…: the driver's lines in $log, mpirun's exit code in $code
job() {
  limit=$1 ranks=$2
  shift 2
  what=$*
  timeout "$limit" mpirun --quiet --oversubscribe --bind-to none \
    --mca odls_base_sigkill_timeout 3 -n "$ranks" "$driver" "$@" >"$log" 2>&1
  code=$?
}
fail() {
  echo "FAILED: $* (mpi_driver $what, exit code $code)"
  cut -c1-300 "$log"
  failures=$((failures + 1))
}
# lines NUMBER PATTERN: so many lines of the log have it
lines() {
  n=$(grep -c -- "$2" "$log")
  [ "$n" -eq "$1" ] || fail "$n lines instead of $1 with '$2'"
}
ended() {
  [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "it should have ended by itself with an error"
}

# PP DP TP EP STAGE REDUCE PRECISION M BUCKET STEPS DYNAMIC PIECE FAULT RANK DEADLINE
for c in "2 3 1 1 2 1 1 4 16 5 0 0" "2 3 1 1 1 0 2 4 16 5 1 0" "3 2 1 1 0 1 0 3 9 5 0 24" \
         "3 2 1 1 2 0 1 3 9 5 1 24" "1 6 1 3 2 1 2 2 16 5 0 24" "6 1 1 1 1 0 1 7 16 5 1 0" \
         "1 2 3 2 0 0 1 3 16 5 0 24"; do
  # shellcheck disable=SC2086
  job 60 6 $c none 0 30
  [ "$code" -eq 0 ] || fail "not equal to comm_sim"
  lines 1 "equal to comm_sim"
done

c="2 3 1 1 2 1 1 3 16 5 0 0"
# shellcheck disable=SC2086
{
  job 40 6 $c count 3 30 # another count: the three members of its group name all three ops
  ended
  lines 3 "^\[after .*mismatch: members of one group"
  lines 3 "^\[after .*peer: rank .* has failed"
  [ "$(grep -c 'bf16 x 5, exact)$' "$log")" -ge 3 ] || fail "the odd op is not named"
  job 40 6 $c shape 1 30 # another shape: sender and receiver name both
  ended
  lines 2 "^\[after .*mismatch: members of one group"
  lines 4 "^\[after .*peer: rank .* has failed"
  job 40 6 $c arrival 2 30 # a gradient is missing: its rank says so, all others name it
  ended
  lines 1 "^\[after .*arrival: rank 2"
  lines 5 "^\[after .*peer: rank .*: rank 2 has failed"
  job 40 6 $c kill 4 30 # killed: five survivors name it, each with its own op
  ended
  lines 5 "^\[after .*program position .* of group"
  lines 5 "no sign of life from rank 4:"
  job 40 6 $c stop 4 4 # stopped: only the deadline notices
  ended
  [ "$(grep -c 'no sign of life from rank 4:' "$log")" -ge 5 ] || fail "rank 4 is not named"
  lines 0 "sigterm"
}

if [ -n "$zeroproof" ]; then
  what="launch of the command"
  text=$(mktemp)
  awk 'BEGIN { for (i = 0; i < 400; i++) print "line " i " of a text, " i * i }' >"$text"
  "$zeroproof" launch -n 6 train --pp 2 --dp 3 --steps 2 --data "$text" >"$log" 2>&1
  code=$?
  [ "$code" -eq 0 ] || fail "launch -n 6 train"
  bits=$(grep 'bits of the end' "$log")
  "$zeroproof" train --pp 3 --dp 4 --micro-batches 3 --steps 2 --data "$text" >"$log" 2>&1
  [ -n "$bits" ] && grep -qF "$bits" "$log" || fail "MPI's bits are not the simulation's: $bits"
  saved=$(mktemp -d) # six processes save, a simulation of another topology goes on
  "$zeroproof" launch -n 6 train --pp 2 --dp 3 --steps 1 --save "$saved" --data "$text" \
    >"$log" 2>&1
  code=$?
  [ "$code" -eq 0 ] || fail "launch -n 6 train --save"
  "$zeroproof" launch -n 2 train --pp 1 --dp 2 --micro-batches 6 --stage 1 --bucket 999 --steps 1 \
    --load "$saved" --data "$text" >"$log" 2>&1
  code=$?
  grep -qF "$(echo "$bits" | sed 's/;.*//')" "$log" || fail "continued elsewhere in other bits"
  rm -rf "$saved"
  "$zeroproof" launch -n 4 train --pp 2 --dp 3 --steps 2 --data "$text" >"$log" 2>&1
  code=$?
  [ "$code" -eq 2 ] || fail "launch with too few processes is refused with 2"
  "$zeroproof" launch -n 6 plan >"$log" 2>&1
  code=$?
  [ "$code" -eq 2 ] || fail "launch of what cannot be launched is refused with 2"
  "$zeroproof" launch -n 6 --mpirun --no-such-option train >"$log" 2>&1
  code=$?
  [ "$code" -eq 3 ] || fail "mpirun's own failure is 3"
  rm -f "$text"
fi

[ "$failures" -eq 0 ] && echo "tests/mpi: all passed"
[ "$failures" -eq 0 ]
