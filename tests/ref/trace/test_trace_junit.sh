#!/bin/sh
# Reports of `zeroproof trace check --format junit` are valid by a schema: junit_test.py.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/fixtures/junit.xsd
# inputs: tests/ref/trace/junit_test.py tests/ref/trace/watch_test.py
# inputs: conformance/recorder/zeroproof_trace_file.py conformance/recorder/zeroproof_trace_exit.py
# inputs: conformance/recorder/zeroproof_trace_sites.py
# inputs: conformance/locks @venv:xmlschema
. tests/fixtures/lib.sh
if ! python=$(sh conformance/locks/venv.sh xmlschema xmlschema 2>"$tmp/err"); then
  echo "not run: ref/trace/test_trace_junit ($(tail -n 1 "$tmp/err"))"
  exit 0
fi
exec "$python" -B tests/ref/trace/junit_test.py "$zp" "$tmp"
