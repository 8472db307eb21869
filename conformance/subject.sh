#!/bin/sh
# Creates a subject's virtual environment and prints its Python: sh conformance/subject.sh NAME|all
#
# NAME: torch-2.13.0, deepspeed-0.19.8, deepspeed-0.19.7, deepspeed-0.19.2, megatron-core-0.16.1.
# Environments are in $ZP_VENVS (~/.cache/zeroproof/venv); an existing one is reused. All versions
# are pinned, those of the dependencies in constraints.txt. torch takes a gigabyte, so the other
# environments import it from torch-2.13.0 through a .pth file.
set -eu
name=${1:?usage: subject.sh NAME}
venvs=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}
constraints=$(cd "$(dirname "$0")" && pwd)/constraints.txt
torch=2.13.0

make_one() { # make_one NAME COMMAND...: creates an environment unless a complete one exists
  [ -e "$venvs/$1/complete" ] && return
  mkdir -p "$venvs"
  rm -rf "${venvs:?}/$1"
  python3 -m venv "$venvs/$1" >&2 || {
    echo "subject.sh: cannot create a virtual environment (Debian: install python3-venv)" >&2
    exit 3
  }
  dir=$venvs/$1
  shift
  "$@" >&2 || {
    echo "subject.sh: cannot install $name: see pip's messages above" >&2
    exit 3
  }
  touch "$dir/complete"
}

pip() {
  "$dir/bin/pip" install -q -c "$constraints" "$@"
}

# Prefers the CPU build (200 MB), from pip's index or PyTorch's; otherwise takes the CUDA build.
install_torch() {
  pip "torch==$torch+cpu" numpy setuptools ||
    pip --extra-index-url https://download.pytorch.org/whl/cpu "torch==$torch+cpu" numpy \
      setuptools ||
    pip "torch==$torch" numpy setuptools
}

install_deepspeed() { # VERSION
  link_torch
  DS_BUILD_OPS=0 pip numpy "deepspeed==$1"
}

install_megatron() { # VERSION
  link_torch
  pip packaging
  pip --no-deps "megatron-core==$1"
}

link_torch() { # makes torch of torch-2.13.0 importable in $dir
  site=$("$dir/bin/python" -c 'import site; print(site.getsitepackages()[0])')
  "$venvs/torch-$torch/bin/python" -c 'import site; print(site.getsitepackages()[0])' \
    >"$site/torch.pth"
}

make_one "torch-$torch" install_torch
case $name in
all) # all environments of subjects.txt
  for one in $(awk '/^[^#]/ && $2 != "-" { print $2 }' "$(dirname "$0")/subjects.txt" | sort -u); do
    sh "$0" "$one"
  done
  exit
  ;;
torch-"$torch") ;;
deepspeed-*) make_one "$name" install_deepspeed "${name#deepspeed-}" ;;
megatron-core-*) make_one "$name" install_megatron "${name#megatron-core-}" ;;
*)
  echo "subject.sh: unknown environment '$name'; see conformance/subjects.txt" >&2
  exit 2
  ;;
esac
echo "$venvs/$name/bin/python"
