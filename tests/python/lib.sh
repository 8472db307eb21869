# Sourced by test_*.sh here, in the repository's root: sets python to that of PyTorch's environment,
# in which `import zeroproof` finds python/ with the library of this build.
. tests/fixtures/lib.sh
# shellcheck disable=SC2034 # python is the sourcing script's
if ! python=$(sh conformance/locks/venv.sh torch-2.13.0 torch-2.13.0 2>"$tmp/err"); then
  echo "not run: python ${0##*/} ($(tail -n 1 "$tmp/err"))"
  exit 0
fi
build=${ZP_BUILD:-build}
ZEROPROOF_LIBRARY=$(cd "$build" && echo "$PWD"/libzeroproof.so.*)
export ZEROPROOF_LIBRARY PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1
