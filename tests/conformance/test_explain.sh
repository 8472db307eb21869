#!/bin/sh
# zeroproof explain: a clause's demand, its definition, the bugs that broke it.
# inputs: build/zeroproof conformance/judge conformance/SPEC.md conformance/known spec/*.md
# inputs: ref/verify/clause_title.c tests/fixtures/lib.sh
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
"$zp" explain STAT-4 >"$tmp/out" && ! grep -q Claims "$tmp/out"
verdict $? links_to_claims_are_left_out "$(cat "$tmp/out")"
"$zp" explain STAT-4 >/dev/full 2>"$tmp/err"
[ $? -eq 3 ] && grep -q "cannot write standard output" "$tmp/err"
verdict $? a_full_disk_is_an_error "$(cat "$tmp/err")"
for clause in $("$zp" explain | cut -d' ' -f1); do
  "$zp" explain "$clause" >"$tmp/out" 2>&1 && [ "$(wc -l <"$tmp/out")" -ge 3 ] || break
done
verdict $? every_listed_clause_is_explained "$clause: $(head -3 "$tmp/out")"

# sim and fuzz print titles, too: of all clauses but those of limits, sums and the suite alone.
sed -n 's/^ *{"\([A-Z]*-[0-9]*\)", "\(.*\)"},$/\1 \2/p' ref/verify/clause_title.c >"$tmp/table"
"$zp" explain --json | jq -r 'to_entries[] | select(.value != "" and
  (.key | test("^(LIM|NORM|NUM|SUM|RUN)-") | not)) | "\(.key) \(.value)"' >"$tmp/titles"
[ "$(wc -l <"$tmp/titles")" -gt 60 ] && diff "$tmp/titles" "$tmp/table" >"$tmp/out"
verdict $? sim_and_fuzz_have_the_same_titles "$(cat "$tmp/out")"
expect 1 '^failed: LEDG-7 .no hang., STAT-1 .same collectives on all ranks.; ' \
  sim_prints_titles sim --fault pr7847
expect 1 'breaks clause STAT-1 .same collectives on all ranks. of spec/' \
  sim_prints_the_title_of_a_fault sim --fault pr7847
expect 1 '^case .* failed: SCALE-3 .loss scale after a skipped step.$' fuzz_prints_titles \
  fuzz --fault ds1958 --seconds 60
replay=$(sed -n "s/.*--replay '\(.*\)'.*/\1/p" "$tmp/out")
expect 1 '^failed: SCALE-3 .loss scale after a skipped step.$' fuzz_prints_titles_of_a_replay \
  fuzz --fault ds1958 --replay "$replay"
exit "$bad"
