#!/bin/sh
# The check of stream events: streams_test.py; and DeepSpeed's, where its environments are there.
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-build/zeroproof}
case $ZEROPROOF in /*) ;; *) ZEROPROOF=$PWD/$ZEROPROOF ;; esac
export ZEROPROOF
if ! command -v python3 >/dev/null; then
  echo "not run: the check of stream events (no python3)"
  exit 0
fi
exec python3 -B tests/conformance/streams_test.py "$@"
