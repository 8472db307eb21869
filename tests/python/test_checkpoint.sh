#!/bin/sh
# The state of zeroproof.torch.Engine as a dict, in torch.distributed.checkpoint and safetensors;
# faults planted in it are found.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0 @venv:safetensors
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
if ! other=$(sh conformance/locks/venv.sh safetensors safetensors 2>"$tmp/err"); then
  echo "not run: python ${0##*/} ($(tail -n 1 "$tmp/err"))"
  exit 0
fi
safetensors=$("$other" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
PYTHONPATH="$PWD/python:$safetensors" "$python" -W ignore tests/python/checkpoint_test.py || bad=1

fault() { # fault NAME SED: in _state.py; the quick checks must fail
  rm -rf "$tmp/python"
  cp -r python "$tmp/python"
  sed "$2" python/zeroproof/_state.py >"$tmp/python/zeroproof/_state.py"
  if cmp -s python/zeroproof/_state.py "$tmp/python/zeroproof/_state.py"; then
    verdict 1 "fault:$1" "sed changed nothing"
    return
  fi
  PYTHONPATH="$tmp/python:$safetensors" "$python" -W ignore tests/python/checkpoint_test.py \
    --quick >"$tmp/out" 2>&1
  [ $? -eq 1 ] && grep -q '^not ok' "$tmp/out"
  verdict $? "fault:$1" "$(tail -n 1 "$tmp/out")"
}

fault steps_are_not_set 's/native.resume(\*found.progress)/pass/'
fault moments_are_not_set 's/"master": master, \*\*moments/"master": master/'
fault parameters_keep_their_values 's/engine._parameters\[j\].data.copy_(master)/pass/'
fault ranks_are_not_compared 's/if digest != said\[0\]\[1\]/if False/'
fault bits_are_added_as_numbers 's/full.view(torch.int32)/full/'
fault buffers_keep_their_values 's/buffers\[name\].copy_(x)/pass/'
fault rates_keep_their_values 's/native.optimizer(number, engine._kinds/(engine._kinds/'
exit "$bad"
