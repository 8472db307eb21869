#!/bin/sh
# The recorder for torch.distributed: a program on gloo whose trace fits, and one rank that skips a
# collective, enters another, with another count or operator.
cd "$(dirname "$0")/../.." || exit 3
. tests/cli/lib.sh
python=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}/torch-2.13.0/bin/python
if [ ! -x "$python" ]; then
  echo "not run: the recorder for PyTorch (no environment torch-2.13.0: conformance/subject.sh)"
  exit 0
fi

"$python" -W ignore -B tests/trace/torch_program.py "$tmp/run" none skip op count redop >"$tmp/log" 2>&1
verdict $? the_program_ends "$(tail -n 3 "$tmp/log")"

recorded() { # recorded NAME FAULT CODE PATTERN
  "$zp" trace check "$tmp/run/$2" >"$tmp/out" 2>&1
  [ $? -eq "$3" ] && head -1 "$tmp/out" | grep -q "$4"
  verdict $? "$1" "$(cat "$tmp/out")"
}

recorded a_torch_program_that_fits none 0 'records of 3 ranks: they fit'
"$zp" trace view "$tmp/run/none" --out "$tmp/view.json" >/dev/null &&
  grep -q '"cat":"gradient","args":{"what":"all_reduce 8 fp32"' "$tmp/view.json" &&
  grep -q '"cat":"norm","args":{"what":"all_reduce max 6 fp32"' "$tmp/view.json" &&
  grep -q 'broadcast 4 bf16 root 2' "$tmp/view.json"
verdict $? ddp_s_reducer_operators_and_inference_mode_are_seen
recorded a_skipped_collective skip 1 '^rank 1 ends its program after [0-9]* records, 1 fewer'
recorded another_op op 1 '^rank 1 enters all_gather 6 fp32'
recorded another_count count 1 '^rank 1 enters broadcast 5 fp32'
recorded another_operator redop 1 '^rank 1 enters all_reduce min'

if "$python" -c 'import setuptools' 2>/dev/null; then
  cp -r conformance/recorder "$tmp/recorder"
  "$python" -m pip install -q --no-index --no-build-isolation --no-deps --target "$tmp/site" \
    "$tmp/recorder" >"$tmp/log" 2>&1 &&
    (cd "$tmp" && PYTHONPATH=$tmp/site "$python" -B -c 'import zeroproof_trace as z; print(z.__file__)') |
    grep -q "$tmp/site"
  verdict $? pip_installs_it "$(tail -n 3 "$tmp/log")"
else
  echo "not run: pip install of the recorder (no setuptools)"
fi
exit $bad
