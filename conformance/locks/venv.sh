#!/bin/sh
# Creates a virtual environment and prints its Python: sh conformance/locks/venv.sh NAME LOCK...
#
# Its folder is $ZP_VENVS/NAME (~/.cache/zeroproof/venv/NAME). It holds the packages of the files
# LOCK.txt beside this script, and is reused until one of these files changes. pip installs exactly
# these packages, as wheels, each only with a hash that its lock lists. pip's settings stay the
# user's own: a mirror in PIP_INDEX_URL or pip.conf serves the same bytes.
# Exit codes: 2 there is no such lock; 3 pip or Python failed.
set -eu
# Packages without wheels on PyPI, installed from source archives with the locks' hashes. Their
# setup.py runs when they are installed.
#   deepspeed, fairscale, colossalai   publish source archives only
sdists=deepspeed,fairscale,colossalai

name=${1:?usage: venv.sh NAME LOCK...}
shift
locks=$(cd "$(dirname "$0")" && pwd)
venvs=${ZP_VENVS:-$HOME/.cache/zeroproof/venv}
dir=$venvs/$name

fail() { # fail CODE WHY
  echo "venv.sh: $name: $2" >&2
  exit "$1"
}

for lock in "$@"; do
  [ -f "$locks/$lock.txt" ] || fail 2 "there is no lock file $locks/$lock.txt"
done
digest=$(for lock in "$@"; do cat "$locks/$lock.txt"; done | sha256sum | cut -d' ' -f1)
mkdir -p "$venvs"
if command -v flock >/dev/null; then # two at the same time would install into one folder
  exec 9>"$venvs/$name.lock"
  flock 9
fi
if [ "$(cat "$dir/complete" 2>/dev/null)" != "$digest" ]; then
  rm -rf "${venvs:?}/$name"
  python3 -m venv "$dir" >&2 ||
    fail 3 "cannot create a virtual environment (Debian: install python3-venv)"
  # No build isolation: pip would install setuptools for it without a hash.
  for lock in "$@"; do
    # megatron-core 0.19.2 asks for Python 3.12, but has wheels for 3.11 and runs there.
    DS_BUILD_OPS=0 "$dir/bin/python" -m pip install --quiet --disable-pip-version-check \
      --ignore-requires-python --require-hashes --no-deps --only-binary :all: \
      --no-binary "$sdists" --use-pep517 --no-build-isolation -r "$locks/$lock.txt" >&2 ||
      fail 3 "cannot install the packages of $lock.txt: see pip's messages above"
  done
  echo "$digest" >"$dir/complete"
fi
echo "$dir/bin/python"
