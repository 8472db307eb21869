#!/bin/sh
# Files that the judge reads and writes, and what it keeps in memory: files_test.py.
# inputs: build/zeroproof conformance/judge conformance/adapters/selftest conformance/ADAPTER.md
# inputs: conformance/recorder conformance/schema
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/files_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/files_test.py "$@"
