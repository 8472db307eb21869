#!/bin/sh
# zeroproof.torch: the exact norm under layouts of 1 to 8 ranks; what is refused; three faults.
# inputs: build/libzeroproof.so.* python ref/num/exact.h tests/fixtures/lib.sh tests/python
# inputs: conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
"$python" -W ignore tests/python/norm_test.py
