#!/bin/sh
# The committed lists of the conformance suite's subjects: subjects_test.py.
# inputs: build/zeroproof tests/conformance conformance Makefile
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/subjects_test.py
