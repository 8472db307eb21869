#!/bin/sh
# What is committed about the subjects of the conformance suite: subjects_test.py.
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/subjects_test.py
