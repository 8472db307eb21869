#!/bin/sh
# The hostile run reports each injected defect, and the input that it saves shows it again. Every
# sample is accepted before it is changed.
# inputs: build/zeroproof build/zeroproof-simdev* tests/hostile conformance/judge
# inputs: conformance/schema conformance/known conformance/support conformance/quick
# inputs: conformance/mutants.json spec/*.md
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-${ZP_BUILD:-build}/zeroproof} exec python3 -B tests/hostile/selftest.py
