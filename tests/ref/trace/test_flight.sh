#!/bin/sh
# zeroproof trace check and dump on Flight Recorder dumps: those of tests/fixtures/flight, which
# gloo made, and others in the form of NCCL's.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/fixtures/flight
# inputs: tests/ref/trace/flight_dumps.py
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
made=tests/fixtures/flight

expect 0 '^24 records of 2 ranks: consistent .order' a_clean_run_is_consistent \
  trace check $made/clean
expect 0 '^24 records of 2 ranks: consistent .order' a_clean_run_in_json_is_consistent \
  trace check $made/json
expect 0 '^24 records of 4 ranks: consistent .order' groups_with_one_description_are_apart \
  trace check $made/groups
expect 0 '^4 records of 2 ranks: consistent .order' gloo_records_no_send_and_receive \
  trace check $made/p2p
expect 1 "^rank 2 skipped all_reduce of 4 fp32 \(make.py:[0-9]+\) in 'default_pg'" \
  a_skipped_collective_is_named_with_its_line trace check $made/skip
stopped='stopped in its own code after 1 record; '
expect 1 "^rank 1 ${stopped}ranks 0, 2 wait for it in all_reduce of 4 fp32 \(make.py:[0-9]+\)" \
  a_rank_that_stops_is_named trace check $made/hang
expect 1 '^[0-9]+ records of 3 ranks: inconsistent, the traces do not match each other' \
  a_job_with_dumps_does_not_run trace check $made/hang
expect 1 '^rank 1 entered broadcast of 6 fp32 \(make.py:[0-9]+\).* another count than ranks 0, 2' \
  another_count_is_named trace check $made/count
lost="the operations in 'default_pg' before sequence number 7 are unknown"
expect 0 "^warning: $lost and not judged: the dump of rank 0 begins there" \
  what_the_ring_has_lost_is_unknown trace check $made/lost
json a_lost_prefix_is_no_error '.good and .records == 16 and
  ([.findings[] | .kind] | unique) == ["unknown"] and .findings[0].ranks == [0]' \
  trace check $made/lost --json

# A rank that has lost its prefix can still be the one that is missing.
mkdir "$tmp/late" "$tmp/runs"
cp $made/lost/nccl_trace_rank_* "$tmp/late/" && cp $made/hang/nccl_trace_rank_1 "$tmp/late/"
expect 1 '^rank 1 ' a_rank_before_the_common_numbers_is_missing trace check "$tmp/late"

python3 -B tests/ref/trace/flight_dumps.py write "$tmp/runs"
older='the dump of rank 1 was made before number 3 was complete'
expect 0 "after sequence number 2 are not judged: $older" \
  an_older_dump_is_no_missing_rank trace check "$tmp/runs/older"
expect 1 "rank 1 ${stopped}rank 0 waits for it in .*\(train.py:12\)" \
  without_completion_the_rank_is_missing trace check "$tmp/runs/waiting"
expect 0 '^4 records of 2 ranks: consistent .order' sends_match_receives trace check "$tmp/runs/p2p"
expect 1 'recv.* 5 fp32' counts_of_send_and_receive_must_agree trace check "$tmp/runs/p2p_count"
expect 0 '^warning: 6 records are not judged' sends_without_their_first_ones_are_not_judged \
  trace check "$tmp/runs/p2p_lost"
expect 0 "^warning: the operations in 'default_pg' are unknown .* rank 1 has overwritten" \
  a_group_that_the_ring_has_lost_is_unknown trace check "$tmp/runs/all_lost"
expect 0 'before sequence number 3 are unknown' a_gap_in_the_numbers_is_unknown \
  trace check "$tmp/runs/gap"
expect 0 '^warning: 1 entries are not judged: their operation is not known' \
  an_unknown_operation_is_reported trace check "$tmp/runs/other_op"
expect 0 '^4 records of 2 ranks: consistent .order' members_in_another_order_are_one_group \
  trace check "$tmp/runs/order"
expect 0 '^warning: 2 records are not judged' peers_in_an_unknown_order_are_not_judged \
  trace check "$tmp/runs/order"
expect 0 '^9 records of 3 ranks: consistent .order' a_dump_without_members_joins_the_listed_group \
  trace check "$tmp/runs/half_listed"
expect 1 "rank 1 ${stopped}rank 0 waits for it in .*\(train.py:12\)" \
  a_rank_without_members_can_be_missing trace check "$tmp/runs/half_missing"
expect 1 'rank 2 has no dump' a_rank_without_a_dump_is_named trace check "$tmp/runs/no_dump"
expect 1 'recorded no operation' empty_dumps_are_no_good_run trace check "$tmp/runs/empty"

cp $made/json/nccl_trace_rank_0.json "$tmp/late/"
expect 2 'rank 0 has two dumps' two_dumps_of_a_rank_are_refused trace check "$tmp/late"
mkdir "$tmp/two" && cp $made/clean/nccl_trace_rank_0 "$tmp/two/a_0" &&
  cp $made/clean/nccl_trace_rank_1 "$tmp/two/b_1"
expect 2 'different prefixes' two_runs_in_a_folder_are_refused trace check "$tmp/two"
cp $made/clean/nccl_trace_rank_0 "$tmp/two/a_999999"
rm "$tmp/two/b_1"
expect 2 'rank in the file name is too large' a_rank_that_is_too_large_is_refused \
  trace check "$tmp/two"

expect 0 "^record 2: all_reduce of 4 fp32 in 'default_pg' number 3, retired, at make.py:[0-9]+" \
  a_dump_is_printed trace dump $made/hang/../lost/nccl_trace_rank_1
