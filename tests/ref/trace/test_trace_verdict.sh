# What zeroproof trace check states is what the traces show: no majority that does not exist, no
# judgment of what cannot be judged.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/ref/trace/verdict_runs.py
# inputs: tests/ref/trace/cause_programs.py
. tests/fixtures/lib.sh
make_run() { # make_run NAME ARG...
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  python3 -B tests/ref/trace/verdict_runs.py "$tmp/run" "$@"
}
first() { # first NAME LINE: the first line
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq 1 ] && [ "$(head -n 1 "$tmp/out")" = "$2" ]
  verdict $? "$1" "$(head -c 600 "$tmp/out")"
}

# Members that enter more than two values
number() { echo "step 1: members enter broadcast (number 1 in 'world' {0–$1})"; }
none="none has a majority: the traces do not show which is right"
make_run values root:0 root:1 root:2
first three_roots_on_three_ranks_have_no_majority "$(number 2) with different roots: \
0 on rank 0 (ex.py:16), 1 on rank 1 (ex.py:16), 2 on rank 2 (ex.py:16); $none"
json the_cause_has_the_ranks_and_the_call '.cause | length == 1 and (.[0] | .ranks == [0, 1, 2] and
  .step == 1 and .op == "broadcast of 4 fp32 root 0" and .group == "world" and .kind == "mismatch"
  and .site == "ex.py:16;main.py:3" and .record == 1)' trace check --json "$tmp/run"
make_run values count:4 count:5 count:6
first three_counts_on_three_ranks_have_no_majority "$(number 2) with different element counts: \
4 on rank 0 (ex.py:16), 5 on rank 1 (ex.py:16), 6 on rank 2 (ex.py:16); $none"
make_run values count:4 count:5 count:6 count:6
first half_of_the_ranks_are_no_majority "$(number 3) with different element counts: \
4 on rank 0 (ex.py:16), 5 on rank 1 (ex.py:16), 6 on ranks 2, 3 (ex.py:16); $none"
make_run values root:1 root:2 root:0 root:0 root:0
first of_several_values_one_may_have_a_majority "$(number 4) with different roots: \
0 on ranks 2–4 (ex.py:16), 1 on rank 0 (ex.py:16), 2 on rank 1 (ex.py:16); 3 of 5 entered the \
first, a majority"
json the_ranks_that_differ_are_the_cause '.cause[0].ranks == [0, 1] and
  .cause[0].op == "broadcast of 4 fp32 root 1"' trace check --json "$tmp/run"
make_run values root:0 count:5 dtype:i64
first arguments_of_several_kinds_are_written_out "step 1: members enter different operations as \
number 1 in 'world' {0–2}: broadcast of 4 fp32 root 0 on rank 0 (ex.py:16), broadcast of 5 fp32 \
root 0 on rank 1 (ex.py:16), broadcast of 4 i64 root 0 on rank 2 (ex.py:16); $none"
make_run values root:0 root:1 root:2 root:3 root:4 root:5 root:0
first of_many_values_four_are_listed "$(number 6) with different roots: 0 on ranks 0, 6 \
(ex.py:16), 1 on rank 1 (ex.py:16), 2 on rank 2 (ex.py:16), 3 on rank 3 (ex.py:16), and others; \
$none"
make_run values root:0 root:0 root:1
first two_values_have_a_majority "step 1: rank 2 entered broadcast of 4 fp32 root 1 (ex.py:16) in \
'world' {0–2} at its record 1, with another root than ranks 0, 1, which entered broadcast of 4 \
fp32 root 0 (ex.py:16)"

# An unknown argument agrees with all values, and is no majority of them
make_run values count:? count:4 count:8 count:16
first an_unknown_count_is_no_majority "$(number 3) with different element counts: ? on rank 0 \
(ex.py:16), 4 on rank 1 (ex.py:16), 8 on rank 2 (ex.py:16), 16 on rank 3 (ex.py:16); $none"
make_run values dtype:? dtype:fp32 dtype:i64 count:5
first an_unknown_type_is_no_majority "step 1: members enter different operations as number 1 in \
'world' {0–3}: broadcast of 4 ? root 0 on rank 0 (ex.py:16), broadcast of 4 fp32 root 0 on rank 1 \
(ex.py:16), broadcast of 4 i64 root 0 on rank 2 (ex.py:16), broadcast of 5 fp32 root 0 on rank 3 \
(ex.py:16); $none"
make_run values count:? count:4 count:8 count:16 count:4 count:4 count:4
first an_unknown_count_does_not_belong_to_a_majority "$(number 6) with different element counts: \
4 on ranks 1, 4–6 (ex.py:16), ? on rank 0 (ex.py:16), 8 on rank 2 (ex.py:16), 16 on rank 3 \
(ex.py:16); 4 of 7 entered the first, a majority"
make_run values root:? root:0 root:1
expect 1 ': inconsistent, the traces do not match each other$' \
  roots_differ_although_the_first_is_unknown trace check "$tmp/run"
