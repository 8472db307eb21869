#!/bin/sh
# Which clauses of spec/*.md have no code or no test; which ids are cited but are no clause.
#
# A clause is defined where its id opens a line of spec/*.md (after markup: #, *, -, |, >). Code
# cites it anywhere in ref/, cuda/, conformance/; tests in tests/. "PART-3 … PART-6" cites all of
# them. In a comment "spec: …" every id must be a clause; elsewhere only ids with a clause's prefix
# are taken for citations (UTF-8 and AVX-512 are not). The script's own test, full of made-up ids,
# is left out.
# Exit code: 0; 1 when an unknown id is cited or --strict and a clause is not covered.
set -u
cd "$(dirname "$0")/.." || exit 3
strict=0
[ "${1:-}" = --strict ] && strict=1
tmp=$(mktemp -d) || exit 3
trap 'rm -rf "$tmp"' EXIT
id='[A-Z][A-Z0-9]{1,7}-[0-9]+'

cat spec/*.md 2>/dev/null | grep -oE "^[]#*>|\`[ -]*$id" | grep -oE "$id" | sort -u >"$tmp/clauses"
if [ ! -s "$tmp/clauses" ]; then
  echo "trace: spec/*.md defines no clause" >&2
  exit 1
fi
sed 's/-[0-9]*$//' "$tmp/clauses" | sort -u >"$tmp/prefixes"

# Every id in "FILE:LINE:TEXT" lines, ranges expanded: "FILE:LINE ID".
ids() {
  awk '{
    place = $0; sub(/:[^:]*$/, "", place)
    split($0, part, ":"); place = part[1] ":" part[2]
    text = substr($0, length(place) + 2)
    gsub(/ *… */, "~", text)
    while (match(text, /[A-Z][A-Z0-9]*-[0-9]+(~([A-Z][A-Z0-9]*-)?[0-9]+)?/)) {
      s = substr(text, RSTART, RLENGTH)
      text = substr(text, RSTART + RLENGTH)
      n = split(s, end, "~")
      prefix = end[1]; sub(/-[0-9]+$/, "", prefix)
      from = end[1]; sub(/^.*-/, "", from)
      to = from
      if (n > 1) { to = end[2]; sub(/^.*-/, "", to) }
      if (to - from > 99) to = from
      for (k = from + 0; k <= to + 0; k++) print place, prefix "-" k
    }
  }'
}

cited() { # cited DIRECTORY...: "FILE:LINE ID" of everything that is a citation
  grep -rnIE "$id" "$@" --include='*.[ch]' --include='*.cu' --include='*.sh' --include='*.v' \
    --include='*.md' --include='*.py' --exclude=test_trace.sh 2>/dev/null >"$tmp/lines"
  grep -E 'spec: ' "$tmp/lines" | sed 's/^\([^:]*:[^:]*:\).*spec: /\1/' | ids
  ids <"$tmp/lines" | awk 'NR == FNR { known[$1] = 1; next }
    { p = $2; sub(/-[0-9]+$/, "", p); if (p in known) print }' "$tmp/prefixes" -
}

dirs() { for d in "$@"; do [ -d "$d" ] && echo "$d"; done; }
cited $(dirs ref cuda conformance) | sort -u >"$tmp/code"
cited $(dirs tests) | sort -u >"$tmp/tests"
cited $(dirs proofs) | sort -u >"$tmp/proofs"
for kind in code tests; do cut -d' ' -f2 "$tmp/$kind" | sort -u >"$tmp/$kind.ids"; done

cat "$tmp/code" "$tmp/tests" "$tmp/proofs" | awk 'NR == FNR { known[$1] = 1; next }
  !($2 in known)' "$tmp/clauses" - | sort -u >"$tmp/unknown"
comm -23 "$tmp/clauses" "$tmp/code.ids" >"$tmp/no-code"
comm -23 "$tmp/clauses" "$tmp/tests.ids" >"$tmp/no-test"

list() { printf '%s (%d):' "$1" "$(wc -l <"$2")"; tr '\n' ' ' <"$2" | sed 's/^/ /'; echo; }
printf '%d clauses\n' "$(wc -l <"$tmp/clauses")"
list "cited by no code" "$tmp/no-code"
list "cited by no test" "$tmp/no-test"
code=0
if [ -s "$tmp/unknown" ]; then
  echo "ids that are no clause of spec/:"
  sed 's/^/  /' "$tmp/unknown"
  code=1
fi
if [ $strict = 1 ] && [ -s "$tmp/no-code" -o -s "$tmp/no-test" ]; then code=1; fi
exit $code
