#!/bin/sh
# The check of stream events: streams_test.py; and DeepSpeed's, where its environments are there.
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/streams_test.py "$@"
