# The first sentence of zeroproof trace check names the culprit: an example, and random programs
# with one planted deviation, judged by a brute-force oracle. The seeds are fixed;
# `make trace-cause` takes others.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/ref/trace/cause_*.py
. tests/fixtures/lib.sh
example() { # example NAME STEPS LINE...: the first lines
  name=$1
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  python3 -B tests/ref/trace/cause_programs.py "$tmp/run" "$2"
  shift 2
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  printf '%s\n' "$@" >"$tmp/expected"
  head -n $# "$tmp/out" | cmp - "$tmp/expected" >"$tmp/differ" 2>&1
  verdict $? "$name" "$(cat "$tmp/out")"
}
either=": the traces permit each of these; the first is the likeliest"
skipped="rank 2 skipped all_reduce sum of 4 fp32 in 'world' {0–3} and entered"
skipped="$skipped all_gather of 8 fp32 in 'group 1' {2, 3}; ranks 0, 1, 3 are waiting for it"
other="rank 3 skipped all_gather of 8 fp32 in 'group 1' {2, 3}; rank 2 is waiting for it"
example a_rank_that_skips_a_collective_is_named_and_not_the_other_member_of_its_group 3 \
  "step 2: either $skipped," "or $other$either"
"$zp" trace check --json "$tmp/run" >"$tmp/out"
python3 - "$tmp/out" <<'X'
import json, sys

v = json.load(open(sys.argv[1]))
keys = ["cause", "kind", "equally_likely", "rank", "ranks", "step", "op", "group", "site"]
found = [[c[k] for k in keys] for c in v["cause"]]
assert found == [
    [0, "skip", True, 2, [2], 2, "all_reduce sum of 4 fp32", "world", None],
    [0, "skip", True, 3, [3], 2, "all_gather of 8 fp32", "group 1", None],
], found
assert all(f["consequence"] for f in v["findings"] if f["level"] == "error"), v["findings"]
X
verdict $? the_json_has_the_causes_and_marks_consequences "$(cat "$tmp/out")"
ZEROPROOF=$zp python3 -B tests/ref/trace/cause_score.py --seeds 0-120 --large 0-80 --exact \
  >"$tmp/table" 2>&1
verdict $? the_culprit_is_named_first_in_a_fixed_sample "$(cat "$tmp/table")"
finish
