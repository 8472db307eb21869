# The traceability script: it must see an unknown id, and a clause that nobody cites.
. tests/cli/lib.sh

mkdir -p "$tmp/p/tests" "$tmp/p/spec" "$tmp/p/ref"
cp tests/trace.sh "$tmp/p/tests/trace.sh"
printf '**AA-1** one\n- **AA-2** two\n### BB-1\n**BB-2** four\n' >"$tmp/p/spec/a.md"
printf '/* spec: AA-1 … AA-2, BB-1 */\n// UTF-8, AVX-512\n' >"$tmp/p/ref/a.c"
printf '/* AA-2 */\n' >"$tmp/p/tests/t.c"
sh "$tmp/p/tests/trace.sh" >"$tmp/out" 2>&1
verdict $? known_ids_pass "$(cat "$tmp/out")"
grep -q 'cited by no code (1): BB-2' "$tmp/out"
verdict $? clause_without_code_is_listed "$(cat "$tmp/out")"
grep -q 'cited by no test (3): AA-1 BB-1 BB-2' "$tmp/out"
verdict $? clause_without_test_is_listed "$(cat "$tmp/out")"
sh "$tmp/p/tests/trace.sh" --strict >"$tmp/out" 2>&1
[ $? -eq 1 ]
verdict $? strict_fails_on_uncovered
for citation in '/* AA-9 */' '/* spec: ZZ-1 */' '/* spec: BB-1 … BB-3 */'; do
  printf '%s\n' "$citation" >"$tmp/p/ref/b.c"
  sh "$tmp/p/tests/trace.sh" >"$tmp/out" 2>&1
  [ $? -eq 1 ]
  verdict $? "unknown_id_fails_$(echo "$citation" | tr -dc 'A-Z0-9')" "$(cat "$tmp/out")"
done
finish
