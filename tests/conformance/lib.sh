# Sourced by test_*.sh here: goes to the repository's root, and names the command for the suite.
cd "$(dirname "$0")/../.." || exit 3
ZEROPROOF=${ZEROPROOF:-build/zeroproof}
case $ZEROPROOF in /*) ;; *) ZEROPROOF=$PWD/$ZEROPROOF ;; esac
export ZEROPROOF
if ! command -v python3 >/dev/null; then
  echo "not run: ${0##*/}, of the conformance suite (no python3)"
  exit 0
fi
