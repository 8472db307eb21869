#!/bin/sh
# Prints the command of an nvcc 13: $ZP_NVCC, the one on the path, or one from PyPI's wheels, which
# are fetched once (100 MB) into $ZP_CACHE (~/.cache/zeroproof); ZP_FETCH=0 forbids that.
#
#   nvcc.sh             the command; 1 if it is missing, and why on stderr
#   nvcc.sh --nvdisasm  the same for the disassembler: the one on the path, or a wheel's (5 MB)
#   nvcc.sh --flags     the flags that every kernel is compiled with (OPT-3); ZP_WERROR=0: warnings
#                       are not errors, for compilers of other versions
#   nvcc.sh --packages  the Debian package that is missing to fetch it
set -u

if [ "${1:-}" = --flags ]; then
  werror="-Werror all-warnings"
  [ "${ZP_WERROR:-1}" = 1 ] || werror=
  echo "-std=c++17 -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true $werror"
  exit 0
fi

cache=${ZP_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/zeroproof}
root=$cache/nvcc-13.0.88
look=$cache/nvdisasm-13.2.51

nvcc_here() {
  if [ -n "${ZP_NVCC:-}" ]; then
    echo "$ZP_NVCC"
  elif nvcc --version 2>/dev/null | grep -q 'release 13\.'; then
    command -v nvcc
  elif [ -e "$root/whole" ]; then
    echo "$root/nvidia/cu13/bin/nvcc"
  else
    return 1
  fi
}

nvdisasm_here() {
  command -v nvdisasm && return
  [ -e "$look/whole" ] && echo "$look/nvidia/cu13/bin/nvdisasm"
}

case ${1:-} in
--packages)
  { nvcc_here && nvdisasm_here; } >/dev/null || python3 -m pip --version >/dev/null 2>&1 ||
    echo python3-pip
  exit 0
  ;;
--nvdisasm) nvdisasm_here && exit 0 ;;
*) nvcc_here && exit 0 ;;
esac

# shellcheck disable=SC2034 # wheel.sh reads it
locks=$(dirname "$0")/../../conformance/locks
. "$(dirname "$0")/../wheel.sh"

no() { # no WHY
  echo "$1" >&2
  exit 1
}

# fetch FOLDER NAME VERSION ...: the wheels' tools, all of them or none
fetch() {
  folder=$1
  shift
  [ "$(uname -m)" = x86_64 ] || no "there is no wheel for this processor: install CUDA's nvcc"
  mkdir -p "$cache" && part=$(mktemp -d "$folder.XXXXXX") || exit 1
  trap 'rm -rf "$part"' EXIT
  while [ $# -gt 0 ]; do
    wheel "$1" "$2" "$part" || no "it is not installed, and could not be fetched"
    shift 2
  done
  chmod a+x "$part"/nvidia/cu13/bin/* # zip files have no mode
  [ ! -d "$part/nvidia/cu13/nvvm/bin" ] || chmod a+x "$part"/nvidia/cu13/nvvm/bin/*
  : >"$part/whole"
  rm -rf "$folder" && mv "$part" "$folder" || exit 1
}

if [ "${1:-}" = --nvdisasm ]; then
  fetch "$look" nvidia-cuda-nvdisasm 13.2.51
  tool=$look/nvidia/cu13/bin/nvdisasm
else
  # Versions that belong together: the compiler, its code generator, its headers, the runtime's.
  fetch "$root" \
    nvidia-cuda-nvcc 13.0.88 \
    nvidia-nvvm 13.0.88 \
    nvidia-cuda-crt 13.0.88 \
    nvidia-cuda-runtime 13.0.96
  tool=$root/nvidia/cu13/bin/nvcc
fi
"$tool" --version >/dev/null || no "the fetched program does not run"
echo "$tool"
