#!/bin/sh
# mypy --strict on the package, for each Python that it supports: others than the one at hand are
# tried by this alone.
# inputs: python tests/fixtures/lib.sh tests/python/lib.sh conformance/locks build/libzeroproof.so.*
# inputs: @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
unset PYTHONPATH
if ! mypy=$(sh conformance/locks/venv.sh mypy mypy 2>"$tmp/err"); then
  echo "not run: python ${0##*/} ($(tail -n 1 "$tmp/err"))"
  exit 0
fi

typed() { # typed VERSION PYTHON FILE...: mypy with the packages of another Python
  version=$1
  shift
  "$mypy" -m mypy --config-file python/pyproject.toml --strict --cache-dir "$tmp/cache" \
    --python-version "$version" --python-executable "$@" >"$tmp/out" 2>&1
}

cp -r python/zeroproof "$tmp/zeroproof"
for version in 3.10 3.12 3.14; do
  # pytest is in mypy's environment, PyTorch in its own
  typed $version "$mypy" "$tmp/zeroproof/pytest_plugin.py" &&
    rm -f "$tmp/zeroproof/pytest_plugin.py" &&
    typed $version "$python" "$tmp"/zeroproof/*.py
  verdict $? types_are_right_for_python_$version "$(tail -n 4 "$tmp/out")"
  cp python/zeroproof/pytest_plugin.py "$tmp/zeroproof"
done
sed -i 's/-> tuple\[list\[int\], int\]:/-> list[int]:/' \
  "$tmp/zeroproof/_native.py"
typed 3.11 "$python" "$tmp/zeroproof/_native.py"
[ $? -eq 1 ]
verdict $? a_wrong_type_is_seen "$(cat "$tmp/out")"
exit "$bad"
