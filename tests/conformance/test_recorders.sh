#!/bin/sh
# The adapters' recorders: recorders_test.py, where the environments of PyTorch and DeepSpeed are there.
cd "$(dirname "$0")/../.." || exit 3
venvs=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}
code=0
proven_in() { # proven_in ENVIRONMENT [ARGUMENT]
  python=$venvs/$1/bin/python
  if ! [ -x "$python" ]; then
    echo "not run: the recorders in $1 (sh conformance/subject.sh $1 makes it possible)"
    return
  fi
  DS_ACCELERATOR=cpu DS_BUILD_OPS=0 "$python" -B tests/conformance/recorders_test.py $2 || code=1
}
proven_in torch-2.13.0 ""
proven_in deepspeed-0.19.8 deepspeed
exit $code
