# For the scripted tests: `. tests/cli/lib.sh`. Each check prints one line "ok …" or "not ok …".
zp=${ZEROPROOF:-build/zeroproof}
tmp=$(mktemp -d) || exit 3
trap 'rm -rf "$tmp"' EXIT
bad=0

verdict() { # verdict STATUS NAME [WHY]
  if [ "$1" -eq 0 ]; then echo "ok $2"; else
    echo "not ok $2: ${3:-}"
    bad=1
  fi
}

# expect CODE PATTERN NAME ARGS...: the exit code, and a pattern in what is printed. A sanitizer's
# report or a death by signal never passes.
expect() {
  code=$1
  pattern=$2
  name=$3
  shift 3
  timeout 120 "$zp" "$@" >"$tmp/out" 2>&1 </dev/null
  got=$?
  if grep -qE 'Sanitizer|runtime error' "$tmp/out"; then
    verdict 1 "$name" "$(grep -m1 -E 'Sanitizer|runtime error' "$tmp/out")"
  elif [ "$got" -ne "$code" ]; then
    verdict 1 "$name" "exit code $got, not $code: $(head -c 300 "$tmp/out" | tr '\n' ' ')"
  elif ! grep -qE -e "$pattern" "$tmp/out"; then
    verdict 1 "$name" "no '$pattern' in: $(head -c 300 "$tmp/out" | tr '\n' ' ')"
  else
    verdict 0 "$name"
  fi
}

# json NAME FILTER ARGS...: prints JSON of which jq's FILTER is true.
json() {
  name=$1
  filter=$2
  shift 2
  timeout 300 "$zp" "$@" >"$tmp/json" 2>"$tmp/err" </dev/null
  jq -en "input | ($filter)" "$tmp/json" >"$tmp/jq" 2>&1 # jq -e alone is content with an empty file
  verdict $? "$name" "$filter: $(head -c 200 "$tmp/jq" | tr '\n' ' ') $(head -c 200 "$tmp/err")"
}

finish() { exit $bad; }
