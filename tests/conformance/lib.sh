# Sourced by test_*.sh here: changes to the repository's root and sets ZEROPROOF to the command.
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-build/zeroproof}
case $ZEROPROOF in /*) ;; *) ZEROPROOF=$PWD/$ZEROPROOF ;; esac
export ZEROPROOF
if ! command -v python3 >/dev/null; then
  echo "not run: conformance ${0##*/} (needs python3)"
  exit 0
fi
