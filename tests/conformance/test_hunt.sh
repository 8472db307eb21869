#!/bin/sh
# The hunt for new failures, and the comparison of seeds and loads: hunt_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: conformance/SPEC.md
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/hunt_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/hunt_test.py "$@"
