#!/bin/sh
# All that the judge starts ends with it: ends_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/ends_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/ends_test.py "$@"
