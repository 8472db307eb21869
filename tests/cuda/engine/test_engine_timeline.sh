#!/bin/sh
# Timelines of the CUDA engine's runs: what Perfetto reads is whole, a race is marked in it and in
# the picture, and drawn where it can happen: its two pieces at the same time.
# inputs: build/tests/drivers/cuda/engine_timeline
set -u
build=${ZP_BUILD:-build}
draw=$build/tests/drivers/cuda/engine_timeline
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

verdict() { # verdict CODE NAME
  if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2" && cat "$dir/out"; fi
}

"$draw" "$dir/a.json" "$dir/a.svg" >"$dir/out" 2>&1 &&
  jq -en 'input | .traceEvents as $e
    | ($e | map(select(.ph == "X"))) as $x
    | ($x | length > 500)
    and ($x | all(.dur >= 0 and .ts >= 0 and (.args.work | length > 0)))
    and ([$x[] | select(.cat != "work")] == [])
    and ([$e[] | select(.ph == "s").id] | length > 100)
    and ([$e[] | select(.ph == "s").id] | sort) == ([$e[] | select(.ph == "f").id] | sort)
    and ([$e[] | select(.name == "process_name").args.name] | sort)
        == ["rank 0", "rank 1", "rank 2", "rank 3"]
    and ($x | group_by([.pid, .tid]) | all(sort_by(.ts)
        | [.[:-1], .[1:]] | transpose | all(.[0].ts + .[0].dur <= .[1].ts)))' \
    "$dir/a.json" >/dev/null 2>>"$dir/out"
verdict $? "a_trace_has_every_piece_of_work_and_no_stream_does_two_at_once"

grep -q '>F3<' "$dir/a.svg" && grep -q 'slot 1' "$dir/a.svg" && ! grep -q RACE "$dir/a.svg" &&
  ! grep -q 'class="[ko]"' "$dir/a.svg" && tail -1 "$dir/a.svg" | grep -q '</svg>'
verdict $? "a_picture_of_a_clean_run_marks_nothing"

"$draw" "$dir/b.json" "$dir/b.svg" >"$dir/out" 2>&1 && cmp "$dir/a.json" "$dir/b.json" &&
  cmp "$dir/a.svg" "$dir/b.svg"
verdict $? "one_seed_gives_one_timeline"

# without one wait or another, until two pieces share a slot
n=40
while [ "$n" -lt 140 ]; do
  "$draw" "$dir/r.json" "$dir/r.svg" 0 "$n" >"$dir/out" 2>&1 || break
  grep -q 'RACE for bucket slot' "$dir/r.svg" && break
  n=$((n + 1))
done
grep -q 'RACE for bucket slot' "$dir/r.svg" && [ "$(grep -c 'class="k"' "$dir/r.svg")" -eq 2 ] &&
  grep -q 'class="z"' "$dir/r.svg"
verdict $? "a_picture_of_a_race_marks_both_pieces_and_when_they_meet"

jq -en 'input | [.traceEvents[] | select(.cat == "race" and .ph == "X" and .pid < 4)] as [$a, $b]
  | ($a.name | startswith("RACE ")) and ($b.name | startswith("RACE "))
  and $a.ts < $b.ts + $b.dur and $b.ts < $a.ts + $a.dur
  and ([$a, $b] | all(.args.work | contains("slot")))' "$dir/r.json" >/dev/null 2>>"$dir/out"
verdict $? "the_pieces_of_a_race_are_drawn_at_the_same_time"

"$draw" "$dir/w.json" "$dir/w.svg" whole >"$dir/out" 2>&1 && grep -q 'class="o"' "$dir/w.svg" &&
  grep -q 'superfluous wait' "$dir/w.json"
verdict $? "a_wait_for_the_whole_reduction_stream_is_marked_as_superfluous"

"$draw" "$dir/none/a.json" "$dir/a.svg" >"$dir/out" 2>&1
[ $? -eq 1 ] && grep -q 'No such file' "$dir/out"
verdict $? "a_file_that_cannot_be_written_is_an_error"
