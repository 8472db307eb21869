#!/bin/sh
# zeroproof trace: the extensions of the format (call sites, labels, how a process ended, values)
# are read, unknown ones are skipped, and traces without extensions are read as before.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/fixtures/trace_v1/*
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
only='consistent \(order and shapes only\)$'
mkdir "$tmp/run"

# tests/fixtures/trace_v1 was written by the PyTorch recorder before the format had extensions.
expect 0 "^10 records of 2 ranks: $only" a_trace_without_extensions_is_judged \
  trace check tests/fixtures/trace_v1
"$zp" trace view tests/fixtures/trace_v1 --out "$tmp/view.json" >/dev/null 2>&1 &&
  what='"what":"send of 2 fp32 to group rank 1"' &&
  grep -q "\"args\":{$what,\"record\":1,\"step\":7,\"phase\":\"gradient\"}" \
    "$tmp/view.json" && ! grep -q '"site"' "$tmp/view.json"
verdict $? a_trace_without_extensions_is_drawn "$(cat "$tmp/view.json")"

# Bytes for printf. A body of n characters: its length, at most 127.
byte() { printf '\\%03o' "$1"; }
extension() { # extension KIND LENGTH BODY
  printf '\\014%s%s%s' "$(byte "$1")" "$(byte "$2")" "$3"
}
site() { extension 1 $((1 + ${#2})) "$(byte "$1")$2"; } # site ID TEXT
at() { extension 2 1 "$(byte "$1")"; } # at ID
ended() { extension 3 $((2 + ${#3})) "$(byte "$1")$(byte "$2")$3"; } # ended HOW STATUS REASON
label() { extension 4 $((1 + ${#2})) "$(byte "$1")$2"; } # label GROUP TEXT
# an operation OP of group 1 without a definition: 4 elements fp32, blocking, phase 1
operation() { printf '\\012%s\\002\\010\\005\\001\\000\\000\\001' "$(byte "$1")"; }
define() { printf '\\002\\000%s\\002\\010\\005\\001\\000\\000\\001' "$(byte "$1")"; } # id 0
defined='\020'
phase='\003\001\007forward'
group='\001\001\001g\002\000\001\000\002\002' # "g" of ranks 0 and 1
before=
trace() { # trace RANK ITEMS: of a run of two ranks with group 1, "g"
  # shellcheck disable=SC2059 # the format has the bytes
  printf "ZPTRACE\\001$(byte "$1")\\002$before$group$phase$2" >"$tmp/run/rank-$1.zpt"
}
both() { # both ITEMS: the same on both ranks
  trace 0 "$1"
  trace 1 "$1"
}
shows() { # shows NAME PATTERN...: all patterns are in the drawn trace of rank 0
  named=$1
  shift
  "$zp" trace view "$tmp/run" --out "$tmp/view.json" --ranks 0 >"$tmp/out" 2>&1
  for pattern; do
    grep -q "$pattern" "$tmp/view.json" && continue
    verdict 1 "$named" "no $pattern in $(cat "$tmp/out" "$tmp/view.json")"
    return
  done
  verdict 0 "$named"
}

both "$(site 1 'train.py:15;loop.py:8')$(site 2 'train.py:20')$(at 1)$(operation 1)$(define 1)\
$(at 2)$(operation 3)$defined$(at 0)$(operation 9)\\011"
expect 0 "^8 records of 2 ranks: $only" call_sites_do_not_change_the_verdict \
  trace check "$tmp/run"
shows an_operation_without_a_definition_has_the_site_before_it \
  '"record":0,"step":-1,"phase":"forward","site":"train.py:15;loop.py:8"' \
  '"record":1,"step":-1,"phase":"forward","site":"train.py:20"' \
  '"record":3,"step":-1,"phase":"forward"}'
shows a_definition_keeps_the_site_before_it \
  '"record":2,"step":-1,"phase":"forward","site":"train.py:15;loop.py:8"'
both "$(at 3)$(operation 1)$(site 9 'far.py:1')$(at 9)$(operation 1)\\011"
expect 0 consistent sites_without_a_text_are_accepted trace check "$tmp/run"
"$zp" trace view "$tmp/run" --out "$tmp/view.json" >/dev/null 2>&1 &&
  ! grep -q '"site"' "$tmp/view.json"
verdict $? they_have_no_text "$(cat "$tmp/view.json")"
before="$(label 1 'default_pg')" # a label may precede its group
both "$(operation 1)\\011"
before=
shows the_row_of_a_group_has_its_label '"name":"default_pg (g)"'
expect 0 consistent labels_do_not_change_the_verdict trace check "$tmp/run"
before="$(label 1 'default_pg')"
trace 0 "$(site 1 'train.py:15')$(at 1)$(operation 1)$(operation 3)"
trace 1 "$(site 1 'train.py:16')$(at 1)$(operation 3)"
before=
skipped="^forward: either rank 1 skipped all_reduce sum of 4 fp32 \(train.py:15\) in 'default_pg'"
expect 1 "$skipped \{0, 1\} and entered all_gather sum of 4 fp32 \(train.py:16\) in 'default_pg'" \
  an_operation_without_a_definition_has_its_phase_site_and_label trace check "$tmp/run"
# a receive from any source whose source is known: its line is that of the receive
any() { printf '\\012\\013\\001\\010\\005\\001\\000\\002\\001'; }
trace 0 "$(operation 9)\\011"
trace 1 "$(site 1 'train.py:16')$(at 1)$(any)$(site 2 'train.py:17')$(at 2)\\013\\001\\001\
$(operation 9)"
expect 1 "rank 1 entered recv of 4 fp32 from rank 0 \(train.py:16\) in" \
  a_receive_from_any_source_has_its_site trace check "$tmp/run"

both "$(extension 99 5 'later')$(extension 100 0 '')$(operation 1)\\011"
expect 0 "^2 records of 2 ranks: $only" unknown_extensions_are_skipped trace check "$tmp/run"
both "$(operation 1)$(extension 99 127 'a body of 127 bytes, of which the file has fewer')"
expect 0 '2 ranks \(0, 1\) have no end mark: still running, killed, or not closed$' \
  a_file_may_end_within_an_extension trace check "$tmp/run"
invalid() { # invalid NAME EXTENSION
  both "$(operation 1)$2$(operation 1)\\011"
  expect 1 'damaged after its record 0' "$1" trace check "$tmp/run"
}
invalid a_site_without_a_number_is_damage "$(extension 1 0 '')"
invalid a_number_beyond_the_body_is_damage "$(extension 2 1 '\200')"
invalid an_exit_without_a_status_is_damage "$(extension 3 1 '\001')"
invalid an_exit_status_of_256_is_damage "$(extension 3 3 '\001\200\002')"
long=$(printf '%0200d' 0)
# shellcheck disable=SC2059
both "\\014\\001\\221\\003\\001$long$long$(at 1)$(operation 1)\\011"
expect 0 'consistent' a_long_text_is_cut trace check "$tmp/run"
shows its_beginning_is_shown '"site":"0\{255\}"'

# How a process ended. Rank 1 enters one operation fewer and does not complete.
trace 0 "\\004\\003$(operation 1)$(operation 3)\\011"
trace 1 "\\004\\003$(operation 1)$(ended 1 3 '')"
expect 1 '^step 3, forward: rank 1 ended with exit status 3, after 1 record; rank 0 waits for' \
  an_exit_status_that_others_wait_for_is_an_error trace check "$tmp/run"
! grep -q '^[^s].*rank 1 ended' "$tmp/out"
verdict $? it_is_the_first_finding "$(cat "$tmp/out")"
! grep -q 'no end mark' "$tmp/out"
verdict $? a_rank_that_exits_was_not_killed "$(cat "$tmp/out")"
trace 1 "\\004\\003$(operation 1)$(ended 2 1 'ValueError')"
expect 1 '^step 3, forward: rank 1 ended with an exception \(ValueError\), exit status 1, after 1' \
  an_exception_is_named trace check "$tmp/run"
both "$(operation 1)$(ended 1 3 '')"
expect 0 '^warning: 2 ranks \(0, 1\) ended with exit status 3, rank 0 first, after its record 0$' \
  an_exit_status_that_no_rank_waits_for_is_a_warning trace check "$tmp/run"
# The status is a byte that the C library wrote, which is missing while the process runs.
trace 0 "\\004\\003$(operation 1)$(operation 3)\\011"
trace 1 "\\004\\003$(operation 1)$(ended 3 200 '')"
expect 1 '^step 3, forward: rank 1 ended with exit status 200, after 1 record; rank 0 waits for' \
  an_exit_status_may_be_a_byte trace check "$tmp/run"
trace 1 "\\004\\003$(operation 1)$(ended 3 0 '')"
expect 1 '^consequence: rank 1 finishes after 1 record' the_byte_0_is_an_end_mark \
  trace check "$tmp/run"
both "$(operation 1)$(ended 3 0 '')"
expect 0 "^2 records of 2 ranks: $only" traces_that_end_with_the_byte_0_are_complete \
  trace check "$tmp/run"
both "$(operation 1)\\014\\003\\002\\003"
expect 0 '2 ranks \(0, 1\) have no end mark' without_the_byte_there_is_no_end trace check "$tmp/run"
invalid the_byte_must_be_within_the_body "$(extension 3 1 '\003')"
trace 0 "\\004\\003$(operation 1)$(operation 3)\\011"
trace 1 "\\004\\003$(operation 1)$(ended 4 0 '')"
expect 1 '^step 3, forward: rank 1 ended with an exit status that is not known, after 1 record' \
  an_exit_status_that_is_not_known_is_no_end_mark trace check "$tmp/run"
both "$(operation 1)$(ended 4 0 '')"
expect 0 '^warning: 2 ranks \(0, 1\) ended with an exit status that is not known, rank 0 first' \
  so_it_is_where_no_rank_waits trace check "$tmp/run"
# A rank without an end may yet enter what others wait for, unless one of those has ended.
three() { # three ITEMS ITEMS ITEMS: the traces of a run of three ranks with group 1
  rank=0
  for items; do
    start="ZPTRACE\\001$(byte $rank)\\003\\001\\001\\001g\\003\\000\\001\\000\\002\\003$phase"
    # shellcheck disable=SC2059
    printf "$start$items" >"$tmp/run/rank-$rank.zpt"
    rank=$((rank + 1))
  done
}
later=': inconsistent, unless the job still runs: '
never=': inconsistent, the traces do not match each other$'
waits="$(operation 1)$(operation 3)"
killed=$(ended 2 1 'RuntimeError')
three "$waits" "$(operation 1)" "$waits"
expect 1 "^5 records of 3 ranks$later" a_rank_without_an_end_may_yet_enter_it trace check "$tmp/run"
three "$waits$killed" "$(operation 1)" "$waits$killed"
expect 1 "^5 records of 3 ranks$never" not_if_those_that_waited_have_ended trace check "$tmp/run"
three "$waits" "$(operation 1)" "$waits$killed"
expect 1 "^5 records of 3 ranks$never" nor_if_one_of_them_has trace check "$tmp/run"
three "$waits" "$(operation 1)" "$(operation 1)$killed"
expect 1 "^4 records of 3 ranks$never" nor_if_another_one_never_enters_it trace check "$tmp/run"
rm "$tmp/run/rank-2.zpt"
both "$(operation 1)$(ended 7 1 '')$(operation 1)\\011"
expect 0 "^4 records of 2 ranks: $only" an_unknown_way_to_end_is_ignored \
  trace check "$tmp/run"
"$zp" trace check --json "$tmp/run" >/dev/null
trace 0 "$(operation 1)$(operation 3)\\011"
trace 1 "$(operation 1)$(ended 1 3 '')"
"$zp" trace check --json "$tmp/run" |
  jq -e '.findings[0] | .kind == "exit" and .level == "error" and .ranks == [1] and .record == 0' \
    >/dev/null
verdict $? exits_are_in_the_json

# Fingerprints. Lanes are 16 bytes; those of tests have one byte that is not 0.
lanes() { printf '%s\\000\\000\\000\\000\\000\\000\\000%s' "$(byte "$1")" \
  "$(byte "$1")\\000\\000\\000\\000\\000\\000\\000"; }
value() { # value SIDE OP ROOT I BYTES LANE: of the last operation, the I-th one of group 1
  head="$(byte "$1")\\001$(byte "$2")$(byte "$3")\\001$(byte "$4")"
  extension 5 23 "$head$(byte "$5")$(lanes "$6")"
}
without() { extension 5 6 "$(byte "$1")\\001$(byte "$2")$(byte "$3")\\001$(byte "$4")"; }
tensor() { extension 6 2 "\\001$1"; } # its number is 1
sample() { # sample STEP LANE [GROUP]
  extension 7 20 "\\001$(byte $(($1 + 1)))$(byte "${3:-1}")\\020$(lanes "$2")"
}
both_values() { # both_values OP BYTES LANE LANE: of an operation of group 1: input, result
  printf '%s' "$(operation "$1")$(value 1 "$1" 0 0 16 "$3")$(value 2 "$1" 0 0 "$2" "$4")\\011"
}
inputs() { # inputs OP BYTES LANE0 LANE1 RESULT0 RESULT1: on two ranks, the result has BYTES bytes
  trace 0 "$(both_values "$1" "$2" "$3" "$5")"
  trace 1 "$(both_values "$1" "$2" "$4" "$6")"
}
inputs 1 16 1 2 9 9
expect 0 ': consistent \(order, shapes and 1 values\)$' equal_results_of_an_all_reduce_agree \
  trace check "$tmp/run"
inputs 1 16 3 3 9 8
expect 1 '^result of all_reduce sum of 4 fp32 .*: rank 1 holds another value than rank 0; the' \
  different_results_are_reported trace check "$tmp/run"
inputs 3 32 1 2 3 3
expect 0 'and 1 values\)$' gathered_inputs_add_up_to_the_result trace check "$tmp/run"
inputs 3 32 1 2 3 4
expect 1 'differs: rank 1 holds another value than rank 0, which hold what was passed in$' \
  the_result_that_is_not_the_sum_is_wrong trace check "$tmp/run"
inputs 3 32 1 2 4 4
expect 1 'differs: the results agree, but are not what was passed in' a_sum_that_no_rank_holds \
  trace check "$tmp/run"
trace 0 "$(operation 5)$(value 1 5 1 0 16 4)$(value 2 5 1 0 16 4)\\011"
trace 1 "$(operation 5)$(without 0 5 1 0)$(value 2 5 1 0 16 5)\\011"
expect 1 'differs: rank 1 holds another value than rank 0, which hold' \
  the_root_of_a_broadcast_is_right \
  trace check "$tmp/run"
trace 0 "$(operation 4)$(value 1 4 1 0 16 4)$(value 2 4 1 0 16 4)\\011"
trace 1 "$(operation 4)$(value 1 4 1 0 16 5)$(without 3 4 1 0)\\011"
expect 0 consistent a_reduction_to_one_rank_has_one_result trace check "$tmp/run"
inputs 8 16 1 2 2 1
expect 0 'and 1 values\)$' parts_of_an_all_to_all_add_up_to_the_results trace check "$tmp/run"
inputs 8 16 1 2 2 2
expect 1 'all_to_all .* differs: the results together are not what was passed in' \
  results_that_are_not_the_parts_are_reported trace check "$tmp/run"
trace 0 "$(operation 8)$(value 1 8 0 0 16 1)$(value 2 8 0 0 16 1)\\011"
trace 1 "$(operation 8)$(without 0 8 0 0)$(without 3 8 0 0)\\011"
expect 0 consistent parts_that_one_rank_did_not_record_are_not_compared trace check "$tmp/run"
# p2p OP PEER: 4 elements fp32 to or from group rank PEER of group 1
p2p() { printf '\\012%s\\001\\010\\005\\001%s\\000\\001' "$(byte "$1")" "$(byte $(($2 + 1)))"; }
sent() { # sent LANE LANE: rank 0 sends the first, rank 1 receives the second
  trace 0 "$(p2p 10 1)$(value 1 10 2 0 16 "$1")\\011"
  trace 1 "$(p2p 11 0)$(value 2 11 1 0 16 "$2")\\011"
}
sent 7 7
expect 0 'and 1 values\)$' a_send_is_compared_with_its_receive trace check "$tmp/run"
sent 7 6
expect 1 '^result of send of 4 fp32 to group rank 1 .* differs: rank 1 received another value ' \
  another_value_that_was_received_is_reported trace check "$tmp/run"
trace 1 "$(p2p 11 0)\\011"
expect 0 'order and shapes only' a_send_alone_is_not_compared trace check "$tmp/run"
trace 0 "$(p2p 10 1)$(value 1 10 0 0 16 7)$(value 1 10 2 5 16 7)$(value 1 11 2 0 16 7)\\011"
expect 0 'order and shapes only' values_of_no_known_send_are_ignored trace check "$tmp/run"
trace 0 "$(tensor w)$(operation 9)$(sample 0 1)$(sample 3 1)$(sample 5 1)\\011"
trace 1 "$(tensor w)$(operation 9)$(sample 0 1)$(sample 3 2)$(sample 5 3)\\011"
expect 1 '^step 3: w differs: rank 1 holds another value than rank 0; .* \(equal at step 0\)' \
  the_first_step_at_which_a_tensor_differs_is_named trace check "$tmp/run"
trace 1 "$(tensor v)$(operation 9)$(sample 0 7)\\011"
expect 0 'consistent' tensors_are_compared_by_name trace check "$tmp/run"
both "$(tensor w)$(operation 9)$(sample 0 1)$(sample 0 2)$(sample 0 1)$(sample 2 3)\
$(sample 0 4)\\011"
expect 0 'and 5 values\)$' values_of_one_rank_are_not_compared_with_each_other \
  trace check "$tmp/run"
samples() { # samples ITEMS ITEMS: of tensor w on two ranks, after an all_reduce with equal results
  equal="$(operation 1)$(value 1 1 0 0 16 1)$(value 2 1 0 0 16 2)"
  # both are in group 2, "h", too
  two="\\001\\002\\001h\\002\\000\\001\\000\\002\\002$(tensor w)$equal"
  trace 0 "$two$1\\011"
  trace 1 "$two$2\\011"
}
changed='; the results of all 1 collectives before agree: a rank changed its copy afterwards$'
never='; the results of all 1 collectives before agree; its copies were never seen equal: they were'
samples "$(sample 1 1)$(sample 1 2)$(sample 1 3)" "$(sample 1 1)$(sample 1 2)$(sample 1 4)"
expect 1 "^step 1: w differs: rank 1 .* \(equal earlier in this step\)$changed" \
  the_second_value_of_a_step_is_compared_with_the_second_one trace check "$tmp/run"
samples "$(sample 5 1)$(sample 1 2)" "$(sample 5 1)$(sample 1 3)"
expect 1 "^step 1: w .* \(equal at step 5, before the steps were counted anew\)$changed" \
  steps_may_be_counted_anew trace check "$tmp/run"
samples "$(sample 2 1)$(sample 5 1 2)$(sample 3 1)" "$(sample 2 1)$(sample 5 1 2)$(sample 3 2)"
expect 1 "^step 3: w .* \(equal at step 2\)$changed" another_group_says_nothing_about_a_tensor \
  trace check "$tmp/run"
samples "$(sample 2 1)$(sample 3 1)" "$(sample 3 2)"
expect 1 "^step 3: w [^(]*$never not initialised alike, or changed before$" \
  the_value_of_one_rank_is_not_equal_to_others trace check "$tmp/run"
samples "$(sample 0 1)" "$(sample 0 2)"
expect 1 "^step 0: w [^(]*$never not initialised alike, or changed before$" \
  copies_that_were_never_equal_are_not_said_to_have_changed trace check "$tmp/run"
on=$(extension 17 1 '\001')
both "$on$(operation 2)$(value 1 2 0 0 16 1)$(without 3 2 0 0)\\011"
expect 0 'Values were recorded, but none that another rank must have, too' \
  values_that_are_not_compared_are_reported trace check "$tmp/run"
trace 0 "$(operation 3)$(value 1 3 0 0 16 1)$(value 2 3 0 0 32 3)\\011"
trace 1 "$(operation 3)$(without 0 3 0 0)$(value 2 3 0 0 32 3)\\011"
expect 0 'and 1 values\)$' inputs_of_some_members_are_no_sum trace check "$tmp/run"
ended="$(extension 18 13 '\000RuntimeError')$(extension 18 2 '\005x')"
step3="$on\\004\\003$(operation 1)$(value 1 1 0 0 16 1)$(value 2 1 0 0 16 2)$(operation 9)"
trace 0 "$step3\\011"
trace 1 "$step3$ended\\011"
expect 0 '^warning: values of rank 1 end after its record 1 \(step 3\), by RuntimeError: ' \
  an_end_of_values_is_a_warning trace check "$tmp/run"
both "$(extension 18 1 '\005')$(operation 1)\\011"
expect 0 '^warning: values of 2 ranks \(0, 1\) end, of rank 0 first, before its first record: ' \
  values_may_end_before_the_first_record trace check "$tmp/run"
invalid an_end_of_values_without_a_step_is_damage "$(extension 18 0 '')"
for item in "$(extension 5 3 '\\001\\001\\001')" \
  "$(extension 7 4 '\\001\\001\\001\\020')" \
  "$(value 1 15 0 0 16 1)" "$(extension 5 6 '\\000\\005\\001\\000\\001\\000')"; do
  both "$(operation 1)$item$(operation 1)\\011"
  expect 1 'damaged after its record 0, near byte' an_invalid_value_is_damage trace check "$tmp/run"
done
both "$(operation 1)$(value 9 1 0 0 16 1)$(value 2 1 0 77 16 1)$(sample 0 1)\\011"
expect 0 'order and shapes only' values_without_an_operation_or_name_are_ignored \
  trace check "$tmp/run"

# trace dump decodes all items. Two groups may have the same label.
before="$(label 1 'tp')$(label 2 'tp')\\001\\002\\001h\\002\\000\\001\\000\\002\\002"
trace 0 "\\010\\100$(operation 1)$(value 1 1 0 0 16 7)$(without 3 1 0 0)\\010\\040\
$(extension 16 1 '\001')\\004\\003$(tensor w)$(sample 5 9)$(extension 8 4 boot)\
$(ended 2 1 'ValueError')"
before=
file=$tmp/run/rank-0.zpt
json a_group_has_its_label '[.items[] | select(.item == "group") | [.id, .key, .label]] ==
  [[2, "h", "tp"], [1, "g", "tp"]]' trace dump --json "$file"
json an_operation_has_the_number_of_its_group '[.items[] | select(.item == "operation") |
  [.group, .group_id]] == [["tp", 1]]' trace dump --json "$file"
json values_are_items '[.items[] | select(.item == "value")] == [
  {item: "value", record: 0, side: "input", group_id: 1, number: 0, bytes: 16,
   fingerprint: "00000000000000070000000000000007"},
  {item: "value", record: 0, side: "no result", group_id: 1, number: 0}]' trace dump --json "$file"
json tensors_are_items '[.items[] | select(.item == "tensor")] == [{item: "tensor", tensor: "w",
  step: 5, group_id: 1, bytes: 16, fingerprint: "00000000000000090000000000000009"}]' \
  trace dump --json "$file"
trace 1 "\\004\\003$(operation 1)$ended"
json an_end_of_values_is_an_item '.items[3:] == [{item: "values_end", step: 3,
  type: "RuntimeError"}]' trace dump --json "$tmp/run/rank-1.zpt"
expect 0 '^values end, step 3: the recorder could not record later ones, by RuntimeError$' \
  it_is_printed_with_its_error trace dump "$tmp/run/rank-1.zpt"
trace 1 "$(extension 18 1 '\000')"
json without_a_step_or_error_it_has_neither '.items[1:] == [{item: "values_end"}]' \
  trace dump --json "$tmp/run/rank-1.zpt"
expect 0 '^values end: the recorder could not record later ones$' \
  nor_has_the_line trace dump "$tmp/run/rank-1.zpt"
json returns_are_items '[.items[] | select(.item == "returned")] ==
  [{item: "returned", record: 0, ns: 32}]' trace dump --json "$file"
json the_end_is_an_object '.exit == {how: "exception", type: "ValueError", status: 1} and
  .boot_id == "boot"' trace dump --json "$file"
for line in "group 2: 'h', label 'tp' \\{0–1\\}" \
  'record 0: input, 16 bytes, fingerprint 0{15}70{15}7' \
  'record 0: no result' 'record 0 has returned, 0.000032 ms' \
  'tensor w, step 5, 16 bytes, fingerprint 0{15}90{15}9' 'boot id of the host: boot'; do
  expect 0 "^$line$" all_items_are_printed trace dump "$file"
done
ends() { # ends JSON ITEMS: how the trace of rank 0 ends
  trace 0 "$2"
  timeout 600 "$zp" trace dump --json "$file" >"$tmp/out" 2>"$tmp/err"
  jq -e ".exit == $1" "$tmp/out" >/dev/null
  verdict $? "the_end_is_$1" "$(cat "$tmp/out")"
}
ends '{how: "completed"}' "$(operation 1)\\011"
ends '{how: "completed"}' "$(operation 1)$(ended 3 0 '')"
ends '{how: "status", status: 3}' "$(operation 1)$(ended 1 3 '')"
ends '{how: "exception", status: 1}' "$(operation 1)$(ended 2 1 '')"
ends '{how: "unknown"}' "$(operation 1)$(ended 4 0 '')"
ends '{how: "no end mark"}' "$(operation 1)"
ends '{how: "damaged", byte: 31}' "\\015"

# A send to group rank 5 of two, in step 7: its step and record are known
both "\\004\\007$(operation 1)\\011"
trace 0 "\\004\\007$(operation 1)\\012\\012\\001\\010\\005\\001\\006\\000\\001\\011"
json a_peer_outside_of_the_group_is_reported_with_its_step \
  '[.findings[] | [.kind, .step, .record]] == [["group", 7, 1], ["unjudged", -1, -1]]' \
  trace check --json "$tmp/run"
finish
