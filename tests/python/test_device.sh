#!/bin/sh
# zeroproof.torch.Engine(engine="cuda") on simdev: one rank from Python, and what Python calls on 1
# to 4 ranks, replayed by C programs: the bits of the reference.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so build/libzeroproof_engine_simdev.so
# inputs: build/tests/drivers/cuda/api_replay python tests/fixtures/lib.sh tests/python
# inputs: conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
ZEROPROOF_CUDA_ENGINE=$(cd "$build" && echo "$PWD/libzeroproof_engine_simdev.so")
export ZEROPROOF_CUDA_ENGINE
replay=$build/tests/drivers/cuda/api_replay
"$python" -W ignore tests/python/device_test.py "$replay" || bad=1
for fault in gradient loss; do
  "$python" -W ignore tests/python/device_test.py "$replay" $fault >"$tmp/out"
  [ $? -eq 1 ] && grep -q 'number [14] of the state' "$tmp/out"
  verdict $? "a_replay_of_another_${fault}_is_found" "$(tail -n 1 "$tmp/out")"
done
exit "$bad"
