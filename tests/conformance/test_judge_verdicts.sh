#!/bin/sh
# Verdicts on correct adapters, missing evidence and hangs: judge_verdicts_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/judge_verdicts_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/judge_verdicts_test.py "$@"
