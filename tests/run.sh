#!/bin/sh
# Runs every test and counts: tests/run.sh BUILD [WORD...]; of words given, those whose names have one
# of them. Called by `make quick` (ONLY="WORD...") when everything is built.
#
# Unit tests are Criterion programs; the others are scripts tests/*/test_*.sh, which print a line
# "ok NAME" or "not ok NAME" per test, and "not run: WHY" for what this machine has no tool for. The
# closing line is the sum of what was counted: a program that dies without a count is one failure.
set -u
build=${1:-}
if [ ! -x "$build/zeroproof" ]; then
  echo "usage: tests/run.sh BUILD [WORD...]; there is no '$build/zeroproof': make builds it" >&2
  exit 2
fi
shift
words=$*
log=$build/test-logs
passed=0
failed=0
left_out=0
export ZP_BUILD="$build" ZEROPROOF="$build/zeroproof"
# OpenMPI itself leaks at exit; a leak of ours shows in the unit tests.
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
rm -rf "$log"
mkdir -p "$log"

wanted() { # wanted NAME
  [ -z "$words" ] && return 0
  for word in $words; do
    case $1 in *"$word"*) return 0 ;; esac
  done
  return 1
}

count() { # count NAME PASSED FAILED LOG
  passed=$((passed + $2))
  failed=$((failed + $3))
  printf '  %-34s %5d passed' "$1" "$2"
  if [ "$3" -gt 0 ]; then
    printf ', %d FAILED (see %s)\n' "$3" "$4"
    grep -E '^not ok|\[FAIL\]|\[CRASH\]|Assertion|AddressSanitizer|runtime error' "$4" | head -10 |
      sed 's/^/      /'
  else
    printf '\n'
  fi
}

unit() { # unit BINARY: Criterion's own summary, when it got that far
  name=${1#"$build"/tests/}
  file=$log/$(echo "$name" | tr / _).log
  "$1" >"$file" 2>&1
  code=$?
  sum=$(sed 's/\x1b\[[0-9;]*m//g' "$file" | grep 'Synthesis:' | tail -1)
  p=$(echo "$sum" | sed -n 's/.*Passing: *\([0-9]*\).*/\1/p')
  f=$(echo "$sum" | sed -n 's/.*Failing: *\([0-9]*\).*/\1/p')
  c=$(echo "$sum" | sed -n 's/.*Crashing: *\([0-9]*\).*/\1/p')
  bad=$((${f:-0} + ${c:-0}))
  if [ $code -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  count "$name" "${p:-0}" "$bad" "$file"
}

script() { # script NAME COMMAND...
  name=$1
  file=$log/$(echo "$name" | tr / _).log
  shift
  "$@" >"$file" 2>&1
  code=$?
  p=$(grep -c '^ok ' "$file")
  bad=$(grep -c '^not ok ' "$file")
  if [ $code -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  count "$name" "$p" "$bad" "$file"
  left_out=$((left_out + $(grep -c '^not run: ' "$file")))
  grep '^not run: ' "$file" | sed 's/^/      /'
}

one() { # one NAME COMMAND...: a single test, passed when it exits with 0
  name=$1
  wanted "$name" || return 0
  file=$log/$name.log
  shift
  if "$@" >"$file" 2>&1; then count "$name" 1 0 "$file"; else count "$name" 0 1 "$file"; fi
}

for source in tests/*/test_*.c; do
  binary=$build/${source%.c}
  wanted "$source" || continue
  if [ -x "$binary" ]; then unit "$binary"; else
    echo "$binary was not built" >"$log/missing.log"
    count "${source#tests/}" 0 1 "$log/missing.log"
  fi
done
for source in tests/*/test_*.sh; do
  [ -e "$source" ] || continue
  wanted "$source" || continue
  name=${source#tests/}
  script "${name%.sh}" sh "$source"
done
one lint sh tests/trace.sh --strict
one "fuzz-${FUZZ_SECONDS:-60}s" \
  "$ZEROPROOF" fuzz --seconds "${FUZZ_SECONDS:-60}" --seed "${FUZZ_SEED:-1}"
# Fresh seeds every time: a failure's log has the command that replays it.
fresh=${FUZZ_SEED:-$(date +%s)}
for build_of_twin in "" --tsan; do
  one "fuzz-cuda$build_of_twin-${FUZZ_SECONDS:-60}s" "$ZEROPROOF" fuzz --engine cuda $build_of_twin \
    --seconds "${FUZZ_SECONDS:-60}" --seed "$fresh"
done

if [ $((passed + failed + left_out)) -eq 0 ]; then
  echo "tests/run.sh: no test has a name with any of: $words" >&2
  exit 2
fi
[ "$left_out" -eq 0 ] && echo "$passed passed, $failed failed" ||
  echo "$passed passed, $failed failed, $left_out not run"
[ "$failed" -eq 0 ]
