#!/bin/sh
# The suite catches its mutants: mutants_test.py.
# inputs: build/zeroproof build/zeroproof-simdev tests/conformance conformance
. "$(dirname "$0")/lib.sh"
if ! [ -x "$(dirname "$ZEROPROOF")/zeroproof-simdev" ]; then
  echo "not run: mutants (needs zeroproof-simdev: make simdev-command)"
  exit 0
fi
exec python3 -B tests/conformance/mutants_test.py "$@"
