#!/bin/sh
# Each axis shows a bug that only its cases show: axes_test.py.
# inputs: build/zeroproof build/zeroproof-simdev tests/conformance conformance
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/axes_test.py "$@"
