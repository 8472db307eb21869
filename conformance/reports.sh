#!/bin/sh
# Runs the scripts of conformance/reports and compares their verdicts with the committed reports:
#   sh conformance/reports.sh BUILD [CAUSE...]
#
# Without CAUSE: all, or a part of 1/SHARE of them (1), chosen with SEED (1). Each must hold,
# whichever are chosen. Reports are written to BUILD/conformance-reports.
# ACCEPT=1 copies the reports to conformance/reports.
#
# Exit codes: 1 a script does not reproduce its defect, or prints other values than the committed
# report has; 2 there is no such script; 3 an environment cannot be installed, or a script ended
# without a verdict.
set -u
cd "$(dirname "$0")/.." || exit 3
build=${1:?usage: reports.sh BUILD [CAUSE...]}
shift
out=$build/conformance-reports
code=0
mkdir -p "$out"

chosen() { # prints the names of 1/SHARE of the scripts
  for script in conformance/reports/*.py; do
    basename "$script" .py
  done | awk -v seed="${SEED:-1}" 'BEGIN { srand(seed) } { print rand(), $1 }' | sort -n |
    awk -v share="${SHARE:-1}" '{ name[NR] = $2 }
      END { for (n = 1; n <= (NR + share - 1) / share; n++) print name[n] }'
}

environment() { # environment CAUSE: the subject and version that its script requires
  sed -n 's/^Requirements: \([^= ]*\)==\([^. ]*[^ ]*[0-9]\).*/\1-\2/p' "conformance/reports/$1.py"
}

verdict() { # verdict FILE: the line of a report with the values
  grep -m 1 '^    reproduced: ' "$1"
}

check() { # check CAUSE
  rm -f "$out/$1.md"
  [ -f "conformance/reports/$1.py" ] || {
    echo "reports.sh: there is no script conformance/reports/$1.py" >&2
    return 2
  }
  python=$(sh conformance/subject.sh "$(environment "$1")" 2>"$out/install.log") || {
    tail -n 20 "$out/install.log" >&2
    return 3
  }
  # A script that ends without a verdict is run again: gloo may fail to connect on a busy machine.
  for attempt in 1 2 3; do
    "$build/zeroproof" report "$1" --python "$python" --out "$out"
    result=$?
    [ $result -eq 3 ] && [ $attempt -lt 3 ] || break
  done
  [ $result -eq 0 ] || return $result
  [ "${ACCEPT:-0}" = 1 ] && cp "$out/$1.md" "conformance/reports/$1.md"
  [ "$(verdict "$out/$1.md")" = "$(verdict "conformance/reports/$1.md")" ] || {
    echo "reports.sh: $1: the committed report has other values:" \
      "$(verdict "conformance/reports/$1.md")" >&2
    return 1
  }
}

causes=${*:-$(chosen)}
for cause in $causes; do
  check "$cause"
  result=$?
  [ $result -gt $code ] && code=$result
done
exit $code
