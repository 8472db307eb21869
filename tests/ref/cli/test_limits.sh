# Sizes and shapes from outside have limits: whatever number stands in a case, an option or a
# recipe, the command answers or refuses it; it neither crashes nor computes without end nor takes
# another number. spec: PIPE-6, LIM-0
# inputs: build/zeroproof tests/fixtures/lib.sh
. tests/fixtures/lib.sh
# shellcheck disable=SC3045 # dash has ulimit -t
ulimit -t 120 # of processor time: a loop over 2^31 elements, not a slow machine

# ---- The adapter and the oracle
recipe="pp=2,dp=2,M=2,steps=1,stage=1,list=5@0.0+7@1.0"
"$zp" cases "$recipe" >"$tmp/case" || exit 3
huge='[[4611686018427387904], [9223372036854775807], [2147483647, 3], [-1], [-4, -4], [0],
  [1048577], [4294967296, 4294967296], [4294967296, 4294967296, 4294967296, 4294967296],
  [-9223372036854775808],
  [1024, 1025], [], [1, 1, 1, 1, 1], [1.5], ["4"], [null], [[2]], [true], null, 3, {}, "x"]'
jq -c --argjson huge "$huge" \
  '. as $c | $huge[] as $s | $c | .messages[0][0][0].shape = $s' "$tmp/case" >"$tmp/shapes"
jq -c '.messages[0][0] = [range(16) | {dtype: "int32", shape: [1048576]}],
  (.messages[0][] = [range(4) | {dtype: "int32", shape: [1048576]}] |
    .messages[0][0][3].dtype = "x"),
  (.messages[0][0][0].dtype = "int64"), (.messages[0][0][0].dtype = "fp16"),
  (.messages[0][0] = []), (.messages[0] = []), (.messages = []), (.messages = 7)' \
  "$tmp/case" >>"$tmp/shapes"
answer_all() { # answer_all NAME FILE FILTER: an answer for each line, all of which pass the filter
  jq -c '{do: "run", case: .}' "$2" | "$zp" adapter >"$tmp/answers" 2>"$tmp/err"
  got=$?
  [ $got -eq 0 ] && [ "$(wc -l <"$2")" -eq "$(wc -l <"$tmp/answers")" ] &&
    jq -se "all($3)" "$tmp/answers" >"$tmp/jq"
  verdict $? "the_adapter_$1" "exit code $got, $(wc -l <"$2") requests, $(wc -l <"$tmp/answers") \
answers; $(jq -c "select($3 | not)" "$tmp/answers" | head -c 300)"
  "$zp" oracle <"$2" >"$tmp/answers" 2>"$tmp/err"
  got=$?
  [ $got -le 2 ] && [ "$(wc -l <"$2")" -eq "$(wc -l <"$tmp/answers")" ]
  verdict $? "the_oracle_$1" "exit code $got, $(wc -l <"$tmp/answers") answers"
}
answer_all refuses_shapes "$tmp/shapes" \
  '(.status == "unsupported" or .status == "error") and (.message | length > 0)'
# each number of the case (of a list its first), and each list's place, replaced by these
jq -c '. as $c | [paths(numbers), paths(arrays)] | map(select((map(numbers) | all(. == 0)))) |
  .[] as $p | (-1, 0, 65, 513, 1048577, 2147483647, 2147483648, 4294967297, 1099511627777,
    4611686018427387904, 9223372036854775807, -9223372036854775808, 0.5, 1e300, "x", null, [], {})
  as $v | $c | setpath($p; $v)' "$tmp/case" >"$tmp/numbers"
answer_all answers_every_number "$tmp/numbers" \
  '.status == "ok" or .status == "unsupported" or .status == "error"'
verdict "$([ "$(wc -l <"$tmp/numbers")" -gt 400 ]; echo $?)" many_numbers_were_tried \
  "$(wc -l <"$tmp/numbers")"

