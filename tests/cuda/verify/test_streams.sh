#!/bin/sh
# The CUDA engine's stream events, judged by the suite's happens-before check: the engine has no
# finding, and each injected fault is found as its clause in one run, also if the results are right.
# spec: STRM-1, STRM-2, STRM-3, STRM-4, STRM-6
# inputs: build/zeroproof build/zeroproof-simdev* conformance/judge
set -u
build=${ZP_BUILD:-build}
log=$build/zeroproof-simdev-streams
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$(dirname "$0")/../../.." || exit 3
if ! command -v python3 >/dev/null; then
  echo "not run: the CUDA engine's stream events (no python3)"
  exit 0
fi

record() { # record ARGUMENTS OF SIM...
  rm -f "$dir"/*.jsonl
  "$log" "$dir" sim --engine cuda --schedules 1 "$@" >"$dir/sim" 2>&1
}

judge() {
  python3 -B conformance/judge/streams.py "$dir" >"$dir/out" 2>&1
}

verdict() { # verdict CODE NAME WHY
  if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; fi
}

while read -r name options; do
  # shellcheck disable=SC2086
  record $options && judge && [ "$(grep -c '"op"' "$dir/streams-0.jsonl")" -gt 100 ]
  verdict $? "ordered: $name" "$(cat "$dir/sim" "$dir/out" | tail -n 6 | tr '\n' ' ')"
done <<END
default
one-stage --pp 1 --dp 3 --stage 1 --steps 2 --seed 5
all-reduced --pp 1 --dp 2 --stage 0 --steps 2 --seed 6
pipeline --pp 3 --dp 1 --micro-batches 4 --steps 2 --seed 7
tensor --pp 1 --dp 2 --tp 2 --steps 2 --seed 8
experts --pp 1 --dp 4 --ep 2 --steps 2 --seed 9
small-buckets --pp 2 --dp 2 --bucket 4 --steps 2 --seed 10
unused --pp 1 --dp 2 --unused 50 --vary --pp 2 --dynamic-shapes --steps 2 --seed 11
half --pp 1 --dp 2 --precision fp16 --loss-scale dynamic --steps 3 --seed 12
END

# Left out: faults without two conflicting accesses to device or pinned memory (order of launches,
# steps in flight, pageable memory), and features that sim's cases lack (checkpoints, own loops).
not_here='drop-sync:(order|opened)\.|drop-sync:ended\.host'
"$build/zeroproof" sim --engine cuda --fault list |
  awk '$2 ~ /^STRM-[12346]$/ {print $1, $2}' | grep -Ev "$not_here" >"$dir/faults"
[ "$(wc -l <"$dir/faults")" -gt 30 ]
verdict $? "faults are listed" "$(wc -l <"$dir/faults")"
while read -r fault clause; do
  record --fault "$fault"
  judge
  code=$?
  # exchanges and updates wait for this record; a single stage has only updates (STRM-4)
  [ "$fault" = drop-sync:backwarded.record ] && clause='STRM-[34]'
  [ $code -eq 1 ] && head -1 "$dir/out" | grep -q "^$clause:"
  verdict $? "$fault is $clause" "$(head -3 "$dir/out" | tr '\n' ' ')"
done <"$dir/faults"
