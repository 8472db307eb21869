#!/bin/sh
# The folder of an attempt: attempt_test.py.
# inputs: tests/fixtures/lib.sh tests/conformance/recorder/attempt_test.py
# inputs: conformance/recorder/zeroproof_trace_attempt.py
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
if ! command -v python3 >/dev/null; then
  echo "not run: conformance/recorder/test_attempt (needs python3)"
  exit 0
fi
python3 -B tests/conformance/recorder/attempt_test.py "$tmp"
