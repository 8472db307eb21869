#!/bin/sh
# Options, selections of cases, pages of results: judge_options_test.py.
# inputs: build/zeroproof conformance/judge conformance/SPEC.md conformance/schema
# inputs: conformance/mutants.json
# inputs: conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/judge_options_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/judge_options_test.py "$@"
