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

# A loop with one all_reduce a step, at one line. Only the steps show which one a rank skipped.
equal() { # equal NAME LINE RANKS STEPS DEVIATION...: the first line, or the first warning
  name=$1
  expected=$2
  shift 2
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  python3 -B tests/ref/trace/cause_equal.py "$tmp/run" "$@"
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  case $expected in
  warning*) line=$(grep '^warning: rank' "$tmp/out") ;;
  *) line=$(head -n 1 "$tmp/out") ;;
  esac
  [ "$line" = "$expected" ]
  verdict $? "$name" "$(cat "$tmp/out")"
}
op="all_reduce sum of 4 fp32"
in4="in 'world' {0–3}"
at="(train.py:15) $in4"
next="and entered the next equal one of step"
equal the_step_of_a_skip_among_equal_operations_is_named "step 3: rank 1 skipped $op $at $next 4 \
(train.py:15) at its record 3; 6 equal operations later, ranks 0, 2, 3 are waiting for one more" \
  4 10 skip:1:3
equal the_first_of_several_skips_is_named "step 3: rank 1 skipped $op $at $next 5 (train.py:15) at \
its record 3; 5 equal operations later, ranks 0, 2, 3 are waiting for one more" \
  4 10 skip:1:3 skip:1:4
equal the_last_one_may_be_skipped \
  "step 9: rank 1 skipped $op $at; ranks 0, 2, 3 are waiting for it" 4 10 skip:1:9
equal the_step_of_an_extra_operation_is_named "step 3: rank 1 entered an extra $op $at at its \
record 4; 6 equal operations later, ranks 0, 2, 3 do not enter another one" 4 10 extra:1:3
equal without_steps_and_lines_any_of_them_may_be_it "rank 1 skipped $op $in4 (or an earlier one of \
10 equal operations); ranks 0, 2, 3 are waiting for it" 4 10 bare skip:1:3
equal it_may_be_earlier_than_what_is_kept "step 2952: rank 1 skipped $op $at (or an earlier one) \
$next 2953 (train.py:15) at its record 2952; 2047 equal operations later, ranks 0, 2, 3 are \
waiting for one more" 4 5000 skip:1:3
equal a_step_outweighs_lines_that_differ_on_a_rank_anyway "step 9: rank 1 skipped $op $at and \
entered the next equal one (train.py:16) at its record 27; 2 equal operations later, ranks 0, 2, 3 \
are waiting for one more" 4 10 rotated:1 skip:1:9
recv="skipped recv of 4 fp32 from rank 0 (train.py:11) in 'world'"
equal a_skipped_receive_has_the_line_of_the_receiver "step 5: either rank 1 $recv and entered the \
next equal one of step 6 (train.py:11) at its record 5; 4 equal operations later, rank 0 is \
waiting for one more," 2 10 pair skip:1:5
lines="This is no error if ranks run different lines, as in \`if rank == 0\`"
equal a_skip_that_is_made_up_for_is_a_warning "warning: rank 1 may have skipped $op $at in step 3: \
its record 3 is at train.py:15 in step 4, where rank 0 was at train.py:15 in step 3, and the 5 \
that follow are shifted likewise. $lines" 4 10 skip:1:3 last:1
"$zp" trace check --json "$tmp/run" >"$tmp/out" &&
  jq -e '.good and (.findings[0] | .kind == "shifted" and .level == "warning" and .ranks == [1] and
    .record == 3)' "$tmp/out" >"$tmp/jq"
verdict $? the_traces_fit_nevertheless "$(cat "$tmp/out")"
equal an_extra_one_that_replaces_a_later_one_is_a_warning "warning: rank 0 may have entered in \
addition $op $at in step 3: its record 4 is at train.py:15 in step 3, where rank 1 was at \
train.py:15 in step 4, and the 4 that follow are shifted likewise. $lines" 4 10 extra:0:3 skip:0:9
equal of_two_ranks_either_may_be_it "warning: rank 1 may have skipped $op (train.py:15) in 'world' \
{0, 1} in step 3, or rank 0 entered it in addition: its record 3 is at train.py:15 in step 4, \
where rank 0 was at train.py:15 in step 3, and the 5 that follow are shifted likewise. $lines" \
  2 10 skip:1:3 last:1
