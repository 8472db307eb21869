#!/bin/sh
# Stream logs, lists and reports that others may have written: untrusted_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/known conformance/support
# inputs: conformance/quick tests/conformance/lib.sh tests/conformance/selftest.py
# inputs: tests/conformance/untrusted_test.py tests/hostile/mutate.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/untrusted_test.py "$@"
