#!/bin/sh
# The recorder for torch.distributed, on gloo: call sites, steps, phases, labels of groups, grouped
# calls by functions that were imported before the recorder, and how the process ended.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/drivers/trace/*.py conformance/recorder
# inputs: @venv:torch-2.13.0
cd "$(dirname "$0")/../../.." || exit 3
only='consistent \(order and shapes only\)$'
. tests/fixtures/lib.sh
python=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}/torch-2.13.0/bin/python
if [ ! -x "$python" ]; then
  echo "not run: the recorder for PyTorch (needs sh conformance/subject.sh torch-2.13.0)"
  exit 0
fi
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1

for rank in 0 1; do
  timeout 600 "$python" -W ignore -B tests/drivers/trace/torch_context.py \
    "$tmp" "$tmp/rendezvous" $rank >"$tmp/log$rank" 2>&1 &
done
wait
[ "$(cat "$tmp/log0" "$tmp/log1" | grep -c '^alive')" = 2 ]
verdict $? close_removes_the_hooks "$(tail -n 4 "$tmp/log0" "$tmp/log1")"
[ "$(grep -c 'DEPTH=two: not a number from 0 to 32' "$tmp/log0")" = 1 ]
verdict $? an_invalid_depth_is_reported_once "$(cat "$tmp/log0")"
[ "$(cat "$tmp/log0" "$tmp/log1" | grep -c '^described 1$')" = 2 ]
verdict $? a_record_in_the_backward_pass_is_described_once \
  "$(cat "$tmp/log0" "$tmp/log1" | grep described)"
"$python" -B tests/drivers/trace/torch_context_check.py "$tmp" >"$tmp/out" 2>&1 || bad=1
cat "$tmp/out"
grep -q '^ok a_compiled_optimizer_runs 1' "$tmp/out"
verdict $? all_traces_were_compared "$(tail -n 3 "$tmp/out")"

expect 0 "^[0-9]* records of 2 ranks: $only" a_batch_imported_before_is_judged \
  trace check "$tmp/by_name"
! grep -q cycle "$tmp/out"
verdict $? it_is_no_cycle "$(cat "$tmp/out")"

mkdir "$tmp/exit"
timeout 600 "$python" -W ignore -B tests/drivers/trace/torch_exit.py "$tmp/exit" \
  >"$tmp/out" 2>&1 || bad=1
cat "$tmp/out"
grep -q '^ok raises_system_exit' "$tmp/out"
verdict $? all_ways_to_end_were_tried "$(tail -n 3 "$tmp/out")"
timeout 900 "$python" -W ignore -B tests/drivers/trace/torch_children.py "$tmp/children" \
  >"$tmp/out" 2>&1 || bad=1
cat "$tmp/out"
grep -q '^ok forkserver_raises' "$tmp/out"
verdict $? all_start_methods_were_tried "$(tail -n 3 "$tmp/out")"
exit $bad
