#!/bin/sh
# Adapters that break the protocol: bad_test.py.
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-build/zeroproof}
case $ZEROPROOF in /*) ;; *) ZEROPROOF=$PWD/$ZEROPROOF ;; esac
export ZEROPROOF
if ! command -v python3 >/dev/null; then
  echo "not run: the conformance suite (no python3)"
  exit 0
fi
exec python3 -B tests/conformance/bad_test.py "$@"
