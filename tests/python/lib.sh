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

# fault NAME FILES SED SCRIPT [ARGUMENT...]: with SED applied to each of FILES of the package (one
# word each) a check of SCRIPT must fail. packages: what else is in PYTHONPATH.
fault() {
  named=$1
  files=$2
  edit=$3
  shift 3
  rm -rf "$tmp/python"
  cp -r python "$tmp/python"
  for file in $files; do
    sed "$edit" "python/zeroproof/$file" >"$tmp/python/zeroproof/$file"
    if cmp -s "python/zeroproof/$file" "$tmp/python/zeroproof/$file"; then
      verdict 1 "fault:$named" "sed changed nothing in $file"
      return
    fi
  done
  PYTHONPATH="$tmp/python${packages:+:$packages}" "$python" -W ignore "$@" >"$tmp/out" 2>&1
  [ $? -eq 1 ] && grep -q '^not ok' "$tmp/out"
  verdict $? "fault:$named" "$(tail -n 1 "$tmp/out")"
}
