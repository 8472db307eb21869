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


# check SCRIPT [ARGUMENT...]: a script of tests/python, whose checks must hold.
# fault NAME FILES SED SCRIPT [ARGUMENT...]: with SED applied to each of FILES of the package (one
# word each) a check of SCRIPT must fail; broken: a pattern of that check's name.
# packages: what else is in PYTHONPATH. They are listed here, and `run_checks` runs them in order.
check() {
  listed check "$PWD/python${packages:+:$packages}" "$@"
}
fault() {
  named=$1
  files=$2
  edit=$3
  shift 3
  mkdir -p "$tmp/faults"
  cp -r python "$tmp/faults/$named"
  for file in $files; do
    sed "$edit" "python/zeroproof/$file" >"$tmp/faults/$named/zeroproof/$file"
    if cmp -s "python/zeroproof/$file" "$tmp/faults/$named/zeroproof/$file"; then
      verdict 1 "fault:$named" "sed changed nothing in $file"
      return
    fi
  done
  listed "fault:$named" "${broken:-}" "$tmp/faults/$named${packages:+:$packages}" "$@"
}
listed() {
  { printf %s "$1" && shift && printf '\t%s' "$@" && echo; } >>"$tmp/checks"
}
run_checks() {
  "$python" -W ignore tests/python/checks.py "$tmp/checks" || bad=1
}
