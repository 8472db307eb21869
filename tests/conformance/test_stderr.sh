#!/bin/sh
# Standard error of the judge that cannot be written: stderr_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/stderr_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/stderr_test.py "$@"