make_run values root:0 root:? root:1
expect 1 ': inconsistent, the traces do not match each other$' \
  they_differ_likewise_if_the_second_is_unknown trace check "$tmp/run"

# An operation is skipped after the one that precedes it in its group, not anywhere before
for rank in 0 1; do
  make_run alternating $rank
  expect 1 "^step 4: either rank $rank skipped all_reduce sum of 1 fp32 .* and entered barrier" \
    earlier_steps_show_that_rank_${rank}_skipped trace check "$tmp/run"
done
json the_first_of_them_is_the_likeliest '.cause | length == 2 and
  map([.equally_likely, .likeliest]) == [[true, true], [true, false]]' \
  trace check --json "$tmp/run"

# A cause that is one of several is nowhere stated as the only one
one="rank 1 skipped all_reduce sum of 1 fp32 .*[(]one of 2 explanations that the traces permit[)]"
for format in github junit; do
  expect 1 "$one" ${format}_says_that_there_is_another_explanation \
    trace check --format $format "$tmp/run"
done
expect 1 "^alarm: .*$one\$" the_alarm_says_that_there_is_another_explanation \
  trace watch --interval 0.1 --stall 0.01 "$tmp/run"
"$zp" trace view "$tmp/run" --out "$tmp/view.json" >"$tmp/out" 2>&1 &&
  grep -q "\"cause\":\"$one\"" "$tmp/view.json" && grep -q "\"name\":\"$one\"" "$tmp/view.json"
verdict $? the_picture_says_that_there_is_another_explanation "$(grep -o "$one" "$tmp/view.json")"
make_run values root:0 root:1
expect 1 "or rank .*: the traces permit each of these, and do not show which it is$" \
  without_evidence_none_is_the_likeliest trace check "$tmp/run"
json neither_is_so_in_the_json '.cause | length == 2 and
  map([.equally_likely, .likeliest]) == [[true, false], [true, false]]' \
  trace check --json "$tmp/run"
make_run two_deviations
json each_of_two_deviations_has_its_own_explanations '.cause |
  map([.cause, .equally_likely, .likeliest]) ==
    [[0, true, false], [0, true, false], [1, true, false], [1, true, false]] and
  (map(.ranks[0]) | [(.[:2] | sort), (.[2:] | sort)] | sort) == [[0, 1], [2, 3]]' \
  trace check --json "$tmp/run"
expect 1 '^also: either rank [23] entered broadcast .* in .*[{]2, 3[}] .* another count' \
  the_second_one_is_no_explanation_of_the_first trace check "$tmp/run"

# The cause and its consequence name the same operation, the first one that is missing
make_run asynchronous
stopped="rank 1 stopped in its own code after 4 records"
expect 1 "^(either )?$stopped; rank 0 waits for it in all_reduce sum of 676 fp32 in" \
  the_cause_is_the_first_operation_that_a_trace_lacks trace check "$tmp/run"
grep -q "^consequence: .* rank 0 waits for rank 1 in all_reduce sum of 676 fp32 (num" "$tmp/out"
verdict $? and_so_is_its_consequence "$(head -c 600 "$tmp/out")"

# A barrier has no elements
make_run barriers
"$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
[ $? -eq 1 ] && grep -q "barrier in 'world' {0, 1} at its record 1" "$tmp/out" &&
  ! grep -q "barrier of" "$tmp/out"
verdict $? a_barrier_is_written_without_elements "$(head -c 600 "$tmp/out")"
expect 0 "^record 0: barrier in 'world'" a_barrier_is_dumped_without_elements trace dump \
  "$tmp/run/rank-0.zpt"

# A file that is no trace
no_trace="neither a trace of zeroproof nor a Flight Recorder dump"
rm -rf "$tmp/run"
mkdir "$tmp/run"
printf hi >"$tmp/run/rank-0.zpt"
expect 1 "^rank-0.zpt: $no_trace$" check_reports_a_file_that_is_no_trace trace check "$tmp/run"
! grep -q 'empty\|damaged' "$tmp/out"
verdict $? and_nothing_else_about_it "$(head -c 300 "$tmp/out")"
expect 2 "rank-0.zpt: $no_trace" dump_reports_it_likewise trace dump "$tmp/run/rank-0.zpt"
printf 'ZPTRACE\001\000\001\377\377' >"$tmp/run/rank-0.zpt"
expect 1 "^all traces are empty" a_trace_may_end_early trace check "$tmp/run"
printf 'ZPTRACE\001\000\001\015' >"$tmp/run/rank-0.zpt"
expect 1 "^rank 0's trace is damaged before its first record, near byte 11" \
  a_trace_that_is_damaged_is_a_trace trace check "$tmp/run"
