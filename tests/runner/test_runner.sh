#!/bin/sh
# The runner of the tests and its stored verdicts: runner_test.py.
# inputs: tests/runner ref/engine/build_info.c ref/engine/build_info.h
exec python3 -B tests/runner/runner_test.py