equal an_operation_after_the_last_definition_has_its_line "step 3: rank 1 skipped $op $at $next 4 \
(train.py:15) at its record 1027; 6 equal operations later, ranks 0, 2, 3 are waiting for one more\
" 4 10 shapes:1024 skip:1:3
equal after_many_of_them_too "step 2999: rank 1 skipped $op $at $next 3000 (train.py:15) at its \
record 5047; 1000 equal operations later, ranks 0, 2, 3 are waiting for one more" \
  4 4000 shapes:2048 skip:1:2999
several() { # several NAME JSON RANKS STEPS DEVIATION...: [ranks, others likewise, skipped]...
  name=$1
  expected=$2
  shift 2
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  python3 -B tests/ref/trace/cause_equal.py "$tmp/run" "$@"
  "$zp" trace check --json "$tmp/run" >"$tmp/out" && [ "$(jq -c '[.findings[] |
    select(.kind == "shifted") | [.ranks, (.text | contains("also on other ranks")),
    (.text | contains("may have skipped"))]]' "$tmp/out")" = "$expected" ]
  verdict $? "$name" "$(cat "$tmp/out")"
}
several each_rank_that_deviates_elsewhere_has_a_warning \
  '[[[1],false,true],[[2],false,true],[[3],false,true]]' \
  4 12 skip:1:3 skip:2:5 skip:3:7 last:1 last:2 last:3
several one_that_skips_and_one_that_adds_have_their_own \
  '[[[1],false,true],[[2],false,false]]' 5 12 skip:1:3 extra:2:6 skip:2:11 last:1
several ranks_that_deviate_alike_share_a_warning '[[[1,2],true,true]]' \
  6 12 skip:1:3 skip:2:3 last:1 last:2
several most_ranks_are_right '[[[0],false,true]]' 4 12 skip:0:3 last:0
equal without_steps_and_lines_nothing_shows_it \
  "40 records of 4 ranks: consistent (order and shapes only)" 4 10 bare skip:1:3 last:1

# Half of many ranks miss an operation: each edit is compared with the operations of 16 other ranks.
limit=15 # seconds; 0.8 are needed, and 32 if the sequences are built again for each edit
[ "${SAN:-0}" = 1 ] && limit=60
missing=$(for rank in $(seq 0 29); do echo "skip:$rank:3"; done)
rm -rf "$tmp/run"
mkdir "$tmp/run"
# shellcheck disable=SC2086 # one word each
python3 -B tests/ref/trace/cause_equal.py "$tmp/run" 64 1500 bare $missing
# shellcheck disable=SC3045 # dash has ulimit -t
(ulimit -t $limit; "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1)
[ $? -eq 1 ] &&
  grep -q "^rank 0 ended after 1499 records; ranks 30–63 wait for it in $op" "$tmp/out"
verdict $? many_ranks_are_compared_within_a_limit_of_processor_time "$(head -c 600 "$tmp/out")"
ZEROPROOF=$zp python3 -B tests/ref/trace/cause_score.py --seeds 0-120 --large 0-80 \
  --equal 0-60 --exact --definitions 0 2 \
  >"$tmp/table" 2>&1
verdict $? the_culprit_is_named_first_in_a_fixed_sample "$(cat "$tmp/table")"

# The score finds wrong verdicts: a command changes each one as jq's filter says.
detected() { # detected NAME PATTERN FILTER: the pattern of a complaint
  cat >"$tmp/changed" <<X
#!/bin/sh
"$zp" "\$@" | jq '$3'
exit 0
X
  chmod +x "$tmp/changed"
  ! ZEROPROOF=$tmp/changed python3 -B tests/ref/trace/cause_score.py --equal 0-20 --exact \
    >"$tmp/table" 2>&1 && grep -q "^seed [0-9]*, .*: $2" "$tmp/table"
  verdict $? "$1" "$(cat "$tmp/table")"
}
detected the_score_finds_errors_that_are_not_reported 'no error where the oracle finds one:' \
  'if .good then . else .good = true | .cause = [] | .findings = [] end'
detected the_score_finds_a_hint_of_the_wrong_direction 'no hint at ' \
  '(.findings[] | select(.kind == "shifted") | .text) |=
    sub("may have skipped"; "may have entered in addition")'
detected the_score_finds_a_hint_of_the_wrong_record 'no hint at ' \
  '(.findings[] | select(.kind == "shifted") | .record) |= . + 1'
detected the_score_finds_a_wrong_rank 'planted ' '.cause[].ranks |= map(. + 1)'
finish
