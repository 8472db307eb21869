#!/bin/sh
# Random cases of a fresh seed: sh conformance/fresh.sh BUILD SECONDS SEED
#
# Half of the time ref and the CUDA engine, which may not fail in any; then a few cases of one of
# the other subjects, which the seed chooses: what is new there is printed and is no failure.
set -u
cd "$(dirname "$0")/.." || exit 3
build=$1
seconds=$2
seed=$3
code=0

for engine in "" "--engine=cuda"; do
  echo "== ref's adapter $engine, seed $seed"
  "$build/zeroproof" check --adapter "$build/zeroproof adapter $engine" --seconds $((seconds / 4)) \
    --seed "$seed" --jobs 1 --shrink 10 --brief || code=1
done
subject=$(awk -v seed="$seed" 'BEGIN { srand(seed) }
  /^[^#]/ && $2 != "-" && $5 == "usual" { print rand(), $1 }' conformance/subjects.txt |
  sort -n | awk 'NR == 1 { print $2 }')
echo "== $subject"
QUICK=1 ONLY_FRESH=1 SEED=$seed sh conformance/run.sh "$build" "$subject" || code=1
exit $code
