#!/bin/sh
# What is committed about the subjects of the conformance suite: subjects_test.py.
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-build/zeroproof}
case $ZEROPROOF in /*) ;; *) ZEROPROOF=$PWD/$ZEROPROOF ;; esac
export ZEROPROOF
exec python3 -B tests/conformance/subjects_test.py
