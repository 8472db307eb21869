#!/bin/sh
# The pictures of `zeroproof trace view`: view_test.py.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/ref/trace/view_test.py
# inputs: conformance/recorder/zeroproof_trace_file.py conformance/recorder/zeroproof_trace_exit.py
. tests/fixtures/lib.sh
if ! command -v python3 >/dev/null; then
  echo "not run: ref/trace/test_trace_view (needs python3)"
  exit 0
fi
exec python3 -B tests/ref/trace/view_test.py "$zp" "$tmp"