json a_dump_is_printed_as_json '.schema == "zeroproof/trace-dump/1" and .records == 12 and
  .items[0] == {item: "group", id: 0, key: "0", label: "default_pg"} and
  .items[2].op == "broadcast" and .items[2].sequence_number == 2 and .items[2].count == 4 and
  .items[11].dtype == "bf16" and .items[1].timeout_ms == 5000 and .items[1].group_id == 0 and
  .exit == null' \
  trace dump $made/json/nccl_trace_rank_1.json --json
json times_count_from_the_first_entry_that_has_one '.first_ns == 1700000000000000001 and
  [.items[] | select(.item == "operation") | .ns] == [null, 0, 1]' \
  trace dump "$tmp/runs/late_time/nccl_trace_rank_0" --json
json without_times_there_is_no_first_one 'has("first_ns") | not' \
  trace dump "$tmp/runs/no_time/nccl_trace_rank_0" --json
# of a trace: a group of two ranks, a definition, step 5, a wait, and the end mark
{
  printf 'ZPTRACE\001\000\002\001\001\001g\002\000\001\000\002\002'
  printf '\002\000\001\002\010\005\001\000\001\000\004\005\020\005\001\011'
} >"$tmp/any.zpt"
expect 0 "^record 0: all_reduce sum of 4 fp32 in 'g', asynchronous" a_trace_is_printed \
  trace dump "$tmp/any.zpt"
json a_trace_is_printed_as_json '.rank == 0 and .world == 2 and .items[0].members == "0-1" and
  .items[1] == {item: "step", step: 5} and .items[2].step == 5 and
  .items[3] == {item: "wait", record: 0} and .end == "the rank has completed"' \
  trace dump "$tmp/any.zpt" --json
# a group of three runs, and one of 16,000 runs of 131,072 members each, which a small file can have
python3 - "$tmp/some.zpt" "$tmp/many.zpt" <<'X'
import sys

start = b"ZPTRACE\1\0\200\200\10\1\1\1g"
runs = b"\7\0\3\0\2\4\6\4\2\12\0\1"
open(sys.argv[1], "wb").write(start + runs + b"\11")
runs = b"\200\200\200\350\7\0\200\175" + b"\0\0\200\200\10" * 16000
open(sys.argv[2], "wb").write(start + runs + b"\11")
X
expect 0 "^group 1: 'g' \{0–3, 6–8 by 2, 10\}$" members_are_printed trace dump "$tmp/some.zpt"
# shellcheck disable=SC3045 # dash has ulimit -v
(
  [ "${SAN:-0}" = 1 ] || ulimit -v 2000000 # KiB; a sanitizer reserves more
  expect 0 "^group 1: 'g' \{(0–0 by 0, ){8}\.\.\.\}$" many_members_take_no_memory \
    trace dump "$tmp/many.zpt"
  exit $bad
) || bad=1
printf '\377\377\377' >>"$tmp/any.zpt"
head -c 30 "$tmp/any.zpt" >"$tmp/cut.zpt"
expect 0 'no end mark: still running, killed, or not closed' a_truncated_trace_is_printed \
  trace dump "$tmp/cut.zpt"
printf '\015' >>"$tmp/cut.zpt"
expect 2 'damaged near byte' a_damaged_trace_is_reported trace dump "$tmp/cut.zpt"
expect 2 'neither a trace' another_file_is_refused trace dump tests/fixtures/lib.sh
expect 2 'No such file' a_missing_file_is_refused trace dump "$tmp/none"
expect 2 'is a folder, and dump decodes one file.*zeroproof trace check' a_folder_is_refused \
  trace dump "$tmp"
expect 2 'is a file, and check reads the folder of a run.*zeroproof trace dump' a_file_is_refused \
  trace check "$tmp/any.zpt"
expect 2 'is a file, and watch reads the folder' so_is_one_to_be_watched trace watch "$tmp/any.zpt"
# a pipe that is closed early, as by head: no message
"$zp" trace dump $made/clean/nccl_trace_rank_0 2>"$tmp/err" | head -n 1 >"$tmp/out"
[ ! -s "$tmp/err" ] && [ "$(wc -l <"$tmp/out")" = 1 ]
verdict $? a_closed_pipe_is_no_error "$(cat "$tmp/err")"

made_by() { # made_by MODE ARGS...: checks of flight_dumps.py
  mode=$1
  shift
  mkdir -p "$tmp/$mode"
  limited python3 -B tests/ref/trace/flight_dumps.py "$mode" "$zp" "$@" "$tmp/$mode" \
    >"$tmp/$mode.out" 2>&1
  code=$?
  cat "$tmp/$mode.out"
  [ $code -eq 0 ] && ! grep -q '^not ok' "$tmp/$mode.out" || bad=1
}
made_by hostile $made/clean/nccl_trace_rank_0
made_by integers
# the limits of JSON hold before its values are built: the list would need more than 700 MB
python3 -c 'print("{\"entries\": [" + "0, " * 2**24 + "0]}")' >"$tmp/long.json"
python3 -c 'print("{\"entries\": [\"" + "[{0, " * 2**22 + "\"]}")' >"$tmp/text.json"
# shellcheck disable=SC3045 # dash has ulimit -v
(
  [ "${SAN:-0}" = 1 ] || ulimit -v 300000 # KiB; a sanitizer reserves more
  expect 2 'long.json: it has more than 4194304 values' many_values_of_json_take_no_memory \
    trace dump "$tmp/long.json"
  exit $bad
) || bad=1
expect 2 'an entry is not a dictionary' a_text_of_json_is_one_value trace dump "$tmp/text.json"
made_by amplified
made_by groups
finish
