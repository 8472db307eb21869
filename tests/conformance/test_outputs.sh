#!/bin/sh
# Files that the judge cannot write: outputs_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/outputs_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/outputs_test.py "$@"
