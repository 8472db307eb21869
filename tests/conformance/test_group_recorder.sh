#!/bin/sh
# The recording process group's test: group_recorder_test.py, where torch's environment is there.
cd "$(dirname "$0")/../.." || exit 3
python=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}/torch-2.13.0/bin/python
if ! [ -x "$python" ]; then
  echo "not run: the recorder of torch.distributed (sh conformance/subject.sh torch-2.13.0 makes it possible)"
  exit 0
fi
exec "$python" -B tests/conformance/group_recorder_test.py
