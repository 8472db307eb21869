#!/bin/sh
# Shrinking stays within what a subject supports: rows_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/support
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py
# inputs: tests/conformance/rows_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/rows_test.py "$@"
