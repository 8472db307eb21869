#!/bin/sh
# Shows that two commits behave alike: sh tests/compare_commits.sh OLD NEW [CASES]
#
# Builds both, runs the same commands with both, and compares the results: the digests, losses and
# norms of `train --verify`, the sums of CASES (10000) fuzz cases of each engine, the shrunk case of
# fuzz under some faults, the verdict of every `sim --fault`, random cases of sim with all bits, the
# results of conformance-quick, and the proven claims. Texts for people are not compared.
#
# ZP_COMPARE: the folder of builds and results (a new one below TMPDIR); what is built stays.
# SUBJECTS: of conformance-quick (ref cuda). RENAMED: names of claims that NEW calls differently
# (tests/lint/renamed.txt of NEW, which explains its lines). JOBS: processes of make and fuzz.
# Exit code: 0 equal, 1 something differs, 3 a commit cannot be built.
set -u
cd "$(dirname "$0")/.." || exit 3
old=${1:?usage: compare_commits.sh OLD NEW [CASES]}
new=${2:?usage: compare_commits.sh OLD NEW [CASES]}
cases=${3:-10000}
dir=${ZP_COMPARE:-$(mktemp -d)}
jobs=${JOBS:-$(nproc)}
mkdir -p "$dir" || exit 3
dir=$(cd "$dir" && pwd)

build() { # build COMMIT FOLDER
  mkdir -p "$2"
  git archive "$1" | tar x -C "$2" || return 1
  make -C "$2" -j"$jobs" all build/zeroproof-simdev >"$2.log" 2>&1
}
for side in old new; do
  commit=$old
  [ $side = new ] && commit=$new
  build "$commit" "$dir/$side" && continue
  echo "compare_commits: $commit cannot be built: see $dir/$side.log" >&2
  exit 3
done
# The same text for both: the spec of each commit is its own.
cat "$dir"/old/spec/*.md >"$dir/text.txt"

# What depends on time, and texts for people.
bare='del(.. | .seconds?, .cpu_seconds?, .cases_per_second?, .per_second?, .text?, .report?, .why?,
          .distinct_orders_per_core_hour?, .what?, .source?, .sample?)'

json() { # json NAME COMMAND...: its exit code and what it printed, without the above
  name=$1
  shift
  "$@" >"$out/$name.raw" 2>"$out/$name.err" </dev/null
  echo "exit $?" >"$out/$name"
  jq -S "$bare" "$out/$name.raw" >>"$out/$name" 2>/dev/null || cat "$out/$name.raw" >>"$out/$name"
  rm -f "$out/$name.raw"
}

train() {
  set -- train --data "$dir/text.txt" --json --sample 0 --verify
  json train-1 "$zp" "$@" --steps 10
  json train-2 "$zp" "$@" --steps 6 --pp 3 --dp 3 --stage 1 --micro-batches 4
  json train-3 "$zp" "$@" --steps 6 --reduce ordered --precision fp16 --stage 0
  json train-4 "$zp" "$@" --steps 4 --pp 1 --dp 4 --vary-shapes --tuple --save "$out/checkpoint"
  json train-5 "$zp" "$@" --steps 3 --pp 2 --dp 2 --load "$out/checkpoint"
  json train-6 "$zp" launch -n 4 "$@" --steps 4
  json train-cuda "$cuda" "$@" --engine cuda --steps 2 --layers 1 --context 16 --batch 1
  rm -rf "$out/checkpoint"
}

fuzz() { # fuzz NAME PROGRAM ENGINE OPTION...
  name=$1 program=$2 engine=$3
  shift 3
  json "fuzz-$name" "$program" fuzz --engine "$engine" --seed 1 --cases "$cases" --seconds 1e6 \
    --jobs "$jobs" --json "$@"
}

# The sync points that a commit before the renaming calls otherwise.
renamed_points='s/\<meant\./averaged./g; s/\<given\./caller_loss./g; s/\<taken\./consumed./g
                s/\<met\./meta./g; s/\<handed\.record/caller.record/g'

faults() { # faults NAME PROGRAM ENGINE
  for fault in $("$2" sim --engine "$3" --fault list --json | jq -r '.[].name'); do
    json "fault-$1-$(echo "$fault" | sed -E "$renamed_points")" "$2" sim --engine "$3" \
      --fault "$fault" --json
  done
}

random_sims() {
  "$zp" cases --random 100 --seed 1 2>/dev/null | jq -r .recipe >"$out/recipes"
  i=0
  while read -r recipe; do
    i=$((i + 1))
    json "case-$i" "$zp" sim --case "$recipe" --json
    [ $((i % 10)) = 0 ] && json "case-cuda-$i" "$cuda" sim --engine cuda --case "$recipe" --json
  done <"$out/recipes"
}

conformance() {
  # shellcheck disable=SC2086 # words
  (cd "$tree" && QUICK=1 SEED=1 sh conformance/run.sh build ${SUBJECTS:-ref cuda}) \
    >"$out.conformance.log" 2>&1
  echo "exit $?" >"$out/conformance"
  results='.results | map({id, recipe, status}) | sort_by(.id)'
  for report in "$tree"/build/conformance-quick/*/report.json; do
    jq -S "[.subject.name, .cases, .clauses, ($results)]" "$report"
  done >>"$out/conformance"
}

claims() {
  renamed=/dev/null
  [ "$side" = old ] && renamed=${RENAMED:-$dir/new/tests/lint/renamed.txt}
  [ -e "$renamed" ] || renamed=/dev/null
  awk -f tests/renamed_claims.awk "$renamed" "$tree/proofs/claimed.txt" |
    sort >"$out/claims"
  [ -s "$out/claims" ] && return
  echo "compare_commits: no claims in $tree" >&2
  exit 3
}

for side in old new; do
  tree=$dir/$side out=$dir/$side.results
  zp=$tree/build/zeroproof cuda=$tree/build/zeroproof-simdev
  rm -rf "$out"
  mkdir -p "$out"
  train
  fuzz ref "$zp" ref
  fuzz cuda "$cuda" cuda --schedules 2
  for fault in ds318 pr7847 ds2800 oi1498; do
    json "shrunk-$fault" "$zp" fuzz --fault "$fault" --seed 3 --cases 300 --seconds 1e6 --jobs 1 \
      --json
  done
  faults ref "$zp" ref
  faults cuda "$cuda" cuda
  random_sims
  conformance
  claims
  sed -E -i "s,$tree,TREE,g; $renamed_points" "$out"/*
done

different=0
for file in "$dir"/old.results/*; do
  name=$(basename "$file")
  case $name in *.err) continue ;; esac
  cmp -s "$file" "$dir/new.results/$name" && continue
  different=$((different + 1))
  echo "different: $name (diff $file $dir/new.results/$name)"
done
for file in "$dir"/new.results/*; do
  [ -e "$dir/old.results/$(basename "$file")" ] || {
    different=$((different + 1))
    echo "only in $new: $(basename "$file")"
  }
done
total=$(find "$dir/old.results" -type f ! -name '*.err' | wc -l)
echo "$((total - different)) of $total results are equal in $old and $new"
[ "$different" = 0 ]