expect 2 'rank-0.zpt: damaged near byte 11: the rest is not shown' \
  it_is_dumped_as_a_trace trace dump "$tmp/run/rank-0.zpt"
printf 'ZPTRACE\001\000\200\200\177' >"$tmp/run/rank-0.zpt"
for command in 'check' 'dump'; do
  name=$tmp/run
  code=1
  [ $command = dump ] && name=$name/rank-0.zpt && code=2
  expect $code 'damaged (before its first record, )?near byte 12' \
    a_trace_that_is_damaged_in_its_header_is_one:$command trace $command "$name"
done
printf '' >"$tmp/run/rank-0.zpt"
expect 1 "^all traces are empty" an_empty_file_is_an_empty_trace trace check "$tmp/run"
expect 0 '^0 records; no end mark' it_is_dumped_as_one trace dump "$tmp/run/rank-0.zpt"
printf 'ZPTRACE\002\000\001' >"$tmp/run/rank-0.zpt"
expect 1 "^rank-0.zpt: $no_trace$" another_first_byte_of_eight_is_no_trace trace check "$tmp/run"
expect 2 "rank-0.zpt: $no_trace" nor_does_dump_read_it trace dump "$tmp/run/rank-0.zpt"
printf 'ZPTRACE\001\000\001\015' >"$tmp/run/rank-0.zpt"

# What is not judged is not called inconsistent
expect 1 '^0 records of 1 ranks: cannot be judged: a file cannot be read to its end$' \
  nothing_of_a_damaged_file_is_judged trace check "$tmp/run"
make_run barriers
rm "$tmp/run/rank-0.zpt"
expect 1 '^3 records of 2 ranks: cannot be judged completely: a trace is missing$' \
  a_run_without_a_trace_is_judged_in_part trace check "$tmp/run"
printf 'ZPTRACE\001\000\003' >"$tmp/run/rank-0.zpt"
expect 1 '^0 records of 2 ranks: cannot be judged: the files belong to runs of different sizes$' \
  two_runs_are_not_judged trace check "$tmp/run"
rm "$tmp/run/rank-1.zpt"
printf 'ZPTRACE\001\000\001\011' >"$tmp/run/rank-0.zpt"
expect 1 '^0 records of 1 ranks: cannot be judged: no operation was recorded$' \
  empty_traces_are_not_judged trace check "$tmp/run"
make_run barriers
printf '\015' >>"$tmp/run/rank-1.zpt"
expect 1 ': inconsistent, the traces do not match each other$' \
  what_was_read_may_be_inconsistent_nevertheless trace check "$tmp/run"

# A finding lists its ranks in ascending order, and its step and record, or −1
make_run two_operations
json the_ranks_of_a_finding_ascend \
  '.findings | length == 1 and .[0].kind == "mismatch" and .[0].ranks == [0, 1]' \
  trace check --json "$tmp/run"
rm "$tmp/run/rank-1.zpt"
json a_trace_that_is_missing_has_no_record \
  '.findings[] | select(.kind == "missing") | [.ranks, .step, .record] == [[1], -1, -1]' \
  trace check --json "$tmp/run"
printf 'ZPTRACE\001\001\003' >"$tmp/run/rank-1.zpt"
json nor_have_two_runs '.findings[] | select(.kind == "world") | .record == -1' \
  trace check --json "$tmp/run"
rm "$tmp/run/rank-1.zpt"
printf 'ZPTRACE\001\000\001\011' >"$tmp/run/rank-0.zpt"
json nor_have_empty_traces '.findings[] | select(.kind == "empty") | .record == -1' \
  trace check --json "$tmp/run"
make_run shifted
json a_shift_has_the_step_of_its_record \
  '.findings | length == 1 and (.[0] | [.kind, .step, .record] == ["shifted", 3, 2])' \
  trace check --json "$tmp/run"

# The step of a finding is in the JSON, too
make_run barriers
json the_step_of_a_mismatch_is_in_the_json \
  '.findings[0] | .kind == "mismatch" and .step == 1 and (.text | contains("(step 1)"))' \
  trace check --json "$tmp/run"
make_run circle
json the_step_of_a_cycle_is_in_the_json \
  '.findings[] | select(.kind == "cycle") | .step == 7 and (.text | contains("(step 7)"))' \
  trace check --json "$tmp/run"
json every_finding_of_a_record_in_a_step_has_it \
  '[.findings[] | select(.kind != "short") | .step] == [7, 7, 7]' trace check --json "$tmp/run"
finish
