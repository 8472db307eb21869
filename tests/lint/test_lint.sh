#!/bin/sh
# The linter's rules, each with a planted violation.
# inputs: tests/lint .clang-format conformance/locks
exec python3 -B tests/lint/lint_test.py
