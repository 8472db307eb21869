# zeroproof fuzz: what it finds is shrunk, replays, and is found by the command alone.
# inputs: build/zeroproof tests/fixtures/lib.sh
. tests/fixtures/lib.sh

expect 0 '"found": null' a_short_run_finds_nothing fuzz --cases 400 --seed 12 --json
jq -en 'input | .found == null and .cases == 400 and .ranks_mean >= 6 and .elements_mean >= 200
  and .axes["saved and loaded"] > 0.05 and .axes["loaded under another topology"] > 0.02
  and .micro_batches_mean >= 3 and .axes["experts"] > 0.02' "$tmp/out" >"$tmp/jq" 2>&1
verdict $? coverage_and_sums_for_machines "$(head -c 200 "$tmp/jq") $(head -c 300 "$tmp/out")"
"$zp" fuzz --cases 3 >"$tmp/out" 2>&1 && [ "$(wc -l <"$tmp/out")" -le 4 ] &&
  tail -1 "$tmp/out" | grep -q '^passed: nothing found in 3 cases '
verdict $? the_verdict_is_the_last_line "$(cat "$tmp/out")"
"$zp" fuzz --cases 3 --shares >"$tmp/out" 2>&1 && grep -q ' % dp > 1' "$tmp/out" &&
  grep -q 'in a run of 2000 cases or more' "$tmp/out" && tail -1 "$tmp/out" | grep -q '^passed: '
verdict $? shares_are_printed_on_request "$(cat "$tmp/out")"
expect 0 'run of 2000 cases or more also fails' help_says_when_shares_count fuzz --help
expect 2 'there is no fault' unknown_fault_is_refused fuzz --fault pr9999
expect 2 'not a number above 0' no_time_is_refused fuzz --seconds 0
expect 2 'field with a value' nonsense_is_not_replayed fuzz --replay pp=2,nonsense=1
expect 2 'ep: 2 is out of range' an_invalid_case_is_not_replayed fuzz --replay dp=3,ep=2,list=4@0.0
expect 0 'clean: 1 step,' a_clean_case_is_replayed fuzz --replay dp=3,stage=2,list=4@0.0

expect 2 'nothing would be compared' an_empty_case_is_not_replayed fuzz --replay ''
expect 2 'nothing would be compared' a_case_without_steps_is_not_replayed \
  fuzz --replay steps=0,list=4@0.0
case=reduce=exact,precision=bf16,pp=2,dp=3,ep=3,M=2,stage=2,bucket=5,steps=2,reload=1:6:0:3
expect 0 'clean: 3 steps' a_case_continues_after_loading_under_another_topology \
  fuzz --replay "$case,list=4@0.0+9@0.1e+7@1.0t0+7@1.0t0"
expect 0 'clean: 2 steps' ordered_continues_only_under_its_own_split \
  fuzz --replay reduce=ordered,dp=3,M=2,steps=2,reload=1:2:1:8,list=4@0.0
expect 2 'reload' nonsense_is_not_loaded fuzz --replay list=4@0.0,reload=0:1:1:1

for fault in $("$zp" sim --fault list --json | jq -r '.[].name'); do
  expect 1 'repeat: ' "fuzz_alone_finds_$fault" fuzz --fault "$fault" --seconds 60
  replay=$(sed -n "s/.*--replay '\(.*\)'.*/\1/p" "$tmp/out")
  clause=$(sed -n "s/^case .* failed: \([A-Z]*-[0-9]*\).*/\1/p" "$tmp/out")
  expect 1 "failed: .*${clause:-nothing}" "replay_shows_$fault" fuzz --fault "$fault" \
    --replay "$replay"
done
exit $bad
