#!/bin/sh
# Creates a subject's virtual environment and prints its Python: sh conformance/subject.sh NAME
#
# NAME: an environment of subjects.txt, or "usual": those that `make conformance` needs.
# Environments are in $ZP_VENVS (~/.cache/zeroproof/venv); an existing one is reused. The files
# locks/NAME.txt have all versions and hashes. torch takes a gigabyte, so the other environments
# import it from torch-2.13.0 through a .pth file.
set -eu
name=${1:?usage: subject.sh NAME}
venvs=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}
here=$(cd "$(dirname "$0")" && pwd)
torch=2.13.0
# PyPI has only the CUDA build of torch (5 GB). If pip finds no CPU build (200 MB) in its own index,
# this one file is downloaded; the hash in the lock is the same.
wheel=torch-$torch%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl

venv() {
  sh "$here/locks/venv.sh" "$@" >/dev/null
}

site() { # site ENVIRONMENT: the folder of its packages
  "$venvs/$1/bin/python" -c 'import site; print(site.getsitepackages()[0])'
}

link_torch() { # makes torch of torch-2.13.0 importable in the environment
  link=$(site "$name")/torch.pth
  [ -s "$link" ] || site "torch-$torch" >"$link"
}

venv "torch-$torch" "torch-$torch" || {
  export PIP_FIND_LINKS="${PIP_FIND_LINKS:-} https://download.pytorch.org/whl/cpu/$wheel"
  venv "torch-$torch" "torch-$torch"
}
case $name in
usual)
  awk '/^[^#]/ && $2 != "-" && $5 == "usual" { print $2 }' "$here/subjects.txt" | sort -u |
    xargs -n 1 sh "$0"
  exit
  ;;
torch-"$torch") ;;
*)
  awk -v name="$name" '$2 == name { found = 1 } END { exit !found }' "$here/subjects.txt" || {
    echo "subject.sh: unknown environment '$name'; see conformance/subjects.txt" >&2
    exit 2
  }
  case $name in
  # setuptools builds these
  deepspeed-* | fairscale-* | colossalai-*) venv "$name" setuptools "$name" ;;
  *) venv "$name" "$name" ;;
  esac
  link_torch
  ;;
esac
echo "$venvs/$name/bin/python"
