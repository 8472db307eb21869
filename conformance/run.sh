#!/bin/sh
# Puts subjects through the suite: sh conformance/run.sh BUILD [SUBJECT...]. `make conformance`.
#
# subjects.txt lists them. Reports go to BUILD/conformance/SUBJECT, the summary to RESULTS.md and
# index.html beside them. BUDGET seconds (1440) are shared out: of its share a subject spends six
# tenths on the covering array and random cases (or SECONDS_EACH, or CASES cases), at most two
# tenths on what is new among its failures, the rest on starting and on what is known. QUICK=1: the
# committed selection and FRESH (3) fresh cases of the seed SEED (the time of day), not counted
# against a subject when they find something new. ACCEPT=1 takes over what was seen:
# conformance/RESULTS.md, the minimal cases of known failures, what is supported, the selections.
# Exit code: 1 when a subject fails in a way that conformance/known does not list, or the other way
# round; 3 when a subject cannot be installed or its adapter does not run.
set -u
cd "$(dirname "$0")/.." || exit 3
build=${1:?usage: run.sh BUILD [SUBJECT...]}
shift
out=$build/conformance
quick=${QUICK:-0}
[ "$quick" = 1 ] && out=$build/conformance-quick
code=0
mkdir -p "$out"

row_of() { # row_of SUBJECT: its line of subjects.txt
  awk -v name="$1" '$1 == name { print; found = 1 } END { exit !found }' \
    conformance/subjects.txt || {
    echo "run.sh: there is no subject '$1'; there are:" \
      "$(awk '/^[^#]/ { printf "%s ", $1 }' conformance/subjects.txt)" >&2
    exit 2
  }
}

# adapter_of SUBJECT ENVIRONMENT ADAPTER: its command line; installs what it needs
adapter_of() {
  [ "$2 $3" = '- -' ] && echo "$build/zeroproof adapter" && return
  [ "$2" = - ] && echo "$build/zeroproof adapter $3" && return
  python=$(sh conformance/subject.sh "$2" 2>"$out/install-$1.log") || {
    tail -n 20 "$out/install-$1.log" >&2
    return 3
  }
  echo "$python conformance/adapters/$3"
}

options() { # what a run of this kind is told
  if [ "$quick" = 1 ]; then
    echo "--quick --fresh ${FRESH:-3} --seed ${SEED:-$(date +%s)} --shrink 5 --shrink-all 5 --brief"
  else
    share=$(((${BUDGET:-1440} - $(date +%s) + begun) / left))
    [ $share -gt 30 ] || share=30
    [ -n "${CASES:-}" ] && echo "--cases $CASES" ||
      echo "--seconds ${SECONDS_EACH:-$((share * 6 / 10))}"
    echo "--shrink-all $((share * 2 / 10)) --seed ${SEED:-1}"
    [ "${ACCEPT:-0}" = 1 ] && echo "--accept-known --accept-support"
  fi
}

check() { # check SUBJECT: one subject; 1: failures, 3: it could not be judged
  rm -rf "${out:?}/$1" "$out/$1.log"
  row=$(row_of "$1")
  # shellcheck disable=SC2086  # three words
  command=$(adapter_of $(echo "$row" | awk '{ print $1, $2, $3 }')) || {
    echo "run.sh: $1 cannot be installed" >&2
    return 3
  }
  # shellcheck disable=SC2046  # options are words
  "$build/zeroproof" check --adapter "$command" --out "$out/$1" --log "$out/$1.log" $(options)
  result=$?
  if [ "${ACCEPT:-0}" = 1 ] && [ $result -le 1 ]; then
    "$build/zeroproof" check --adapter "$command" --accept-quick || return 3
  fi
  [ -s "$out/$1/report.json" ] && [ $result -le 1 ] && return $result
  echo "run.sh: $1 was not judged; its adapter's last words ($out/$1.log):" >&2
  tail -n 5 "$out/$1.log" >&2
  return 3
}

subjects=${*:-$(awk '/^[^#]/ { print $1 }' conformance/subjects.txt)}
for subject in $subjects; do
  row_of "$subject" >/dev/null || exit $?
done
begun=$(date +%s)
left=$(echo "$subjects" | wc -w)
reports=
for subject in $subjects; do
  echo "== $subject ($(date +%H:%M:%S))"
  check "$subject"
  result=$?
  left=$((left > 1 ? left - 1 : 1))
  [ $result -gt $code ] && code=$result
  [ $result -le 1 ] && reports="$reports $out/$subject/report.json"
done
[ -n "$reports" ] || exit 3
commit=$(git describe --always --dirty 2>/dev/null) ||
  commit=$(sed -n 's/.*ZP_COMMIT="\(.*\)"/\1/p' "$build/identity")
# shellcheck disable=SC2086  # a list of files
python3 -B conformance/judge/results.py --out "$out" --commit "$commit" \
  --mutants conformance/mutants.json $reports || exit 3
echo "conformance: $(echo "$subjects" | wc -w) subjects in $(($(date +%s) - begun)) s:" \
  "$out/RESULTS.md, $out/index.html"
[ "${ACCEPT:-0}" = 1 ] && [ "$quick" != 1 ] && cp "$out/RESULTS.md" conformance/RESULTS.md
exit $code
