# For the scripts that fetch NVIDIA's headers and tools from PyPI; they source it.
#
#   wheel NAME VERSION FOLDER [PART]   unpacks the wheel's files, those with PART in their names,
#                                      into FOLDER; 1 when not, and why on stderr
# $locks/nvidia.txt has the versions and their hashes; the sourcing script sets $locks. ZP_FETCH=0
# forbids fetching. One platform's wheels on every machine.
# shellcheck disable=SC2154 # locks is the sourcing script's

wheel() (
  if [ "${ZP_FETCH:-1}" = 0 ]; then
    echo "nothing may be fetched: ZP_FETCH=0" >&2
    exit 1
  fi
  if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "python3 with pip is needed to fetch $1: install python3-pip" >&2
    exit 1
  fi
  new=$(mktemp -d) || exit 1
  trap 'rm -rf "$new"' EXIT
  echo "fetching $1 $2 (once)" >&2
  # the version's line and those of its digests
  awk -v name="$1==$2" '/^[^ ]/ { own = $1 == name } own' "$locks/nvidia.txt" >"$new/lock" || exit 1
  [ -s "$new/lock" ] || { echo "$locks/nvidia.txt has no $1 $2" >&2; exit 1; }
  python3 -m pip download --quiet --require-hashes --no-deps --only-binary :all: \
    --python-version 3.11 --platform manylinux_2_18_x86_64 --platform manylinux2014_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2010_x86_64 \
    --dest "$new" -r "$new/lock" 2>"$new/log" ||
    { cat "$new/log" >&2; echo "pip could not download $1 $2" >&2; exit 1; }
  python3 - "$new"/*.whl "$3" "${4:-}" <<'PYTHON'
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if sys.argv[3] in n])
PYTHON
)
