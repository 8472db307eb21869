#!/bin/sh
# Fetches the headers that cuda/ is compiled with into a cache outside the repository, once:
#   sh cuda/fetch_headers.sh nccl    CACHE/nccl-2.30.7/nccl.h
#   sh cuda/fetch_headers.sh cuda    CACHE/cuda-13.0/include, where no CUDA toolkit is installed
# CACHE is ZP_CACHE, or zeroproof in XDG_CACHE_HOME or ~/.cache; ZP_FETCH=0 forbids fetching. The
# files are NVIDIA's, from the wheels on PyPI, under NVIDIA's licences; they are compared with the
# digests below.
set -eu
cache=${ZP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zeroproof}

fail() {
  echo "fetch_headers: $*" >&2
  exit 1
}

. "$(dirname "$0")/wheel.sh"

headers() { # headers NAME VERSION SHA256: under $tmp/files
  wheel "$1" "$2" "$3" "$tmp/files" /include/ || fail "no headers of $1"
}

mkdir -p "$cache"
tmp=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

case ${1:-} in
nccl)
  [ -e "$cache/nccl-2.30.7/nccl.h" ] && exit 0
  headers nvidia-nccl-cu13 2.30.7 cefa7fdb9710efd0f39c5f1be1d61ff6fc9a996c451265bd7fbdcf9455ed4b50
  mkdir -p "$cache/nccl-2.30.7"
  mv "$tmp/files/nvidia/nccl/include/nccl.h" "$cache/nccl-2.30.7/nccl.h"
  ;;
cuda)
  [ -e "$cache/cuda-13.0/include/cuda_runtime_api.h" ] && exit 0
  headers nvidia-cuda-runtime 13.0.96 \
    7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
  headers nvidia-cuda-crt 13.0.88 \
    2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4
  headers nvidia-cuda-cccl 13.0.85 \
    e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649
  mkdir -p "$cache/cuda-13.0"
  rm -rf "$cache/cuda-13.0/include"
  mv "$tmp/files/nvidia/cu13/include" "$cache/cuda-13.0/include"
  ;;
*) fail "usage: fetch_headers.sh nccl|cuda" ;;
esac
