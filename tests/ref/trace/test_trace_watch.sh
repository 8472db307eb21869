#!/bin/sh
# `zeroproof trace watch`, and the formats of `trace check`: watch_test.py.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/ref/trace/watch_test.py
# inputs: conformance/recorder/zeroproof_trace_file.py conformance/recorder/zeroproof_trace_exit.py
# inputs: conformance/recorder/zeroproof_trace_sites.py
. tests/fixtures/lib.sh
if ! command -v python3 >/dev/null; then
  echo "not run: ref/trace/test_trace_watch (needs python3)"
  exit 0
fi
exec python3 -B tests/ref/trace/watch_test.py "$zp" "$tmp"
