#!/bin/sh
# Model-checks the step at small sizes, also with injected faults: proofs/spin/run.sh BUILD
#
# Searches all interleavings exhaustively, with partial-order reduction. Verdict "free": the whole
# space has no deadlock and no violated assertion. Verdict "deadlock": an invalid end state exists.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}/spin
wrong=0
for tool in spin gcc; do
  command -v $tool >/dev/null && continue
  echo "spin: $tool is missing: apt-get install $tool" >&2
  exit 1
done
mkdir -p "$build"
cd "$build"
spin -V

# model EXPECTED NAME DEFINES...: EXPECTED is free or deadlock
model() {
  expected=$1
  name=$2
  shift 2
  rm -f pan pan.* ./*.trail
  spin -a "$@" "$here/step.pml" >spin.out 2>&1 || { cat spin.out; exit 1; }
  gcc -O1 -w -DSAFETY -DNOFAIR -DVECTORSZ=4096 -DMEMLIM=2048 -DCOLLAPSE -o pan pan.c
  ./pan -m200000 >pan.out 2>&1 || { cat pan.out; exit 1; }
  if grep -q '^pan:1: invalid end state' pan.out; then
    verdict=deadlock
  elif grep -q 'errors: 0$' pan.out && ! grep -qE 'Search not completed|max search depth' pan.out &&
    grep -qE '^[[:space:]]*invalid end states[[:space:]]*\+' pan.out &&
    grep -qE '^[[:space:]]*assertion violations[[:space:]]*\+' pan.out; then
    verdict=free
  else
    verdict=$(sed -n 's/^pan:1: \([a-z ]*\).*/\1/p' pan.out)
  fi
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
  mark=ok
  if [ "$verdict" != "$expected" ]; then
    mark="WRONG, expected $expected"
    wrong=1
  fi
  printf '  %-44s %9s states  %-9s %s\n' "$name" "$states" "$verdict" "$mark"
}

echo "stages S, data-parallel ranks D, micro-batches M"
for size in "1 1 1" "1 3 2" "2 1 1" "2 1 3" "3 1 4" "4 1 5" "2 2 1" "2 2 2" "2 2 3" "3 2 2"; do
  # shellcheck disable=SC2086
  set -- $size
  model free "step, S=$1 D=$2 M=$3" "-DS=$1" "-DD=$2" "-DM=$3"
done
model free "norm by groups, K=(2,2)" -DK0=2 -DK1=2
model deadlock "norm by groups, K=(1,2)" -DK0=1 -DK1=2
model deadlock "norm by groups, K=(2,1)" -DK0=2 -DK1=1
model deadlock "two groups in reverse order, ledgers equal" -DCROSSED
model deadlock "send, then receive, S=2 M=3" -DS=2 -DD=1 -DM=3 -DUNGROUPED
model deadlock "send, then receive, S=3 M=2" -DS=3 -DD=1 -DM=2 -DUNGROUPED
model deadlock "each rank decides by itself" -DDISAGREE
[ $wrong = 0 ] && echo "spin: all verdicts as expected"
exit $wrong
