#!/bin/sh
# The schemas, and what is reported if a value does not conform or a library is missing.
# inputs: build/zeroproof conformance/judge conformance/schema conformance/known conformance/quick
# inputs: conformance/support conformance/mutants.json tests/conformance tests/hostile/mutate.py
# inputs: spec/*.md conformance/SPEC.md
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/schema_test.py "$@"
