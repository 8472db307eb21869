#!/bin/sh
# The hostile run reports each injected defect, and the input that it saves shows it again.
# inputs: build/zeroproof tests/hostile
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-${ZP_BUILD:-build}/zeroproof} exec python3 -B tests/hostile/selftest.py
