#!/bin/sh
# Adapters that break the protocol: bad_test.py.
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/bad_test.py "$@"
