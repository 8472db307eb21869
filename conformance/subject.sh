#!/bin/sh
# Makes a subject's virtual environment and prints its Python: sh conformance/subject.sh NAME|all
# NAME: torch-2.13.0, deepspeed-0.19.8, deepspeed-0.19.7, deepspeed-0.19.2, megatron-core-0.16.1. They live under
# $ZP_VENVS (~/.cache/zeroproof/venv); what is there is not made again. Every version is pinned:
# those of what the subjects need in constraints.txt.
#
# torch is a gigabyte: the other environments see that of torch-2.13.0 through a .pth file.
set -eu
name=${1:?usage: subject.sh NAME}
venvs=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}
constraints=$(cd "$(dirname "$0")" && pwd)/constraints.txt
torch=2.13.0

make_one() { # make_one NAME COMMAND...: a new environment, complete or not there
  [ -e "$venvs/$1/complete" ] && return
  mkdir -p "$venvs"
  rm -rf "${venvs:?}/$1"
  python3 -m venv "$venvs/$1" >&2 || {
    echo "subject.sh: no virtual environment can be made (Debian: apt-get install python3-venv)" >&2
    exit 3
  }
  dir=$venvs/$1
  shift
  "$@" >&2 || {
    echo "subject.sh: $name cannot be installed: see pip's words above" >&2
    exit 3
  }
  touch "$dir/complete"
}

pip() {
  "$dir/bin/pip" install -q -c "$constraints" "$@"
}

# The build for CPUs, 200 MB: from an index that pip knows of, or PyTorch's own; else with its
# gigabytes of CUDA.
install_torch() {
  pip "torch==$torch+cpu" numpy setuptools ||
    pip --extra-index-url https://download.pytorch.org/whl/cpu "torch==$torch+cpu" numpy \
      setuptools ||
    pip "torch==$torch" numpy setuptools
}

# The dependencies of DeepSpeed 0.19 without torch and what only its examples need.
install_deepspeed() { # VERSION
  see_torch
  DS_BUILD_OPS=0 pip numpy "deepspeed==$1"
}

install_megatron() { # VERSION
  see_torch
  pip packaging
  pip --no-deps "megatron-core==$1"
}

see_torch() {
  site=$("$dir/bin/python" -c 'import site; print(site.getsitepackages()[0])')
  "$venvs/torch-$torch/bin/python" -c 'import site; print(site.getsitepackages()[0])' \
    >"$site/torch.pth"
}

make_one "torch-$torch" install_torch
case $name in
all) # that subjects.txt names
  for one in $(awk '/^[^#]/ && $2 != "-" { print $2 }' "$(dirname "$0")/subjects.txt" | sort -u); do
    sh "$0" "$one"
  done
  exit
  ;;
torch-"$torch") ;;
deepspeed-*) make_one "$name" install_deepspeed "${name#deepspeed-}" ;;
megatron-core-*) make_one "$name" install_megatron "${name#megatron-core-}" ;;
*)
  echo "subject.sh: there is no subject '$name'" >&2
  exit 2
  ;;
esac
echo "$venvs/$name/bin/python"
