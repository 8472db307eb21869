#!/bin/sh
# zeroproof.torch.Engine: the same bits on 1 to 4 ranks, torch's AdamW, and what is refused.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
"$python" -W ignore tests/python/engine_test.py || bad=1
"$python" -W ignore tests/python/optimizer_test.py || bad=1
"$python" -W ignore tests/python/state_test.py || bad=1
exit "$bad"
