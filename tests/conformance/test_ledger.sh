#!/bin/sh
# The judge of ledgers on random small programs: ledger_test.py.
# inputs: tests/conformance conformance
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/ledger_test.py "$@"
