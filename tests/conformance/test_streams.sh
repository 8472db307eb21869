#!/bin/sh
# The race check of stream events, also on DeepSpeed if its environments exist: streams_test.py.
# inputs: build/zeroproof build/zeroproof-simdev* tests/conformance conformance @venv:torch-2.13.0
# inputs: @venv:deepspeed-0.19.2 @venv:deepspeed-0.19.8
. "$(dirname "$0")/lib.sh"
exec python3 -B tests/conformance/streams_test.py "$@"
