# Flags, configuration files and their refusals.
# inputs: build/zeroproof tests/fixtures/lib.sh
. tests/fixtures/lib.sh

expect 2 'Usage' no_command_is_refused
expect 0 'Exit codes' help_says_exit_codes --help
expect 0 'damaged or not zeroproof' help_says_what_is_refused --help
expect 0 'zeroproof [0-9]' version --version
expect 2 "no command 'nope'" unknown_command_is_refused nope
for c in train plan counters sim fuzz env launch elastic; do
  expect 0 'Usage: zeroproof' "help_of_$c" $c --help
  expect 0 'Usage: zeroproof' "help_$c" help $c
  # what is longer than a line leaves an empty one; … counts for three columns
  ! grep -nE '^ +$|^ +--[^ ]*…[^ ]* ' "$tmp/out" >"$tmp/ugly"
  verdict $? "help_${c}_is_aligned" "$(cat "$tmp/ugly")"
  expect 2 'zeroproof' "unknown_flag_of_$c" $c --no-such-flag
done
expect 2 'pp: 0 is out of range; allowed is 1 to' pp_zero plan --pp 0
expect 2 'not a whole number' pp_word plan --pp two
expect 2 'not a whole number' pp_negative plan --pp=-1
expect 2 'not a whole number' pp_real plan --pp 1.5
expect 2 'not a whole number' count_overflows plan --bucket 9999999999999999999
expect 2 'not a whole number' suffix_overflows plan --bucket 9999999999Ti
expect 2 'not a whole number' suffix_unknown plan --bucket 4Q
expect 2 'out of range' stage_three plan --stage 3
expect 2 'not one of' precision_word plan --precision fp8
expect 2 'not one of' reduce_word plan --reduce native
expect 2 'ep must divide dp' ep_divides_dp plan --dp 4 --ep 3
expect 2 'replicas: 3 is refused: ep x replicas, 1 x 3, must divide dp, 4' replicas_divide_dp \
  plan --dp 4 --replicas 3
expect 2 'ep x replicas, 2 x 2, must divide dp, 6' replicas_of_experts_divide_dp \
  plan --dp 6 --ep 2 --replicas 2
expect 2 'refused at ZeRO stage 0' replicas_need_shards sim --dp 4 --replicas 2 --stage 0
expect 2 'allowed is 1 to dp, 2' replicas_limit train --dp 2 --replicas 4
expect 2 'pp·dp·tp' ranks_limit plan --pp 2 --dp 1048576
expect 2 'one number per stage' groups_count plan --pp 2 --groups 1,2,3
expect 2 'number from 1' groups_empty plan --groups 1,,2
expect 2 'number from 1' groups_zero plan --groups 0
expect 2 'out of range' rank_range plan --rank 1
expect 2 'power of two' loss_scale_power train --loss-scale 1000
expect 2 'needs min <= init' loss_scale_order train --loss-scale dynamic:init=2,min=4
expect 2 'not one of init' loss_scale_word train --loss-scale dynamic:foo=1
expect 2 'clip' clip_word train --clip x

# Each line: pattern that the refusal must contain, then the file's content.
n=0
while IFS='|' read -r pattern text; do
  n=$((n + 1))
  printf '%s' "$text" >"$tmp/c.json"
  expect 2 "$pattern" "config_${n}_$(echo "$pattern" | tr -c 'a-z0-9A-Z\n' _ | cut -c1-40)" \
    plan --config "$tmp/c.json"
