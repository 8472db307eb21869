#!/bin/sh
# Failures are attributed to their cause, also on a slow machine: cause_test.py.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/known
# inputs: conformance/adapters/ranks.py conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/cause_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/cause_test.py "$@"
