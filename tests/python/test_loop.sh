#!/bin/sh
# Loops around zeroproof.torch.Engine: torch.compile, several engines in a process, `with`, losses;
# the scripts of python/TRAINING.md.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
"$python" -W ignore tests/python/loop_test.py || bad=1
"$python" -W ignore tests/python/training_test.py python/TRAINING.md || bad=1
exit "$bad"
