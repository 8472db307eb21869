# Sourced by test_*.sh here: changes to the repository's root and sets ZEROPROOF to the command.
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-build/zeroproof}
case $ZEROPROOF in /*) ;; *) ZEROPROOF=$PWD/$ZEROPROOF ;; esac
export ZEROPROOF
if ! command -v python3 >/dev/null; then
  echo "not run: conformance ${0##*/} (needs python3)"
  exit 0
fi
# A test starts the judge many times: in the runner's copy of the tree, it is compiled once.
if [ -d conformance/judge ] && ! [ -e .git ]; then
  python3 -m compileall -qq conformance/judge conformance/adapters/selftest
fi
