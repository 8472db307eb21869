# zeroproof sim: planted faults and clean runs, as a person and a machine see them.
# spec: STAT-1, LEDG-7, RED-3, RED-6, PIPE-6
. tests/cli/lib.sh

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
expect 0 'no coded gradients: D.*256' too_many_contributions_for_codes sim --dp 64 --pp 2
expect 0 'pr7847 +STAT-1' faults_are_listed sim --fault list
expect 2 'there is no fault' unknown_fault_is_refused sim --fault pr9999
expect 2 'steps: 33' too_many_steps_are_refused sim --steps 33
expect 2 'groups: 2 numbers for 3 stages' groups_of_other_stages_are_refused sim --pp 3 --groups 1,2
expect 2 'field with a value' a_case_with_nonsense_is_refused sim --case pp=2,nonsense=3
json twenty_faults_or_more 'length >= 20 and all(.[]; .source != "" and .clause != "")' \
  sim --fault list --json
json a_clean_run_is_clean_for_machines '.verdict == "clean" and (.steps | length) == 2' \
  sim --dp 3 --pp 2 --steps 2 --json

start=$(date +%s%N)
"$zp" sim --fault pr7847 --json >"$tmp/pr" 2>&1
took=$((($(date +%s%N) - start) / 1000000))
verdict "$([ $took -lt 1000 ] && echo 0 || echo 1)" pr7847_takes_under_a_second "$took ms"

"$zp" sim --fault ds545 --json >"$tmp/json" 2>&1
jq -e '.verdict == "failed" and (.clauses | index("RED-6")) != null
       and all(.findings[]; .parameter >= 0 and .element >= 0)
       and any(.findings[]; .rank >= 0 and .micro_batch >= 0)' "$tmp/json" >/dev/null 2>&1
verdict $? findings_name_rank_micro_batch_parameter_and_element "$(head -c 200 "$tmp/json")"
exit $bad
