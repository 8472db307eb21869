#!/bin/sh
# Runs the conformance suite on subjects: sh conformance/run.sh BUILD [SUBJECT...]
#
# `make conformance` calls it; subjects.txt lists the subjects. Each report is in
# BUILD/conformance/SUBJECT; the summary is RESULTS.md, index.html and results.json in
# BUILD/conformance.
#
# Without SUBJECT: the usual subjects; ALL=1: all of them (`make conformance-all`).
# Each subject runs its whole covering array, however long that takes. BUDGET (1440, or 3000)
# seconds are divided among the subjects: what is left of four fifths of its share (or of
# SECONDS_EACH) is for random cases, the rest for its start and its known failures. CASES limits
# the number of cases.
# QUICK=1 runs the committed selection and FRESH (3) random cases of seed SEED (the time of day).
# New failures of the random cases do not fail the run. ONLY_FRESH=1: the random cases and one case
# of the selection.
# ACCEPT=1 writes the results to the committed files: minimal cases of known failures, support
# lists, selections and, if all subjects were judged, RESULTS.md, results.json and subjects.md.
#
# KEEP=1 continues a run that was interrupted: subjects of which BUILD has a report are not judged
# again, if it was made at this commit, whatever was not committed, and with the same settings.
#
# COMMANDS=1 only installs the subjects, and prints a line "NAME<tab>ADAPTER COMMAND" for each.
#
# Exit codes: 1 a failure is not in conformance/known, or a known failure did not occur; 2 unknown
# subject; 3 a subject cannot be installed or its adapter does not run.
set -u
cd "$(dirname "$0")/.." || exit 3
build=${1:?usage: run.sh BUILD [SUBJECT...]}
shift
asked=$*
out=$build/conformance
quick=${QUICK:-0}
[ "$quick" = 1 ] && out=$build/conformance-quick
[ "${ONLY_FRESH:-0}" = 1 ] && out=$build/conformance-fresh
code=0
mkdir -p "$out"
# of zeroproof's own Python package, which is a subject
ZEROPROOF_LIBRARY=${ZEROPROOF_LIBRARY:-$(cd "$build" && echo "$PWD"/libzeroproof.so.*)}
export ZEROPROOF_LIBRARY

row_of() { # row_of SUBJECT: its line in subjects.txt
  awk -v name="$1" '$1 == name { print; found = 1 } END { exit !found }' \
    conformance/subjects.txt || {
    echo "run.sh: unknown subject '$1'; expected one of:" \
      "$(awk '/^[^#]/ { printf "%s ", $1 }' conformance/subjects.txt)" >&2
    exit 2
  }
}

# adapter_of SUBJECT ENVIRONMENT ADAPTER: prints its command line; installs the environment
adapter_of() {
  [ "$2 $3" = '- -' ] && echo "$build/zeroproof adapter" && return
  [ "$2" = - ] && echo "$build/zeroproof adapter $3" && return
  python=$(sh conformance/subject.sh "$2" 2>"$out/install-$1.log") || {
    tail -n 20 "$out/install-$1.log" >&2
    return 3
  }
  echo "$python conformance/adapters/$3"
}

options() { # options of `zeroproof check` for this kind of run
  if [ "$quick" = 1 ]; then
    [ "${ONLY_FRESH:-0}" = 1 ] && echo "--quick $out/one.json" || echo "--quick"
    echo "--fresh ${FRESH:-3} --seed ${SEED:-$(date +%s)} --shrink 10 --brief"
  else
    share=$(((budget - $(date +%s) + begun) / left))
    [ $share -gt 0 ] || share=0
    [ -n "${CASES:-}" ] && echo "--cases $CASES" ||
      echo "--seconds ${SECONDS_EACH:-$((share * 8 / 10))}"
    echo "--seed ${SEED:-1}"
    [ "${ACCEPT:-0}" = 1 ] && echo "--accept-known --accept-support"
  fi
}

