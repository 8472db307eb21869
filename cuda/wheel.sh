# For the scripts that fetch NVIDIA's headers and tools from PyPI; they source it.
#
#   wheel NAME VERSION SHA256 FOLDER [PART]   unpacks the wheel's files, those with PART in their
#                                             names, into FOLDER; 1 when not, and why on stderr
# ZP_FETCH=0 forbids it. One platform's wheels on every machine, so that one digest is enough.

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
  python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 \
    --platform manylinux_2_18_x86_64 --platform manylinux2014_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2010_x86_64 \
    --dest "$new" "$1==$2" 2>"$new/log" ||
    { cat "$new/log" >&2; echo "pip could not download $1 $2" >&2; exit 1; }
  for file in "$new"/*.whl; do
    if ! echo "$3  $file" | sha256sum --check --status -; then
      echo "${file##*/} is not the file that was expected" >&2
      exit 1
    fi
    python3 - "$file" "$4" "${5:-}" <<'PYTHON'
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if sys.argv[3] in n])
PYTHON
  done
)
