#!/bin/sh
# Parts of the judge by themselves: judge_parts_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema
# inputs: conformance/mutants.json
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/judge_parts_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/judge_parts_test.py "$@"
