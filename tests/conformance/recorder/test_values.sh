#!/bin/sh
# Values: the recorder for torch.distributed on gloo writes fingerprints, and trace check names the
# first step, tensor and ranks that differ, and where the difference came from.
# inputs: build/zeroproof build/libzeroproof.so.* tests/fixtures/lib.sh tests/drivers/trace/*.py
# inputs: build/libzeroproof_norm_simdev.so conformance/recorder @venv:torch-2.13.0
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
python=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}/torch-2.13.0/bin/python
if [ ! -x "$python" ]; then
  echo "not run: the recorder for PyTorch (needs sh conformance/subject.sh torch-2.13.0)"
  exit 0
fi
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
build=$(cd "$(dirname "$zp")" && pwd)
ZEROPROOF_LIBRARY=$(find "$build" -maxdepth 1 -name 'libzeroproof.so.*' | head -n 1)
ZEROPROOF_CUDA_LIBRARY=$build/libzeroproof_norm_simdev.so
export ZEROPROOF_LIBRARY ZEROPROOF_CUDA_LIBRARY
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1

timeout 900 "$python" -W ignore -B tests/drivers/trace/torch_values.py "$tmp/run" none clean \
  collectives weight declared every numbered gradient state unnamed result broadcast gather input \
  mesh sharded sent dealt redacted \
  >"$tmp/log" 2>&1
verdict $? the_programs_run_with_values "$(tail -n 5 "$tmp/log")"
! grep -q 'no longer recorded' "$tmp/log"
verdict $? no_fingerprint_failed "$(cat "$tmp/log")"

first() { # first NAME CASE PATTERN: of the first line, which names the cause
  expect 1 'records of 3 ranks: inconsistent, values differ between ranks' "$1" \
    trace check "$tmp/run/$2"
  sed -n 1p "$tmp/out" | grep -qE "$3"
  verdict $? "$1: first line" "no '$3' in: $(cat "$tmp/out")"
}
copy='; the results of all [0-9]+ collectives before agree: rank 2 changed its copy afterwards$'

expect 0 ': consistent \(order and shapes only\)$' without_values_only_shapes_are_judged \
  trace check "$tmp/run/none"
grep -q 'python -m zeroproof.trace --values N' "$tmp/out"
verdict $? the_option_for_values_is_named "$(cat "$tmp/out")"
expect 0 ': consistent \(order, shapes and [0-9]+ values\)$' equal_values_are_no_finding \
  trace check "$tmp/run/clean"
! grep -q -e --values "$tmp/out"
verdict $? with_values_it_is_not "$(cat "$tmp/out")"
expect 2 '--values is an option of the recorder' values_are_no_option_of_check \
  trace check "$tmp/run/clean" --values
json values_are_counted '.values > 110 and .good' trace check "$tmp/run/clean" --json
json collectives_alone_are_compared '.values > 10 and .values < 60 and .good' \
  trace check "$tmp/run/collectives" --json
first a_changed_weight_is_named weight "^step 3: parameter 0.weight differs: rank 2 holds another \
value than 2 ranks \(0, 1\) \(equal at step 2\)$copy"
first replicas_may_be_declared declared "^step 3: parameter 0.weight differs: rank 2 .*$copy"
first tensors_are_compared_every_n_steps every \
  "^step 4: parameter 0.weight differs: rank 2 .* \(equal at step 2\)$copy"
first steps_of_the_program_hold numbered "^step 103: parameter 0.weight differs: rank 2 .*$copy"
first a_gradient_precedes_the_parameter_that_it_changes gradient \
  "^step 3: gradient 1.bias differs: rank 2 .*$copy"
first a_state_is_compared state "^step 3: (parameter|exp_avg) 1.bias differs: rank 2 .*$copy"
expect 0 'values\)$' tensors_without_a_group_are_not_compared trace check "$tmp/run/unnamed"

