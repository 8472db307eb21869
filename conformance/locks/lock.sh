#!/bin/sh
# Writes the lock files of this folder: sh conformance/locks/lock.sh [NAME...]
#
# To change a version, edit it below and run this. It resolves for CPython 3.11 on x86-64 Linux
# (Debian 12), and writes the hashes of all wheels of each version; versions that are not named
# below stay as they are (UPGRADE=1: takes the newest). It uses PyPI, or UV_DEFAULT_INDEX or
# PIP_INDEX_URL; for torch's CPU build PyTorch's page, or UV_FIND_LINKS or PIP_FIND_LINKS.
set -eu
cd "$(dirname "$0")"
only=" $* "
index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-}}
links=${UV_FIND_LINKS:-${PIP_FIND_LINKS:-https://download.pytorch.org/whl/cpu/torch/}}
python=$(sh venv.sh uv uv)
uv=${python%python}uv
sdists=$(sed -n 's/^sdists=//p' venv.sh)
version=3.11
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# What environments import from that of torch.
printf '%s\n' torch numpy typing-extensions >"$tmp/excluded"

lock() { # lock NAME OPTION... -- REQUIREMENT...
  name=$1
  shift
  case $only in "  " | *" $name "*) ;; *) return 0 ;; esac
  options=
  while [ "$1" != -- ]; do
    options="$options $1"
    shift
  done
  shift
  printf '%s\n' "$@" >"$tmp/$name"
  if [ "${UPGRADE:-0}" = 1 ]; then options="$options --upgrade"; fi
  # shellcheck disable=SC2086 # a list of options
  DS_BUILD_OPS=0 "$uv" pip compile --quiet --generate-hashes --only-binary :all: \
    --no-binary "$sdists" --python-version "$version" --python-platform x86_64-manylinux_2_28 \
    ${index:+--default-index "$index"} $options --no-annotate \
    --custom-compile-command "sh conformance/locks/lock.sh $name" -o "$name.txt" "$tmp/$name"
}

lock uv -- uv==0.13.9
lock ruff -- ruff==0.17.6
lock cyclonedx -- cyclonedx-bom==7.5.0 'cyclonedx-python-lib[json-validation]==11.12.0'
# what builds and checks the wheel of python/, and what its tests need
lock wheel -- ziglang==0.17.1 hatchling==1.33.0 cmake==4.4.5 auditwheel==6.8.2 twine==7.0.0
# the extra zeroproof[check]: libraries of the judge
lock check -- jinja2==3.1.6 jsonschema==4.26.0
# checks the JUnit reports of `trace check` against tests/fixtures/junit.xsd
lock xmlschema -- xmlschema==4.3.2
lock mypy -- mypy==2.4.1 pytest==9.2.0
lock pytest -- pytest==9.2.0 pytest-xdist==3.8.0
# the plot of python/examples/compare.py
lock matplotlib --excludes "$tmp/excluded" -- matplotlib==3.11.2
# what zeroproof.torch.Engine.save_safetensors needs
lock safetensors --no-deps -- safetensors==0.8.0
lock setuptools -- setuptools==84.2.1
lock torch-2.13.0 --find-links "$links" -- torch==2.13.0+cpu numpy==2.3.5 setuptools==84.2.1
for release in 0.19.2 0.19.7 0.19.8; do
  lock deepspeed-$release --excludes "$tmp/excluded" -- deepspeed==$release
done
lock megatron-core-0.16.1 --no-deps -- megatron-core==0.16.1 einops==0.8.2 packaging==26.3 \
  psutil==7.2.2
lock accelerate-1.15.0 --excludes "$tmp/excluded" -- accelerate==1.15.0
lock transformers-5.23.0 --excludes "$tmp/excluded" -- transformers==5.23.0 accelerate==1.15.0
lock megatron-fsdp-0.6.1 --excludes "$tmp/excluded" -- megatron-fsdp==0.6.1
lock paddlepaddle-3.3.1 --excludes "$tmp/excluded" -- paddlepaddle==3.3.1
# it pins an older torch; the adapter replaces what else it imports
lock colossalai-0.5.0 --no-deps -- colossalai==0.5.0 einops==0.8.2 packaging==26.3 \
  psutil==7.2.2 safetensors==0.8.0
# only what its clipping imports
lock torchtitan-0.3.0 --no-deps -- torchtitan==0.3.0 spmd-types==0.2.3 tyro==1.0.17 \
  docstring-parser==0.18.0
lock fairscale-0.4.13 --excludes "$tmp/excluded" -- fairscale==0.4.13
# Headers and tools of CUDA, which cuda/wheel.sh unpacks.
lock nvidia --no-deps -- nvidia-cuda-cccl==13.0.85 nvidia-cuda-crt==13.0.88 \
  nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.2.51 nvidia-cuda-runtime==13.0.96 \
  nvidia-nccl-cu13==2.30.7 nvidia-nvvm==13.0.88
# Its metadata asks for Python 3.12, but it has wheels for 3.11 and runs there (venv.sh).
version=3.12
lock megatron-core-0.19.2 --no-deps -- megatron-core==0.19.2 einops==0.8.2 packaging==26.3 \
  psutil==7.2.2 triton==3.9.0
