#!/bin/sh
# Lists of known failures and of supported features: judge_known_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: conformance/ADAPTER.md
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/judge_known_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/judge_known_test.py "$@"