first redacted_tensors_are_compared redacted \
  "^step 3: parameter [0-9a-f]{16} differs: rank 2 .*$copy"
! grep -q secret "$tmp"/run/redacted/rank-*.zpt
verdict $? redacted_traces_have_no_names_of_tensors "$(grep -ao '[ -~]*secret[ -~]*' \
  "$tmp"/run/redacted/rank-*.zpt)"
for part in 'gradient [0-9a-f]\{16\}' 'exp_avg_sq [0-9a-f]\{16\}' \
  '[0-9a-f]\{16\} [0-9a-f]\{16\}'; do
  grep -qa "$part" "$tmp/run/redacted/rank-0.zpt"
  verdict $? "they_have_hashes_instead: $part"
done

first replicas_on_a_mesh_are_compared mesh '^step 3: parameter group0.3 differs: rank 2 '
expect 0 'consistent' shards_are_not_compared trace check "$tmp/run/sharded"

first another_result_is_named result "^result of all_reduce sum of 11 fp32 \(number [0-9]+ in \
.* {0–2}\), .*torch_values.py:[0-9]+.* differs: rank 1 holds another value than \
2 ranks \(0, 2\)$"
first the_root_may_deviate broadcast "^result of broadcast of 12 fp32 root 1 .* differs: rank 0 \
holds another value than 2 ranks \(1, 2\), which hold what was passed in$"
first a_gathered_value_is_compared_with_the_inputs gather "^result of all_gather of 13 fp32 .* \
differs: rank 2 holds another value than 2 ranks \(0, 1\), which hold what was passed in$"
first a_changed_input_is_named input "^result of all_gather of 13 fp32 .* differs: the \
results agree, but are not what was passed in: an input changed after the operation was entered"
first a_changed_send_is_named sent "^result of send of 20 fp32 to group rank 1 \(number 0 from \
group rank 0 to 1 in 'default_pg'\), .*torch_values.py:[0-9]+.* differs: rank 1 received another \
value than rank 0 sent: the tensor changed after the send was entered"
json a_send_and_its_receive_are_named '[.findings[] | select(.kind == "value")] |
  length == 1 and .[0].ranks == [0, 1]' trace check "$tmp/run/sent" --json
first changed_parts_are_reported dealt "^result of all_to_all of 3 fp32 .* differs: the results \
together are not what was passed in: an input changed after the operation was entered"
json a_finding_has_its_kind_and_rank '[.findings[] | select(.kind == "value")] |
  length == 1 and .[0].rank == 1 and .[0].ranks == [1] and .[0].level == "error"' \
  trace check "$tmp/run/result" --json
