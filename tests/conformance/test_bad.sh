#!/bin/sh
# Adapters that violate the protocol: bad_test.py.
# inputs: build/zeroproof build/zeroproof-simdev tests/conformance conformance
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/bad_test.py "$@"
