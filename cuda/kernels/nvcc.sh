#!/bin/sh
# Prints the command of an nvcc 13: $ZP_NVCC, the one on the path, or one from PyPI's wheels, which
# are fetched once (100 MB) into $ZP_CACHE (~/.cache/zeroproof); ZP_FETCH=0 forbids that.
#
#   nvcc.sh             the command; 1 when there is none, and why on stderr
#   nvcc.sh --flags     the flags that every kernel is compiled with (OPT-3)
#   nvcc.sh --packages  what Debian calls that which is missing to fetch one
set -u

if [ "${1:-}" = --flags ]; then
  echo "-std=c++17 -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true -Werror all-warnings"
  exit 0
fi

root=${ZP_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/zeroproof}/nvcc-13.0.88
tool=
if [ -n "${ZP_NVCC:-}" ]; then
  tool=$ZP_NVCC
elif nvcc --version 2>/dev/null | grep -q 'release 13\.'; then
  tool=$(command -v nvcc)
elif [ -e "$root/whole" ]; then
  tool=$root/nvidia/cu13/bin/nvcc
fi
pip=1
[ -n "$tool" ] || python3 -m pip --version >/dev/null 2>&1 || pip=0

if [ "${1:-}" = --packages ]; then
  [ $pip = 1 ] || echo python3-pip
  exit 0
fi
if [ -n "$tool" ]; then
  echo "$tool"
  exit 0
fi

no() { # no WHY
  echo "$1" >&2
  exit 1
}
[ "${ZP_FETCH:-1}" = 0 ] && no "nothing may be fetched: ZP_FETCH=0"
[ $pip = 1 ] || no "there is no pip to fetch one with"
rm -rf "$root"
mkdir -p "$root/wheels" || exit 1
# Versions that belong together: the compiler, its code generator, its headers, the runtime's.
python3 -m pip download --quiet --no-deps -d "$root/wheels" nvidia-cuda-nvcc==13.0.88 \
  nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 >&2 ||
  no "none could be fetched"
for wheel in "$root"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$root" || exit 1
done
rm -rf "$root/wheels"
tool=$root/nvidia/cu13/bin/nvcc
chmod a+x "$root"/nvidia/cu13/bin/* "$root"/nvidia/cu13/nvvm/bin/* # zipfile drops that
"$tool" --version >/dev/null || no "what was fetched does not run"
: >"$root/whole"
echo "$tool"
