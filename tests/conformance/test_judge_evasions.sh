#!/bin/sh
# Adapters that answer or record too little do not pass: judge_faults_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/judge_faults_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/judge_faults_test.py evasions
