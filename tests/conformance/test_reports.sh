#!/bin/sh
# zeroproof report, and the committed reports: reports_test.py. No subject is installed or run.
# inputs: build/zeroproof conformance tests/conformance/lib.sh tests/conformance/selftest.py
# inputs: tests/conformance/reports_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/reports_test.py "$@"
