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
packages=$("$other" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
check tests/python/checkpoint_test.py

state_fault() { # state_fault NAME SED: in _state.py; the quick checks must fail
  fault "$1" _state.py "$2" tests/python/checkpoint_test.py --quick
}

state_fault steps_are_not_set 's/native.resume(\*found.progress)/pass/'
state_fault moments_are_not_set 's/"master": master, \*\*moments/"master": master/'
state_fault parameters_keep_their_values 's/engine._parameters\[j\].data.copy_(master)/pass/'
state_fault ranks_are_not_compared 's/if digest != said\[0\]\[1\]/if False/'
state_fault bits_are_added_as_numbers 's/full.view(torch.int32)/full/'
state_fault buffers_keep_their_values 's/buffers\[name\].copy_(x)/pass/'
state_fault rates_keep_their_values 's/native.optimizer(number, engine._kinds/(engine._kinds/'
run_checks
exit "$bad"
