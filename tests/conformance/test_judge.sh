#!/bin/sh
# The conformance suite's own test: judge_test.py.
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/judge_test.py "$@"
