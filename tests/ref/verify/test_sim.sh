# zeroproof sim: injected faults and clean runs, as a person and a machine see them.
# spec: STAT-1, LEDG-7, RED-3, RED-6, PIPE-6
# inputs: build/zeroproof tests/fixtures/lib.sh
. tests/fixtures/lib.sh

expect 1 'deadlock: .*LEDG-7' pr7847_is_a_deadlock sim --fault pr7847
expect 1 'rank 0 \(stage 0, dp 0, tp 0\), step 0, program position [0-9]+: all_reduce\(statistics' \
  pr7847_names_rank_position_and_op sim --fault pr7847
expect 1 'failed: .*STAT-1' pr7847_names_its_clause sim --fault pr7847
expect 1 'deadlock' pr7847_on_another_topology sim --fault pr7847 --pp 4 --dp 3 --groups 3,1,2,1
expect 0 'no effect on this configuration' pr7847_needs_unequal_groups \
  sim --fault pr7847 --groups 1,1
expect 1 'rank 3 \(stage 1, dp 1, tp 0\), micro-batch 2' a_doubled_contribution_is_named \
  sim --fault ds5605
expect 0 'bit for bit in 3 steps' clean_run_with_everything sim --pp 3 --dp 4 --tp 2 --ep 2 \
  --steps 3 --unused 30 --dynamic-shapes --vary --tuple --precision fp16 --stage 2 --bucket 16
expect 0 'bit for bit in 3 steps' clean_run_with_replicas sim --pp 2 --dp 4 --ep 2 --replicas 2 \
  --steps 3 --unused 30 --precision bf16 --stage 1 --bucket 16 --reduce ordered
expect 2 'replicas: 2 is refused at ZeRO stage 0' a_case_without_shards_has_one_replica \
  sim --case dp=2,replicas=2,stage=0,list=3@0.0
expect 0 'no coded gradients: D.*256' too_many_contributions_for_codes sim --dp 64 --pp 2
expect 0 'pr7847 +STAT-1' faults_are_listed sim --fault list
expect 2 'there is no fault' unknown_fault_is_refused sim --fault pr9999
expect 2 'steps: 33' too_many_steps_are_refused sim --steps 33
expect 2 'groups: 2 numbers for 3 stages' groups_of_other_stages_are_refused sim --pp 3 --groups 1,2
expect 2 'field with a value' a_case_with_nonsense_is_refused sim --case pp=2,nonsense=3
# A run in which nothing could fail is refused; one without arguments is worth something.
expect 2 'steps: 0; nothing would be compared' no_steps_are_refused sim --steps 0
expect 2 'steps: 0; nothing would be compared' a_case_without_steps_is_refused \
  sim --case pp=2,steps=0,list=3@0.0+4@1.0
expect 2 'no parameters to train' an_empty_case_is_refused sim --case ''
expect 2 'no parameters to train' a_case_without_a_list_is_refused sim --case pp=2
expect 2 'no parameters to train' a_frozen_list_is_refused sim --case list=3@0.0f+0@0.0
printf '{"params":[]}' >"$tmp/empty.json"
expect 2 'no element to train' an_empty_configuration_is_refused sim --config "$tmp/empty.json"
expect 0 'no topology was given: pp 2, dp 2, 3 steps' bare_sim_says_its_defaults sim
json bare_sim_is_worth_running '.verdict == "clean" and (.steps | length) == 3
  and (.case | test("pp=2,dp=2") and test("t0") and (test("@[0-9.]*e") | not))' sim --json

# Uses that a configuration file's parameters leave out are not in the sums.
list='"dp":2,"micro_batches":2,"precision":"fp32","params":[{"numel":9},{"numel":40'
first='"dp":2,"micro_batches":2,"precision":"fp32","params":[{"numel":40,"unused":[[1,0],[0,1]]}'
printf '{%s,{"numel":9}]}' "$first" >"$tmp/first.json"
printf '{%s}]}' "$list" >"$tmp/all.json"
printf '{%s,"unused":[[1,0],[0,1]]}]}' "$list" >"$tmp/mask.json"
printf '{%s,"unused_percent":60}]}' "$list" >"$tmp/share.json"
norm() { "$zp" sim --config "$1" --json | jq -r 'select(.verdict == "clean").steps[0].norm_bits'; }
for f in mask share; do
  a=$(norm "$tmp/all.json") b=$(norm "$tmp/$f.json")
  [ -n "$a" ] && [ -n "$b" ] && [ "$a" != "$b" ]
  verdict $? "${f}_takes_contributions_out_and_equals_serial" "norms $a and $b"
done
json a_masked_use_that_arrives_is_reported \
  '.verdict == "failed" and (.clauses | index("RED-6")) != null' \
  sim --config "$tmp/first.json" --fault ds545 --json
expect 2 'params\[1\].unused: \[1, 0\] is out of range; .* 0 to 0' a_mask_beyond_dp_is_refused \
  sim --config "$tmp/mask.json" --dp 1
for wrong in '"unused":3' '"unused":[3]' '"unused":[[1]]' '"unused":[[-1,0]]' '"unused":[[0,"x"]]' \
  '"unused_percent":100'; do
  printf '{"params":[{"numel":4,%s}]}' "$wrong" >"$tmp/wrong.json"
  expect 2 'params\[0\]\.unused' "refused_$wrong" sim --config "$tmp/wrong.json"
done

if command -v script >/dev/null; then # a terminal sees where a long run is
  script -qec "$zp sim --pp 4 --dp 4 --steps 16" "$tmp/tty" >/dev/null 2>&1
  grep -qE 'step [0-9]+ of 16' "$tmp/tty"
  verdict $? a_long_run_shows_its_progress_on_a_terminal
fi
"$zp" sim --pp 4 --dp 4 --steps 16 2>"$tmp/err" >"$tmp/out"
[ ! -s "$tmp/err" ]
verdict $? no_progress_without_a_terminal
json twenty_faults_or_more 'length >= 20 and all(.[]; .source != "" and .clause != "")' \
  sim --fault list --json
json a_clean_run_is_clean_for_machines '.verdict == "clean" and (.steps | length) == 2' \
  sim --dp 3 --pp 2 --steps 2 --json

# of the processor's time: other programs do not count
# shellcheck disable=SC3045 # dash has ulimit -t
(ulimit -t 1; "$zp" sim --fault pr7847 --json >"$tmp/pr" 2>&1)
code=$?
verdict "$([ $code -eq 1 ] && echo 0 || echo 1)" pr7847_takes_under_a_second "exit code $code"

"$zp" sim --fault ds545 --json >"$tmp/json" 2>&1
jq -en 'input | .verdict == "failed" and (.clauses | index("RED-6")) != null
       and all(.findings[]; .parameter >= 0 and .element >= 0)
       and any(.findings[]; .rank >= 0 and .micro_batch >= 0)' "$tmp/json" >/dev/null 2>&1
verdict $? findings_name_rank_micro_batch_parameter_and_element "$(head -c 200 "$tmp/json")"
exit $bad