check() { # check SUBJECT: returns 1 for failures, 3 if the subject could not be judged
  [ "${KEEP:-0}" = 1 ] && [ "$(cat "$out/$1/made" 2>/dev/null)" = "$made" ] &&
    return "$(cat "$out/$1/result")"
  rm -rf "${out:?}/$1" "$out/$1.log"
  row=$(row_of "$1")
  # shellcheck disable=SC2086  # three words
  command=$(adapter_of $(echo "$row" | awk '{ print $1, $2, $3 }')) || {
    echo "run.sh: cannot install $1" >&2
    return 3
  }
  if [ "${ONLY_FRESH:-0}" = 1 ]; then
    python3 -c 'import json, sys
selected = json.load(open(sys.argv[1]))
json.dump({**selected, "cases": selected["cases"][:1]}, open(sys.argv[2], "w"))' \
      "conformance/quick/$(echo "$row" | awk '{ print $4 }').json" "$out/one.json" || return 3
  fi
  # shellcheck disable=SC2046  # options are words
  "$build/zeroproof" check --adapter "$command" --out "$out/$1" --log "$out/$1.log" $(options)
  result=$?
  if [ "${ACCEPT:-0}" = 1 ] && [ $result -le 1 ]; then
    "$build/zeroproof" check --adapter "$command" --accept-quick --out "$out/$1" || return 3
  fi
  [ -s "$out/$1/report.json" ] && [ $result -le 1 ] &&
    echo "$made" >"$out/$1/made" && echo $result >"$out/$1/result" && return $result
  echo "run.sh: $1 was not judged; the end of its adapter's standard error ($out/$1.log):" >&2
  tail -n 5 "$out/$1.log" >&2
  return 3
}

all=$(awk '/^[^#]/ { print $1 }' conformance/subjects.txt)
usual=$(awk '/^[^#]/ && $5 == "usual" { print $1 }' conformance/subjects.txt)
[ "${ALL:-0}" = 1 ] && default=$all || default=$usual
subjects=${*:-$default}
[ "$subjects" = "$all" ] && budget=3000 || budget=1440
budget=${BUDGET:-$budget}
for subject in $subjects; do
  row_of "$subject" >/dev/null || exit $?
done
if [ "${COMMANDS:-0}" = 1 ]; then
  for subject in $subjects; do
    # shellcheck disable=SC2046  # three words
    command=$(adapter_of $(row_of "$subject" | awk '{ print $1, $2, $3 }')) || exit 3
    printf '%s\t%s\n' "$subject" "$command"
  done
  exit
fi
begun=$(date +%s)
commit=$(git describe --always --dirty 2>/dev/null) ||
  commit=$(sed -n 's/.*ZP_COMMIT="\(.*\)"/\1/p' "$build/identity")
# what a report depends on, except for the time that is left for random cases
made="${commit%-dirty} ${ACCEPT:-} ${FRESH:-} ${SEED:-} ${CASES:-} ${SECONDS_EACH:-}"
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
command= # that repeats this run
for name in ACCEPT ALL KEEP QUICK ONLY_FRESH FRESH SEED CASES SECONDS_EACH BUDGET; do
  eval "value=\${$name:-}"
  [ -z "$value" ] || command="$command$name=$value "
done
command="${command}sh conformance/run.sh $build${asked:+ $asked}"
# shellcheck disable=SC2086  # a list of files
python3 -B conformance/judge/results.py --out "$out" --commit "$commit" \
  --command "$command" --mutants conformance/mutants.json $reports || exit 3
echo "conformance: $(echo "$subjects" | wc -w) subjects in $(($(date +%s) - begun)) s:" \
  "$out/RESULTS.md, $out/index.html"
if [ "${ACCEPT:-0}" = 1 ] && [ "$quick" != 1 ] && [ "$subjects" = "$all" ]; then
  cp "$out/RESULTS.md" "$out/results.json" conformance/ &&
    python3 -B conformance/judge/subjects.py &&
    python3 -B conformance/judge/table.py conformance/AXES.md conformance/support/*.json || exit 3
fi
exit $code
