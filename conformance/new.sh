#!/bin/sh
# Judges releases that are newer than the pinned ones: sh conformance/new.sh BUILD [ENVIRONMENT...]
#
# Asks pip's index for the newest release of the package of each environment (of subjects.txt: the
# newest of those that hold the same package), makes a new environment NAME-VERSION with a lock of
# its own, and judges the subjects of the old one there, with their known failures and what they
# must support. Writes no list. What changed is printed: known failures that no longer occur, new
# ones, and what is no longer supported.
#
# SECONDS_EACH (120): time for the cases of a subject. Exit codes: 0 there are no successors, or
# nothing has changed (a successor that cannot be installed is only printed); 1 something has; 3 the
# index or an adapter failed.
set -u
cd "$(dirname "$0")/.." || exit 3
build=${1:?usage: new.sh BUILD [ENVIRONMENT...]}
shift
out=$build/conformance-new
code=0
rm -rf "$out"
mkdir -p "$out"

worse() { # worse CODE: keeps the largest exit code
  [ "$1" -le "$code" ] || code=$1
}

successor() { # successor PACKAGE: its newest release; megatron-core asks for a newer Python
  python3 -m pip index versions --ignore-requires-python --disable-pip-version-check "$1" \
    2>"$out/index.log" | sed -n '1s/.*(\(.*\)).*/\1/p'
}

make_environment() { # make_environment PACKAGE OLD NEW: a copy of the scripts with the new version
  copy=$out/$1-$3
  rm -rf "$copy"
  mkdir -p "$copy"
  cp -r conformance/locks conformance/subject.sh conformance/subjects.txt "$copy"
  quoted=$(echo "$2" | sed 's/\./\\./g')
  sed -i "s/$quoted/$3/g" "$copy/locks/lock.sh" "$copy/subject.sh" "$copy/subjects.txt"
  sh "$copy/locks/lock.sh" "$1-$3" >"$copy/log" 2>&1 && sh "$copy/subject.sh" "$1-$3" 2>>"$copy/log"
}

judge() { # judge PYTHON SUBJECT ADAPTER LISTS: against the lists of the pinned version
  known=conformance/known/$4.json
  [ -e "$known" ] || known=
  # shellcheck disable=SC2086  # an option, or none
  "$build/zeroproof" check --adapter "$1 conformance/adapters/$3" ${known:+--known "$known"} \
    --support "conformance/support/$4.json" --seconds "${SECONDS_EACH:-120}" --brief \
    --out "$out/$2" --log "$out/$2.log"
}

chosen=${*:-$(awk '/^[^#]/ && $2 != "-" { print $2 }' conformance/subjects.txt | sort -u -V)}
for environment in $chosen; do
  package=${environment%-*}
  pinned=$(echo "$chosen" | tr ' ' '\n' | grep "^$package-[0-9]" | sort -V | tail -n 1)
  [ "$environment" = "$pinned" ] || continue # superseded
  newest=$(successor "$package")
  if [ -z "$newest" ]; then
    echo "$environment: no answer of the index: $(tail -n 1 "$out/index.log")"
    worse 3
    continue
  fi
  if [ "$(printf '%s\n' "${environment##*-}" "${newest%%+*}" | sort -V | tail -n 1)" = \
    "${environment##*-}" ]; then
    echo "$environment: no successor"
    continue
  fi
  echo "== $environment has the successor $newest"
  python=$(make_environment "$package" "${environment##*-}" "$newest") || {
    echo "$package $newest cannot be installed:" \
      "$(tail -n 2 "$out/$package-$newest/log" | tr '\n' ' ')"
    continue
  }
  awk -v e="$environment" '/^[^#]/ && $2 == e { print $1, $3, $4 }' conformance/subjects.txt \
    >"$out/rows"
  while read -r subject adapter lists; do
    echo "-- $subject with $package $newest"
    judge "$python" "$subject" "$adapter" "$lists" </dev/null
    worse $?
  done <"$out/rows"
done
exit "$code"
