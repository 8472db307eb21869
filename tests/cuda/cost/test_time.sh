# `zeroproof plan --time`: its report, its pictures, refused machines and options, and the table in
# cuda/cost/README.md.
# inputs: build/zeroproof build/zeroproof-simdev tests/fixtures/lib.sh cuda/cost
. tests/fixtures/lib.sh

job='plan --time --dp 8 --micro-batches 2'
# shellcheck disable=SC2086 # words
expect 0 '^  efficiency +0\.[0-9]+ ' a_report_is_printed $job
# shellcheck disable=SC2086
json the_report_is_consistent '.step_seconds >= .bound_seconds and
  .bound_seconds == ([.compute_seconds, .communication_seconds, .memory_seconds] | max) and
  (.efficiency - .bound_seconds / .step_seconds | fabs) < 1e-9 and .sums == "native" and
  .exposed_seconds >= 0 and .exposed_seconds < .step_seconds and
  (.figures | length) == 18 and all(.figures[]; .source != "")' $job --json
# shellcheck disable=SC2086
json twice_the_tokens_are_twice_the_compute '.tokens == 8192 and .compute_seconds > 1.1' \
  $job --tokens 8192 --json
json ordered_sums_are_timed '.sums == "ordered"' plan --time --sums ordered --dp 4 --json
json exact_sums_are_timed '.sums == "exact"' plan --time --sums exact --dp 4 --json
json reduce_is_obeyed '.sums == "exact"' plan --time --reduce exact --dp 4 --json
# copies leave during backward: only the last bucket's are exposed, not those of all
json offload_hides_copies_of_gradients '.offload and .host_seconds > 0.05 and
  .offload_exposed_seconds <= 1.1 * .offload_least_seconds' \
  plan --time --offload --dp 64 --micro-batches 4 --bucket 40000000 --json
json the_host_is_a_bound '.bound_seconds == .host_seconds and .host_seconds > .compute_seconds' \
  plan --time --offload --dp 2 --tokens 64 --json
expect 0 'copies from the host' offload_is_printed plan --time --offload --dp 8
expect 2 '--offload: needs --time' offload_needs_time plan --offload
expect 0 'launch orders +[0-9.]+ ms chained, [0-9.]+ implicit' both_launch_orders_are_printed \
  plan --time --pp 4 --dp 8
json both_launch_orders_are_in_json '.step_seconds as $s |
  .step_seconds_by_launch_order == {chained: $s, implicit: $s}' plan --time --pp 4 --dp 8 --json
json one_stage_has_no_launch_order 'has("step_seconds_by_launch_order") | not' \
  plan --time --dp 2 --json
json stages_are_simulated '.pp == 4 and any(.work[]; .work == "exchanges of stages")' \
  plan --time --pp 4 --dp 2 --micro-batches 8 --json
json many_ranks_are_simulated '.dp == 131072' plan --time --dp 131072 --json

# shellcheck disable=SC2086
expect 0 'wrote .*step.svg' a_picture_is_drawn $job --svg "$tmp/step.svg" --trace "$tmp/step.json"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$tmp/step.svg"
verdict $? the_picture_is_xml
jq -e '[.traceEvents[] | select(.ph == "X")] | length > 100 and all(.[]; .dur > 0 and .ts >= 0)' \
  "$tmp/step.json" >/dev/null
verdict $? the_trace_has_slices
# shellcheck disable=SC2086
expect 3 'cannot|No such' a_picture_that_cannot_be_written $job --svg /nowhere/step.svg

# a job whose graph does not fit
# shellcheck disable=SC3045 # dash has ulimit -v
fits() { (ulimit -v 1500000 && "$zp" "$@"); }
fits plan --time --dp 8 --micro-batches 64 --bucket 100000 >"$tmp/out" 2>&1
[ $? -eq 2 ] && grep -q 'MiB are free. Use larger buckets' "$tmp/out"
verdict $? a_job_that_does_not_fit "$(head -c 300 "$tmp/out")"

expect 2 '--machine: needs --time' options_need_time plan --machine x.json
expect 2 'not a whole number' no_tokens plan --time --tokens 0
expect 2 'not one of: native ordered exact' no_sums plan --time --sums fast
expect 2 '--sums: native contradicts reduce exact' two_sums \
  plan --time --sums native --reduce exact
expect 2 'at ZeRO stages 0 and 1 at most' too_many_buckets \
  plan --time --stage 1 --dp 8 --bucket 10000
expect 0 'it DOES NOT FIT: a GPU has 141 GB' memory_is_compared \
  plan --time --stage 1 --sums exact --dp 8
expect 0 'between tensor-parallel ranks is left out' what_is_left_out plan --time --tp 2 --dp 2
expect 2 '--time: is not for --check' no_check plan --time --check

machine() { # machine NAME JQ-FILTER PATTERN: the cluster's file, changed
  jq "$2" cuda/cost/machines/h200-cluster.json >"$tmp/machine.json"
  expect 2 "$3" "$1" plan --time --dp 2 --machine "$tmp/machine.json"
}
machine a_figure_is_missing 'del(.figures.link)' 'figures.link: expected an object'
machine another_unit '.figures.link.unit = "GB/s"' 'figures.link.unit: expected "B/s"'
machine no_value '.figures.link.value = 0' 'figures.link.value: expected a number from'
machine a_share_above_one '.figures.comm_compute.value = 1.5' 'from 1e-12 to 1$'
machine no_source '.figures.link.source = ""' 'figures.link.source: expected a text'
machine a_misspelt_figure '.figures.lnik = .figures.link' 'figures.lnik: expected no field'
machine a_misspelt_field '.figures.link.valeu = 1' 'figures.link.valeu: expected no field'
machine a_name_of_two_lines '.name = "a\nb"' 'name: expected a text of 1 to 319 bytes, on one line'
machine no_capacity 'del(.capacity)' 'capacity: expected a number'
machine no_nodes '.nodes = 0' 'nodes: expected an integer from 1'
machine too_few_nodes '.nodes = 1 | .ranks_per_node = 1' 'has 1 ranks .* the job 2'
echo '{' >"$tmp/machine.json"
expect 2 'machine.json:[0-9]+: ' no_json plan --time --dp 2 --machine "$tmp/machine.json"
expect 2 'No such file' no_file plan --time --machine "$tmp/nothing.json"
cp cuda/cost/machines/h200-node.json "$tmp/machine.json"
for to in svg trace; do
  expect 2 "--$to .*would overwrite the input" "a_machine_is_spared_by_$to" \
    plan --time --dp 2 --machine "$tmp/machine.json" "--$to" "$tmp/machine.json"
done
cmp -s cuda/cost/machines/h200-node.json "$tmp/machine.json"
verdict $? the_machine_is_unchanged
expect 0 'one node of 8 H200' the_node_is_a_machine \
  plan --time --dp 8 --machine cuda/cost/machines/h200-node.json

sed -n '/^<!-- reference -->$/,/^<!-- end -->$/p' cuda/cost/README.md | sed '1d;$d' >"$tmp/written"
sh cuda/cost/reference.sh "$zp" >"$tmp/now" && cmp "$tmp/written" "$tmp/now" >"$tmp/out" 2>&1
verdict $? the_table_is_what_the_model_says "$(cat "$tmp/out")"
finish