done <<'X'
not JSON|
not JSON|{
not JSON|{"pp": 2
not JSON|{"pp": 2,}
not JSON|{"pp": 2} trailing
not JSON|{"pp": 2, "pp": 3}
not JSON|nul
write an object|[1, 2]
no such field; allowed are|{"ppp": 2}
not JSON|"x"
pp: "x" is not a whole number|{"pp": "x"}
pp: is a real number|{"pp": 1.5}
pp: is true|{"pp": true}
pp: is null|{"pp": null}
pp: 0 is out of range; allowed is 1 to|{"pp": 0}
pp: -9|{"pp": -9223372036854775808}
not JSON|{"pp": 99999999999999999999999}
stage: 7 is out of range|{"stage": 7}
precision: must be one of|{"precision": "fp64"}
precision: must be one of|{"precision": 1}
reduce: must be one of|{"reduce": "native"}
replicas: 0 is out of range|{"replicas": 0}
replicas: 2 is out of range; allowed is 1 to dp, 1|{"replicas": 2}
dynamic_shapes: is a string|{"dynamic_shapes": "yes"}
bucket: "16Zi"|{"bucket": "16Zi"}
groups: must be a list|{"groups": 2}
groups: must be a list|{"groups": []}
groups: 0 is out of range|{"groups": [0]}
params: must be a list|{"params": {}}
params\[0\]\.: is an integer|{"params": [1]}
params\[0\]\.numel: is missing|{"params": [{}]}
params\[0\]\.numel: -1 is out of range|{"params": [{"numel": -1}]}
params\[0\]\.nmel: no such field|{"params": [{"numel": 1, "nmel": 2}]}
params\[0\]\.name: must be|{"params": [{"numel": 1, "name": ""}]}
params\[0\]\.name: must be|{"params": [{"numel": 1, "name": 7}]}
params\[0\]\.frozen: is a string|{"params": [{"numel": 1, "frozen": "no"}]}
params\[1\] \(b\): stage|{"pp": 2, "params": [{"numel": 1, "stage": 1}, {"numel": 1, "name": "b"}]}
params\[0\].*stage|{"params": [{"numel": 1, "stage": 5}]}
tied|{"params": [{"numel": 1, "tied": 0}, {"numel": 2, "tied": 0}]}
must agree in fp32|{"params": [{"numel": 1, "tied": 0}, {"numel": 1, "tied": 0, "fp32": true}]}
params\[0\]\.fp32: is a string|{"params": [{"numel": 1, "fp32": "yes"}]}
expert|{"params": [{"numel": 1, "tied": 0, "expert": true}]}
optgroup|{"optgroups": 1, "params": [{"numel": 1, "optgroup": 3}]}
elements of the whole model|{"tp": 1024, "params": [{"numel": 1099511627776, "sharded": true}]}
optimizer: must be a list|{"optimizer": {}}
optimizer\[0\]\.kind: must be|{"optimizer": [{"kind": "lion"}]}
optimizer\[0\]\.beta1: 1 is out of range|{"optimizer": [{"beta1": 1}]}
optimizer\[0\]\.lrr: no such field|{"optimizer": [{"lrr": 1}]}
clip: is a string|{"clip": "1"}
clip: -1 is out of range|{"clip": -1}
loss_scale: must be a power of two|{"loss_scale": 3}
loss_scale: is a string|{"loss_scale": "8"}
loss_scale\.window: 0 is out of range|{"loss_scale": {"window": 0}}
loss_scale: needs min|{"loss_scale": {"init": 2, "min": 4}}
X

expect 2 'No such file' config_missing plan --config "$tmp/none.json"
expect 2 'not a regular file' config_is_directory plan --config /
expect 2 'not a regular file' config_is_device plan --config /dev/null
: >"$tmp/c.json"
expect 2 'not JSON' config_empty plan --config "$tmp/c.json"
printf '{"params":[]}' >"$tmp/c.json"
expect 0 ' 0 +1  0  +0 +0 ' config_without_entries_is_planned plan --config "$tmp/c.json"
mkfifo "$tmp/fifo"
for c in plan sim train; do
  expect 2 'not a regular file' "config_fifo_is_refused_at_once_by_$c" $c --config "$tmp/fifo"
done
expect 2 'not a regular file' config_device_zero plan --config /dev/zero
expect 2 'not JSON' config_binary plan --config "$zp"
head -c 100000 /dev/urandom >"$tmp/garbage"
expect 2 'not JSON' config_garbage plan --config "$tmp/garbage"
yes '[' | head -c 1000000 | tr -d '\n' >"$tmp/deep"
expect 2 'not JSON' config_deep plan --config "$tmp/deep"
# every truncation of a good file is refused
good='{"pp":2,"dp":2,"groups":[2,1],'\
'"params":[{"name":"a","numel":5},{"numel":3},{"numel":7,"stage":1}]}'
i=0
truncated=0
while [ $i -lt ${#good} ]; do
  printf '%s' "$good" | head -c $i >"$tmp/c.json"
  "$zp" plan --config "$tmp/c.json" >"$tmp/out" 2>&1
  [ $? -eq 2 ] || truncated=1
  i=$((i + 1))
done
verdict $truncated config_truncated_anywhere_is_refused
printf '{"groups":[3],"params":[{"numel":33}]}' >"$tmp/k.json"
printf '{"pp":2,"groups":[1,3],"params":[{"numel":33,"tied":0},{"numel":1,"stage":1},%s' \
  '{"numel":9,"stage":1,"frozen":true},{"numel":33,"stage":1,"tied":0},{"numel":2,"stage":1}]}' \
  >"$tmp/k2.json"
for c in plan sim; do
  expect 2 'stage 0 has 1 trained entry and cannot use 3 optimizer groups' \
    "groups_beyond_the_users_list_are_refused_by_$c" $c --config "$tmp/k.json"
  expect 2 'stage 1 has 2 trained entries and cannot use 3 optimizer groups' \
    "groups_count_neither_tied_nor_frozen_in_$c" $c --config "$tmp/k2.json"
  expect 0 . "groups_that_fit_the_users_list_$c" $c --config "$tmp/k2.json" --groups 1,2
done
expect 0 'pipeline stage: 9$' groups_pad_the_built_in_list sim --groups 9
expect 2 'stage 0 has 1 trained entry' groups_beyond_the_list_of_a_flag \
  plan --config "$tmp/k.json" --groups 2

# A good file with characters changed: never a crash, a hang or a sanitizer's report.
params='[{"numel":33},{"numel":5,"stage":1},{"numel":10,"stage":7}]'
echo '{"pp":3,"groups":[2,1,1],"params":'"$params}" >"$tmp/c.json"
expect 2 'params\[2\].*stage' entry_of_a_stage_that_is_not_there_plan plan --config "$tmp/c.json"
expect 2 'params\[2\].*stage' entry_of_a_stage_that_is_not_there_sim sim --config "$tmp/c.json"
seed='{"pp":3,"dp":2,"tp":2,"ep":2,"stage":1,"groups":[2,1,1],"micro_batches":3,"bucket":7,'\
'"align":2,"steps":1,"clip":0.5,"loss_scale":{"init":8,"window":2},'\
'"params":[{"numel":33,"tied":0},{"numel":4},{"numel":6,"unused_percent":50,"unused":[[0,1]]},'\
'{"numel":5,"stage":1,"expert":true},{"numel":9,"stage":1,"frozen":1},'\
'{"numel":10,"stage":2,"sharded":true},{"numel":33,"stage":2,"tied":0}]}'
short='{"pp":3,"groups":[2,1,1],"params":[{"numel":33},{"numel":5,"stage":1},'\
'{"numel":10,"stage":2}]}' # K = 2 does not fit stage 0
printf '%s' "$seed" >"$tmp/c.json"
expect 0 . mutated_file_is_good_at_first_plan plan --config "$tmp/c.json"
expect 0 . mutated_file_is_good_at_first_sim sim --config "$tmp/c.json"
for c in plan sim; do
  awk -v n=150 -v c="$c" -v text="$seed" -v short="$short" 'BEGIN {
    srand(c == "plan" ? 1 : 2)
    for (i = 0; i < n; i++) {
      t = i % 2 ? text : short
      for (k = int(1 + 2 * rand()); k > 0; k--) {
        do at = int(1 + length(t) * rand())
        while (rand() < 0.8 && substr(t, at, 1) !~ /[0-9]/)
        new = substr("00112233456789-.,\"{}[]ex", int(1 + 23 * rand()), 1)
        if (rand() < 0.7) new = int(10 * rand())
        t = substr(t, 1, at - 1) new substr(t, at + (rand() < 0.9))
      }
      print t
    }
  }' >"$tmp/mutants"
  worst=
  while IFS= read -r mutant; do
    printf '%s' "$mutant" >"$tmp/c.json"
    timeout 600 "$zp" $c --config "$tmp/c.json" >"$tmp/out" 2>&1
    got=$?
    if [ $got -gt 2 ] || grep -qE 'Sanitizer|runtime error' "$tmp/out"; then
      worst="exit code $got: $mutant"
    fi
  done <"$tmp/mutants"
  [ "$(wc -l <"$tmp/mutants")" -eq 150 ] && [ -z "$worst" ]
  verdict $? "mutated_config_never_harms_$c" "$worst"
done
printf '%s' "$good" >"$tmp/c.json"
json config_is_read '.config.pp == 2 and .config.dp == 2 and .config.optgroups == 2' \
  plan --json --config "$tmp/c.json"
json flags_override_the_file '.config.dp == 3 and .config.pp == 2' \
  plan --json --config "$tmp/c.json" --dp 3

# Entries of two dtypes are two flat groups; their parameters take 4·4 and 8·2 bytes.
mixed='{"stage":2,"entry_align":1,"precision":"bf16",
  "params":[{"numel":8},{"numel":4,"fp32":true}]}'
printf '%s' "$mixed" >"$tmp/c.json"
json entries_of_two_dtypes_are_two_flat_groups '.rank[0] | .memory.parameters == 32 and
  [.flats[] | [.dtype, .elements]] == [["fp32", 4], ["bf16", 8]]' \
  plan --json --config "$tmp/c.json" --rank 0 --shards

# Lines of standard input are answered one by one, whatever bytes are in them.
recipe='precision=fp32,reduce=exact,M=1,bucket=4,pp=1,dp=1,tp=1,ep=1,stage=1,steps=1,list=3@0.0'
printf '\377,\302\n%s\n' "$recipe" | "$zp" cases >"$tmp/json" 2>"$tmp/out"
[ $? -eq 0 ] && jq -es 'length == 2 and (.[0].refused | length) > 0 and .[1].world == 1' \
  "$tmp/json" >"$tmp/jq" 2>&1
verdict $? a_recipe_that_is_not_UTF_8_is_refused_and_the_next_is_answered "$(cat "$tmp/out")"
"$zp" cases "$(printf 'pp=\342\200\256')" >"$tmp/json" 2>"$tmp/out"
LC_ALL=C grep -q '[^ -~]' "$tmp/json"
[ $? -eq 1 ] && jq -e '.refused' "$tmp/json" >/dev/null
verdict $? cases_are_printed_in_ASCII "$(cat "$tmp/json")"
printf '{}\n[]\n' | "$zp" oracle >"$tmp/json" 2>"$tmp/out"
[ $? -eq 2 ] && grep -q 'line 1: ' "$tmp/out" && grep -q 'line 2: it is no JSON object' "$tmp/out"
verdict $? oracle_names_each_line_that_it_refuses "$(cat "$tmp/out")"
printf '%s' '{"pp": 1, "params": [{"name": "\u202e", "numel": 5}]}' >"$tmp/c.json"
"$zp" plan --json --config "$tmp/c.json" --rank 0 --shards >"$tmp/json" 2>"$tmp/out"
[ $? -eq 0 ] && grep -q '\\u202E' "$tmp/json"
verdict $? plan_escapes_names_in_JSON "$(grep -a -m1 name "$tmp/json")"
json suffixes '.config.bucket == 16777216' plan --json --bucket 16Mi
finish
