#!/bin/sh
# The recorder for torch.distributed, on gloo: a correct program, and programs in which one rank
# skips a collective or enters one with a different operation, count or reduction.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/drivers/trace/torch_*.py conformance/recorder
# inputs: @venv:torch-2.13.0
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
python=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}/torch-2.13.0/bin/python
if [ ! -x "$python" ]; then
  echo "not run: the recorder for PyTorch (needs sh conformance/subject.sh torch-2.13.0)"
  exit 0
fi

"$python" -W ignore -B tests/drivers/trace/torch_program.py "$tmp/run" \
  none skip op count redop sent >"$tmp/log" 2>&1
verdict $? the_program_ends "$(tail -n 3 "$tmp/log")"

recorded() { # recorded NAME FAULT CODE PATTERN
  "$zp" trace check "$tmp/run/$2" >"$tmp/out" 2>&1
  [ $? -eq "$3" ] && head -2 "$tmp/out" | grep -q "$4"
  verdict $? "$1" "$(cat "$tmp/out")"
}

recorded a_torch_program_that_fits none 0 'records of 3 ranks: consistent'
"$zp" trace view "$tmp/run/none" --out "$tmp/view.json" >/dev/null &&
  grep -q '"cat":"gradient","args":{"what":"all_reduce of 8 fp32"' "$tmp/view.json" &&
  grep -q '"cat":"norm","args":{"what":"all_reduce max of 6 fp32"' "$tmp/view.json" &&
  grep -q 'broadcast of 4 bf16 root 2' "$tmp/view.json"
verdict $? collectives_of_ddp_reductions_and_inference_mode_are_recorded
recorded a_skipped_collective_is_reported skip 1 \
  '^step 1, norm: rank 1 skipped broadcast of 6 fp32 root 0 .*; ranks 0, 2 are waiting for it$'
recorded a_different_operation_is_reported op 1 'rank 1 entered all_gather of 6 fp32'
recorded a_different_count_is_reported count 1 'rank 1 entered broadcast of 5 fp32'
grep -q 'recv of 4 fp32 from any source' "$tmp/view.json"
verdict $? receives_from_any_source_are_recorded
recorded a_different_count_sent_to_a_receive_from_any_source_is_reported sent 1 \
  '^step 1, norm: either rank 1 entered send of 3 fp32 to rank 0 .* with another count'
recorded a_different_reduction_is_reported redop 1 '^step 1, norm: rank 1 entered all_reduce min'

# An error of the recorder must not stop the program. Output goes through a pipe, because the
# program limits the size of files.
for rank in 0 1; do
  timeout 600 "$python" -W ignore -B tests/drivers/trace/torch_trouble.py \
    "$tmp/run" "$tmp/rendezvous-trouble" $rank 2>&1 |
    cat >"$tmp/trouble$rank" &
done
wait
[ "$(cat "$tmp/trouble0" "$tmp/trouble1" | grep -c '^alive')" = 2 ]
verdict $? a_program_continues_when_its_trace_cannot_be_written \
  "$(tail -n 2 "$tmp/trouble0" "$tmp/trouble1")"
[ "$(grep -c 'cannot write the trace of rank 1: .*File too large' "$tmp/trouble1")" = 1 ] &&
  ! grep -q 'File too large' "$tmp/trouble0" && [ "$(grep -c 'null/nowhere' "$tmp/trouble0")" = 1 ]
verdict $? a_failed_write_is_reported_once "$(cat "$tmp/trouble0" "$tmp/trouble1")"
recorded a_trace_ends_at_a_failed_write full 1 \
  '^rank 1 has a trace that stops after 1 record; rank 0 waits'
recorded a_phase_may_precede_the_process_group early 0 '^4 records of 2 ranks: consistent'
"$zp" trace view "$tmp/run/early" --out "$tmp/view.json" >/dev/null &&
  [ "$(grep -o '"cat":"load","args":{"what":"all_reduce' "$tmp/view.json" | wc -l)" = 2 ] &&
  [ "$(grep -o '"cat":"norm","args":{"what":"all_reduce' "$tmp/view.json" | wc -l)" = 2 ]
verdict $? that_phase_applies_to_the_first_record \
  "$(grep -c '"cat":"load"' "$tmp/view.json") records have phase load"
recorded the_dtype_of_a_scatter_is_recorded_on_receivers scatter 1 \
  'rank [01] entered scatter of 2 \(fp32\|i32\)'

# pip installs the recorder into a new environment that imports torch; two lines in a script use it.
install() {
  cp -r conformance/recorder "$tmp/recorder" && "$python" -m venv --without-pip "$tmp/venv" &&
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
      >"$(echo "$tmp"/venv/lib/python*/site-packages)/torch.pth" &&
    "$python" -m pip --python "$tmp/venv/bin/python" install -q --no-index --no-build-isolation \
      --no-deps "$tmp/recorder"
}
if "$python" -c 'import setuptools' 2>/dev/null; then
  install >"$tmp/log" 2>&1
  verdict $? pip_installs_the_recorder "$(tail -n 3 "$tmp/log")"
  rm -rf "$tmp/recorder"
  cat >"$tmp/script.py" <<'X'
import sys
import zeroproof_trace
zeroproof_trace.record(sys.argv[1])
import torch
import torch.distributed as dist
rank, rendezvous = int(sys.argv[3]), "file://" + sys.argv[2]
dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=2)
dist.all_reduce(torch.ones(5), op=dist.ReduceOp.MIN)
dist.destroy_process_group()
X
  for rank in 0 1; do
    (cd "$tmp" &&
      exec timeout 600 venv/bin/python -W ignore -B script.py two "$tmp/rendezvous" $rank) \
      >"$tmp/log$rank" 2>&1 &
  done
  wait
  "$zp" trace check "$tmp/two" >"$tmp/out" 2>&1 &&
    grep -q '^2 records of 2 ranks: consistent' "$tmp/out" &&
    "$zp" trace view "$tmp/two" --out "$tmp/view.json" >/dev/null &&
    [ "$(grep -o 'all_reduce min of 5 fp32' "$tmp/view.json" | wc -l)" = 2 ]
  verdict $? two_lines_in_a_script_record_it "$(cat "$tmp/out" "$tmp/log0" "$tmp/log1")"
else
  echo "not run: pip_installs_the_recorder (needs setuptools)"
fi
exit $bad