differs() { # differs NAME RUN FILTER: of the finding, and of the cause
  json "$1" "([.findings[] | select(.kind == \"value\")][0] | $3) and
    (.cause[0] | $3) and (.cause[0].text | test(\"^step\") | not)" trace check "$tmp/run/$2" --json
}
differs a_parameter_has_its_step_and_name weight \
  '.step == 3 and .ranks == [2] and .value == {kind: "parameter", tensor: "0.weight"}'
differs so_has_a_gradient gradient '.step == 3 and .value == {kind: "gradient", tensor: "1.bias"}'
differs so_has_a_result result '.step == -1 and .ranks == [1] and .value.kind == "result"'
differs so_has_an_input input '.step == -1 and .value.kind == "input"'
json the_cause_names_the_operation '.cause[0] | (.op | test("^all_reduce sum .*11 fp32")) and
  (.site | test("torch_values.py")) and (.group | length > 0)' trace check "$tmp/run/result" --json

# other models and optimizers, on two ranks
models="sparse scattered unable stopped towers second_tower watched_twice twice mesh_optimizers
  second_mesh_optimizer second_optimizer alternating one_rank_between"
# shellcheck disable=SC2086 # words
timeout 900 "$python" -W ignore -B tests/drivers/trace/torch_models.py "$tmp/run" $models \
  >"$tmp/log" 2>&1
verdict $? the_models_are_trained "$(tail -n 5 "$tmp/log")"
on_two() { # on_two CODE NAME CASE PATTERN
  expect "$1" "$4" "$2" trace check "$tmp/run/$3"
}
on_two 1 a_sparse_gradient_does_not_end_the_values sparse \
  '^step 3: parameter linear.weight differs: .* \(equal at step 2\); the results of all'
on_two 0 values_that_no_other_rank_has_are_reported scattered \
  '^\(Values were recorded, but none that another rank must have, too.\)$'
! grep -q -e --values "$tmp/out"
verdict $? the_option_is_not_named_then "$(cat "$tmp/out")"
on_two 0 a_value_that_cannot_be_computed_ends_no_others unable 'shapes and 4 values\)$'
[ "$(grep -c 'a value is not recorded, nor are others like it: RuntimeError: pl' "$tmp/log")" = 1 ]
verdict $? it_is_reported_once "$(cat "$tmp/log")"
on_two 0 an_end_of_values_is_reported stopped "^warning: values of rank 1 end after its record \
[0-9]+ \(step 2\), by RuntimeError: the recorder could not record later ones"
[ "$(grep -c 'no longer recorded: RuntimeError: planned' "$tmp/log")" = 1 ]
verdict $? so_it_is_by_the_rank "$(cat "$tmp/log")"

on_two 0 models_with_the_same_names_are_apart towers 'shapes and [0-9]+ values\)$'
on_two 1 the_second_model_has_a_number second_tower \
  '^step 3: parameter 2:0.bias differs: .* \(equal at step 2\)'
on_two 1 a_model_that_is_watched_twice_keeps_its_names watched_twice \
  '^step 3: parameter 1.weight differs: .* \(equal at step 2\)'
on_two 0 several_values_of_a_step_are_compared twice 'shapes and [0-9]+ values\)$'
on_two 0 so_are_those_of_two_optimizers mesh_optimizers 'shapes and [0-9]+ values\)$'
on_two 1 the_second_optimizer_has_a_number second_mesh_optimizer \
  '^step 3: parameter 2:group0.0 differs: .* \(equal at step 2\)'
on_two 1 a_step_holds_for_all_optimizers second_optimizer \
  '^step 3: parameter 1.weight differs: .* \(equal at step 2\)'
on_two 1 what_follows_collectives_of_the_next_step_belongs_to_it alternating \
  '^step 4: parameter 2:0.bias differs: .* \(equal at step 3\)'
on_two 0 but_not_what_follows_operations_of_some_ranks one_rank_between \
  'shapes and [0-9]+ values\)$'

# without a library: a copy of the recorder outside a source tree
mkdir "$tmp/recorder"
cp conformance/recorder/*.py "$tmp/recorder"
refuses() { # refuses NAME LIBRARY PATTERN...
  name=$1
  ZEROPROOF_LIBRARY=$2 PYTHONPATH="$tmp/recorder" "$python" -W ignore -B -c "import zeroproof_trace
zeroproof_trace.record('$tmp/never', values=1)" >"$tmp/log" 2>&1
  status=$?
  shift 2
  for pattern in '^OSError: zeroproof: values cannot be recorded' 'make lib' "$@"; do
    grep -q "$pattern" "$tmp/log" || status=0
  done
  verdict $((!status)) "$name" "$(tail -n 1 "$tmp/log")"
}
refuses a_missing_library_names_where_it_was_searched '' 'ZEROPROOF_LIBRARY is not set' \
  'no .*/build/libzeroproof.so' 'package zeroproof is not installed'
refuses a_wrong_path_is_named /none/lib.so '/none/lib.so: cannot open .*(ZEROPROOF_LIBRARY)'
refuses so_is_another_library libm.so.6 'undefined symbol: zp_fingerprint_add (ZEROPROOF_LIBRARY)'
exit $bad
