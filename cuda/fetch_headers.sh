#!/bin/sh
# Fetches the headers that cuda/ is compiled with into a cache outside the repository, once:
#   sh cuda/fetch_headers.sh nccl    CACHE/nccl-2.30.7/nccl.h
#   sh cuda/fetch_headers.sh cuda    CACHE/cuda-13.0/include, where no CUDA toolkit is installed
# CACHE is ZP_CACHE, or zeroproof in XDG_CACHE_HOME or ~/.cache; ZP_FETCH=0 forbids fetching. The
# files are NVIDIA's, from the wheels on PyPI, under NVIDIA's licences; pip compares
# them with the hashes of conformance/locks/nvidia.txt.
set -eu
cache=${ZP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zeroproof}

fail() {
  echo "fetch_headers: $*" >&2
  exit 1
}

# shellcheck disable=SC2034 # wheel.sh reads it
locks=$(dirname "$0")/../conformance/locks
. "$(dirname "$0")/wheel.sh"

headers() { # headers NAME VERSION: under $tmp/files
  wheel "$1" "$2" "$tmp/files" /include/ || fail "no headers of $1"
}

mkdir -p "$cache"
tmp=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

case ${1:-} in
nccl)
  [ -e "$cache/nccl-2.30.7/nccl.h" ] && exit 0
  headers nvidia-nccl-cu13 2.30.7
  mkdir -p "$cache/nccl-2.30.7"
  mv "$tmp/files/nvidia/nccl/include/nccl.h" "$cache/nccl-2.30.7/nccl.h"
  ;;
cuda)
  [ -e "$cache/cuda-13.0/include/cuda_runtime_api.h" ] && exit 0
  headers nvidia-cuda-runtime 13.0.96
  headers nvidia-cuda-crt 13.0.88
  headers nvidia-cuda-cccl 13.0.85
  mkdir -p "$cache/cuda-13.0"
  rm -rf "$cache/cuda-13.0/include"
  mv "$tmp/files/nvidia/cu13/include" "$cache/cuda-13.0/include"
  ;;
*) fail "usage: fetch_headers.sh nccl|cuda" ;;
esac
