#!/bin/sh
# The adapters' recorders: recorders_test.py, if the environments of PyTorch and DeepSpeed exist.
# inputs: tests/conformance/recorders_test.py conformance @venv:torch-2.13.0
# inputs: @venv:deepspeed-0.19.8
cd "$(dirname "$0")/../.." || exit 3
venvs=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}
code=0
run_in() { # run_in ENVIRONMENT [ARGUMENT]
  python=$venvs/$1/bin/python
  if ! [ -x "$python" ]; then
    echo "not run: the recorders in $1 (needs sh conformance/subject.sh $1)"
    return
  fi
  DS_ACCELERATOR=cpu DS_BUILD_OPS=0 "$python" -B tests/conformance/recorders_test.py $2 || code=1
}
run_in torch-2.13.0 ""
run_in deepspeed-0.19.8 deepspeed
exit $code
