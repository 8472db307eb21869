#!/bin/sh
# The suite catches its mutants: mutants_test.py.
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-build/zeroproof}
case $ZEROPROOF in /*) ;; *) ZEROPROOF=$PWD/$ZEROPROOF ;; esac
export ZEROPROOF
if ! [ -x "$(dirname "$ZEROPROOF")/zeroproof-simdev" ]; then
  echo "not run: mutants of the CUDA engine, and the others (no zeroproof-simdev; make simdev-command)"
  exit 0
fi
if ! command -v python3 >/dev/null; then
  echo "not run: the conformance suite (no python3)"
  exit 0
fi
exec python3 -B tests/conformance/mutants_test.py "$@"
