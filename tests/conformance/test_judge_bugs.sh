#!/bin/sh
# Historic bugs of adapters are reported with the right verdict: judge_faults_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/judge_faults_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/judge_faults_test.py bugs buckets
