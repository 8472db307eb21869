#!/bin/sh
# zeroproof explain: a clause's demand, its definition, the bugs that broke it.
# inputs: build/zeroproof conformance/judge conformance/SPEC.md conformance/known spec/*.md
# inputs: tests/fixtures/lib.sh
cd "$(dirname "$0")/../.." || exit 3
. tests/fixtures/lib.sh
expect 0 'STAT-4: norm' it_has_the_title explain STAT-4
expect 0 'counts each logical element once' it_says_what_is_demanded explain STAT-4
expect 0 'RN₆₄' it_has_the_definition explain stat-4
expect 0 'PyTorch #88955: ' it_lists_historic_bugs explain STAT-4
expect 0 'deepspeed-norm-underflows: ' it_lists_known_defects explain STAT-4
expect 0 'ends with a result' clauses_of_the_suite_alone_are_explained explain RUN-1
expect 0 '^PART-10 ' without_a_clause_it_lists_all explain
expect 2 'expected one of STAT-1, STAT-2, ' unknown_clauses_are_refused explain STAT-x
expect 2 '`zeroproof explain` lists all' so_are_words explain word
json json_has_all_parts '.clause == "STAT-4" and (.definition | length > 9) and
  (.["historic bugs"][0] | .id and .symptom and .cause) and .["known defects"][0].cause' \
  explain STAT-4 --json
"$zp" explain STAT-4 >/dev/full 2>"$tmp/err"
[ $? -eq 3 ] && grep -q "cannot write standard output" "$tmp/err"
verdict $? a_full_disk_is_an_error "$(cat "$tmp/err")"
for clause in $("$zp" explain | cut -d' ' -f1); do
  "$zp" explain "$clause" >"$tmp/out" 2>&1 && [ "$(wc -l <"$tmp/out")" -ge 3 ] || break
done
verdict $? every_listed_clause_is_explained "$clause: $(head -3 "$tmp/out")"
exit "$bad"
