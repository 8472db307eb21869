#!/bin/sh
# Hostile texts on the pages; and the page of all subjects in a browser, at 1440 and at 400 pixels,
# light and dark: page_test.py.
# inputs: build/zeroproof conformance/judge conformance/SPEC.md conformance/schema
# inputs: conformance/subjects.txt conformance/support conformance/known conformance/mutants.json
# inputs: conformance/adapters/selftest
# inputs: tests/conformance/lib.sh tests/conformance/selftest.py tests/conformance/preloaded.py
# inputs: tests/conformance/page_test.py
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/page_test.py "$@"