# Products of numbers that are in range each: refused before anything of that size is allocated or
# computed, with the product and its limit.
"$zp" cases "pp=1,dp=1,M=1,steps=1,list=1@0.0" >"$tmp/one" || exit 3
"$zp" cases "pp=2,dp=1,M=1,steps=1,list=1@0.0+1@1.0" >"$tmp/two" || exit 3
jq -c '
  def entries($n; $numel): .parameters = [range($n) as $j | .parameters[0] |
    .name = "p\($j)" | .numel = $numel | .first = [[range($numel) | 1]]];
  def of($pp; $dp; $tp): .topology += {pp: $pp, dp: $dp, tp: $tp} | .world = $pp * $dp * $tp;
  (entries(512; 1) | .steps = 1000 | .micro_batches = 4096 | .data = []),
  (entries(512; 1) | .steps = 20 | .micro_batches = 4096 | .data = []),
  (of(64; 64; 64)),
  (of(64; 64; 1) | .micro_batches = 4096),
  (entries(1; 262144) | of(1; 8; 64) | .data = [[range(8) | [null]]]),
  (entries(1; 262144) | of(1; 2; 1) | .bucket = 1 | .micro_batches = 16 |
    .data = [[range(32) | [null]]])' "$tmp/one" >"$tmp/products"
jq -c '.topology.tp = 64 | .world = 128 |
  .messages = [[[range(4) | {dtype: "int32", shape: [1048576]}]]]' "$tmp/two" >>"$tmp/products"
(
  # shellcheck disable=SC3045 # dash has ulimit -t and -v
  ulimit -t 10
  # shellcheck disable=SC3045
  [ "${SAN:-0}" = 1 ] || ulimit -v 2000000 # KiB; a sanitizer reserves more
  limits='·.* is (at least )?[0-9]+; the limit is [0-9]+'
  answer_all refuses_products "$tmp/products" \
    ".status == \"unsupported\" and (.message | test(\"$limits\"))"
  exit $bad
) || bad=1
for recipe in 'dp=2048,tp=4,list=1@0.0' 'pp=4,dp=1024,tp=2,list=1@0.0' \
  'dp=1024,tp=4,list=2048@0.0'; do
  expect 2 'is [0-9]+; the limit is [0-9]+' "recipe_$recipe" cases "$recipe"
done
for command in "sim --case" "fuzz --replay"; do
  expect 2 'needs up to [0-9]+ MiB of memory' "memory_of_${command%% *}" $command \
    'dp=64,list=1099511627776@0.0'
done

# ---- Cases and recipes as texts: no number is taken for another one
for field in list=5@0.4294967296 list=5@0.2147483647 list=5@4294967296.0 \
  list=18446744073709551621@0.0 list=1099511627777@0.0 list=-5@0.0 list=5@0.0t4294967296 \
  list=5@0.0t2147483647 list=5@-1.0 \
  pp=4294967298 M=18446744073709551617 bucket=9223372036854775808 seed=-1 \
  seed=18446744073709551617 schedule=-3 scale=4294967297:1:1:0:0:8 scale=1:1:4294967297:0:0:8 \
  scale=1:18446744073709551617:1:0:0:8 scale=4294967296 reload=4294967297:1:1:8 reload=1:1:1:8x \
  overflow=4294967296 clip=inf clip=nan clip=1e31 clip=-1; do
  expect 2 "'${field%%=*}' is not a field" "case_$field" sim --case "$field"
done
for recipe in wide=4294967297,list=5@0.0 first=4294967297,list=5@0.0 list=5@0.4294967296; do
  expect 2 'is not (a field|in)' "recipe_$recipe" cases "$recipe"
done

# ---- Options
for ranks in 4294967297 0-4294967296 4294967296-4294967297 -1 1- 3-1 18446744073709551616; do
  expect 2 'a rank, or two with a dash' "ranks_$ranks" trace view "$tmp" --out "$tmp/x" \
    --ranks "$ranks"
done
for option in "plan --pp" "plan --rank" "train --steps" "train --layers" "train --sample" \
  "train --save-every" "sim --unused" "fuzz --cases" "fuzz --jobs" "cases --random" \
  "plan --bucket" "fuzz --schedules" "launch -n"; do
  for number in 18446744073709551617 9223372036854775808 -1 1e3 0x10 ''; do
    # --cases and --random may be as large as a count can be
    expect 2 '.' "$option=$number" $option "$number"
  done
done
# the bound in the message is the one that holds, so the refused number is outside of it
for key in momentum beta1 beta2; do
  printf '{"optimizer": [{"%s": 1}]}' "$key" >"$tmp/config"
  expect 2 "$key: 1 is out of range; allowed is 0 to 0.999999999\." "bound_of_$key" \
    sim --config "$tmp/config"
done
finish
