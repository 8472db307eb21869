# plan: its checks on many shapes, its documents, its refusals. spec: LEDG-2, PIPE-5
# inputs: build/zeroproof tests/fixtures/lib.sh
. tests/fixtures/lib.sh

cat >"$tmp/mixed.json" <<'X'
{"pp":3,"dp":6,"ep":3,"tp":2,"micro_batches":3,"bucket":7,"align":2,
 "params":[{"name":"e","numel":10,"tied":0},{"numel":0},{"numel":33,"sharded":true},
  {"numel":9,"expert":true},{"numel":5,"frozen":true},
  {"numel":3,"stage":1,"tied":1},{"numel":3,"stage":1,"tied":1},
  {"numel":12,"stage":1,"expert":true},{"numel":10,"stage":2,"tied":0},
  {"numel":3,"stage":2,"tied":1},{"numel":3,"stage":2,"frozen":true}]}
X
printf '{"dp":2,"entry_align":1,"params":[{"numel":5}]}' >"$tmp/five.json"
for stage in 0 1 2; do
  for reduce in ordered exact; do
    expect 0 'all invariants hold' "check_mixed_stage_${stage}_$reduce" \
      plan --check --config "$tmp/mixed.json" --stage $stage --reduce $reduce
    expect 0 'all invariants hold' "check_dynamic_stage_${stage}_$reduce" \
      plan --check --config "$tmp/mixed.json" --stage $stage --reduce $reduce --dynamic-shapes
  done
done
for shape in "1 1 1" "1 5 1" "4 1 1" "2 3 2" "7 2 1" "16 4 2"; do
  set -- $shape
  for m in 1 2 5 9; do
    expect 0 'all invariants hold' "check_7b_$1_$2_$3_m$m" \
      plan --check --pp $1 --dp $2 --tp $3 --micro-batches $m
  done
done
expect 0 'all invariants hold' check_unequal_groups plan --check --pp 2 --dp 2 --groups 2,1
json check_json '.ok and .ranks == 64 and (.checks | length) > 10' \
  plan --check --json --pp 4 --dp 8 --tp 2

for shape in "1 4 2 1" "3 6 3 2" "2 8 2 2" "1 3 3 1"; do
  set -- $shape
  expect 0 'replica groups equal on all members' "check_replicas_$1_$2_$3" \
    plan --check --pp $1 --dp $2 --replicas $3 --stage 1 --micro-batches 3
  expect 0 'all invariants hold' "check_mixed_replicas_$1_$2_$3" \
    plan --check --config "$tmp/mixed.json" --dp $(($2 * 3)) --replicas $3 --stage $4
done
# spec: STRM-2
# three optimizer groups, of which two buckets are filled at a time
json slots_are_one_more_than_buckets_are_filled '.first_rank_of_each_stage[0].memory.slots ==
  3 * 2 * 1048576' plan --json --bucket 1Mi
json slots_are_an_option '.config.slots == 5 and .first_rank_of_each_stage[0].memory.slots ==
  5 * 2 * 1048576' plan --json --bucket 1Mi --slots 5
json slots_are_at_least_the_buckets_that_are_filled '.first_rank_of_each_stage[0].memory.slots ==
  2 * 2 * 1048576' plan --json --bucket 1Mi --slots 1
expect 0 ', slots 5$' slots_are_printed plan --slots 5
expect 2 '1025 is out of range; allowed is 0 to 1024' too_many_slots plan --slots 1025
expect 0 'all invariants hold' slots_are_checked plan --check --dp 2 --bucket 1Mi --slots 1 \
  --micro-batches 2
# A block's ranks: half of the data-parallel ranks; each element has an owner in each block.
# spec: TOPO-6, RED-9
json replicas_in_json '.config.replicas == 2 and .ranks == 8 and
  ([.all_ranks[].flats[].members] | unique == [2]) and
  ([.all_ranks[] | .ledger[] | select(.group == "replica") | .phase] | unique == ["init", "step"])
  and ([.all_ranks[] | .pp as $p | .shard_map[] | .runs[] | {id: [$p, .entry], count}] |
    group_by(.id) | all(.[]; (map(.count) | add) % 2 == 0))' \
  plan --json --all-ranks --pp 2 --dp 4 --replicas 2 --bucket 64Mi
expect 0 'all_reduce.sum between replicas' rank_table_lists_sums_between_replicas \
  plan --dp 4 --replicas 2 --rank 3 --ledger
json plan_json '.ranks == 8 and (.first_rank_of_each_stage | length) == 4' plan --json --pp 4 --dp 2
json rank_json '.rank[0].rank == 5 and (.rank[0].communications | length) > 10' \
  plan --json --pp 4 --dp 2 --rank 5 --ledger
json rank_json_has_all_phases '[.rank[0].communications[].phase] | unique ==
  ["init", "load", "save", "step"]' plan --json --pp 4 --dp 2 --rank 5 --ledger
json ledger_has_creation_broadcasts_save_and_load '.rank[0] | ([.communications[] | select(
  .phase == "init") | .op] | unique | length == 2) and ([.communications[] | select(
  .phase == "save" and .group == "dp")] | length > 0) and ([.ledger[] | select(.phase == "load" and
  .group == "world") | .ops] == [1]) and ([.communications[] | select(.phase == "init" and
  .what == "communicator")] | length >= 5)' plan --json --pp 4 --dp 2 --rank 5 --ledger
json ledger_sums_count_the_communications '.rank[0] | . as $r | all(.ledger[]; . as $l |
  .ops == ([$r.communications[] | select(.phase == $l.phase and .group == $l.group)] | length))' \
  plan --json --pp 4 --dp 2 --rank 5 --ledger
for phase in init step save load; do
  expect 0 "^  $phase .*ops in the program" "rank_table_has_$phase" plan --pp 2 --dp 2 --rank 1
done
expect 0 'create|split|communicator' rank_table_lists_creations plan --pp 2 --dp 2 --rank 1 --ledger

# The shard maps of a reduction group tile every trained entry; copies are counted once per group:
# an entry's elements on (pp, tp) for dp, on (pp, tp, dp mod ep) for experts. spec: PART-4, PART-6
tiles='(.all_ranks | length) == .ranks and .ranks == ([.all_ranks[].rank] | unique | length) and
  (.config.ep) as $ep | [.all_ranks[] | . as $r | .shard_map[] | . as $m |
    ($m.buckets | all(.part * 6 == .padded or .part * 2 == .padded)) as $parts |
    .runs[] | {id: [$r.pp, $r.tp, .entry, (if $m.group == "edp" then $r.dp % $ep else -1 end)],
      $parts, offset, count,
      fits: (.shard_offset >= $m.buckets[.bucket].shard_offset and .shard_offset + .count <=
        $m.buckets[.bucket].shard_offset + $m.buckets[.bucket].part)}] | group_by(.id) |
  (length == 2 * (6 + 2 * 3)) and all(.[]; sort_by(.offset) |
    all(.[]; .parts and .fits and .count > 0) and
    (reduce .[] as $x (0; if . == $x.offset then . + $x.count else -1 end)) ==
      (.[0].id[2] as $e | [10, 0, 33, 9, 5, 3, 3, 12, 10, 3, 3][$e]))'
for stage in 0 1 2; do
  json "shard_maps_tile_every_entry_once_stage_$stage" "$tiles" \
    plan --json --all-ranks --config "$tmp/mixed.json" --stage $stage
done
# 5 bf16 elements of 2 ranks: a bucket of 6, parts of 3. Gathers write the parameters of stages 1
# and 2, all 6. Scratch: 6 bf16 that an all-gather sends at
# most, and the larger of 6 fp32 (gathered state) and the sums of what a rank holds, 4 or 72 bytes
# each: 3 of them, at stage 0 all 6. The exact sums that stage 2 keeps have 40 bytes, and means take
# their place. spec: PART-5, STEP-8, RED-5, SUM-8
memory() { # memory NAME EXPECTED ARGS: window, slots, reduced, mean, state, scratch
  name=$1 want=$2
  shift 2
  json "memory_$name" ".rank[0].memory | [.parameters, .window, .slots, .reduced, .mean, .state,
    .scratch] == $want and .total == ([.parameters, .window, .slots, .reduced, .mean, .state,
    .scratch, .program] | add)" plan --json --rank 1 --config "$tmp/five.json" "$@"
}
memory ordered_0 '[10, 24, 0, 0, 0, 72, 36]' --stage 0 --reduce ordered
memory ordered_1 '[12, 24, 0, 0, 0, 36, 36]' --stage 1 --reduce ordered
memory ordered_2 '[12, 0, 24, 12, 0, 36, 36]' --stage 2 --reduce ordered
memory exact_0 '[10, 432, 0, 0, 24, 72, 444]' --stage 0 --reduce exact
memory exact_1 '[12, 432, 0, 0, 12, 36, 228]' --stage 1 --reduce exact
memory exact_2 '[12, 0, 24, 120, 0, 36, 228]' --stage 2 --reduce exact
# On a GPU: a gradient of 10 bytes takes 256 (ZP_EARLY_ALIGN), and so twice a bucket's and the
# largest, but no more than all; native sums need 2 slots of 6 fp32 in the place of 6 bf16.
json memory_on_a_gpu '.rank[0].memory | .device.early == 256 and .device.native == 24 and
  .device.total == .total - .program + 256' plan --json --rank 1 --config "$tmp/five.json" \
  --stage 2 --reduce ordered
json memory_on_a_gpu_without_slots '.rank[0].memory.device.native == 0' plan --json --rank 1 \
  --config "$tmp/five.json" --stage 1 --reduce ordered
printf '{"tied_keys":1,"params":[{"numel":5,"tied":0},{"numel":5,"tied":0}]}' >"$tmp/shared.json"
json memory_counts_shared_storage_once '.rank[0].memory.parameters == 10' \
  plan --json --rank 0 --config "$tmp/shared.json"

json rank_json_has_its_shard_map '.rank[0].shard_map == [{"flat": 0, "group": "dp", "owner": 1,
  "buckets": [{"bucket": 0, "elements": 5, "padded": 6, "part": 3, "shard_offset": 0}],
  "runs": [{"entry": 0, "name": "p0", "offset": 3, "count": 2, "bucket": 0, "shard_offset": 0}]}]' \
  plan --json --rank 1 --config "$tmp/five.json"
expect 0 'bucket 0: 5 elements, padded to 6, parts of 3' shards_table \
  plan --rank 1 --shards --config "$tmp/five.json"
expect 0 '  0 +0 +2 +0 +p0 +3$' shards_table_has_the_run \
  plan --rank 1 --shards --config "$tmp/five.json"
# Entries of 5 and 3 elements, aligned by default to 128 bytes: 64 bf16 elements. The second lies
# first in the flat group, and each rank owns one, with its padding; gathers write parameters where
# they are used, 128 elements, and need no scratch. The padding is no part of the map. spec: PART-2
aligned='{"dp":2,"params":[{"numel":5},{"numel":3}]}'
printf '%s' "$aligned" >"$tmp/aligned.json"
json entries_are_aligned_by_default '.config.entry_align == 64 and .rank[0].memory.parameters == 256
  and ([.rank[0].entries[] | [.start, .numel]] == [[64, 5], [0, 3]]) and
  .rank[0].flats[0].elements == 128' plan --json --rank 0 --config "$tmp/aligned.json"
for rank in 0 1; do
  json "padding_is_in_no_shard_map_$rank" ".rank[0].shard_map[0].runs | length == 1 and
    .[0] == {entry: (1 - $rank), name: .[0].name, offset: 0, count: [3, 5][$rank], bucket: 0,
      shard_offset: 0}" plan --json --rank $rank --config "$tmp/aligned.json"
done
expect 0 'all invariants hold' check_aligned plan --check --config "$tmp/aligned.json"
expect 2 'entry-align.*allowed is 0 to 4096' entry_align_out_of_range plan --entry-align 4097
expect 0 '^Warning: exact sums of 72 bytes an element take 432 B of rank 0' \
  exact_sums_of_all_elements_are_warned_of plan --config "$tmp/five.json" --stage 1 --reduce exact
json the_warning_is_in_json '.rank[0].warning | startswith("exact sums of 72 bytes")' \
  plan --json --rank 0 --config "$tmp/five.json" --stage 0 --reduce exact
for other in "2 exact" "1 ordered"; do
  json "no_warning_at_stage_${other% *}_${other#* }" '.rank[0] | has("warning") | not' \
    plan --json --rank 0 --config "$tmp/five.json" --stage ${other% *} --reduce ${other#* }
done
expect 2 'needs --json' all_ranks_in_text_is_refused plan --all-ranks
expect 2 'needs --rank' shards_of_no_rank_is_refused plan --shards
expect 2 'needs --rank' ledger_of_no_rank_is_refused plan --ledger
expect 0 'Partition of pipeline stage 1' rank_table plan --pp 2 --rank 1 --ledger
expect 0 'stage  3' picture plan --pp 4 --micro-batches 8

expect 0 'wrote' trace plan --pp 4 --dp 2 --bucket 64Mi --trace "$tmp/t.json"
jq -en 'input | [.traceEvents[] | select(.ph == "X" and .cat == "forward")] | length == 16' \
  "$tmp/t.json" >"$tmp/jq" 2>&1
verdict $? trace_has_every_forward "$(cat "$tmp/jq")"
jq -en 'input | [.traceEvents[] | select(.ph == "X") | .pid] | unique == [0, 1, 2, 3]' \
  "$tmp/t.json" >"$tmp/jq" 2>&1
verdict $? trace_has_a_process_per_stage "$(cat "$tmp/jq")"
expect 0 'wrote' svg plan --pp 4 --micro-batches 8 --svg "$tmp/p.svg"
[ "$(grep -c '<title>forward' "$tmp/p.svg")" = 32 ] && tail -1 "$tmp/p.svg" | grep -q '</svg>'
verdict $? svg_has_every_forward

json files_as_json '. == {"trace": "'"$tmp"'/t.json", "svg": "'"$tmp"'/p.svg"}' \
  plan --pp 2 --json --trace "$tmp/t.json" --svg "$tmp/p.svg"
json files_as_json_alone 'keys == ["svg"]' plan --pp 2 --json --svg "$tmp/p.svg"

expect 3 'No such file' svg_unwritable plan --svg "$tmp/none/p.svg"
expect 3 'No such file' trace_unwritable plan --trace "$tmp/none/p.json"
expect 2 'at most' svg_too_large plan --micro-batches 100000 --bucket 1Ti --svg "$tmp/p.svg"
expect 2 'larger' program_too_long plan --bucket 1
expect 2 'larger|Use larger' check_too_long plan --bucket 1 --check
for how in "" --json --check "--rank 0" "--rank 0 --json" "--check --json"; do
  timeout 600 "$zp" plan --micro-batches 1048576 $how >"$tmp/out" 2>"$tmp/err"
  [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -q 'at most 67108864' "$tmp/err"
  verdict $? "refusal_of_a_long_program_prints_nothing_else_$(echo "$how" | tr -d ' ')" \
    "$(head -c 200 "$tmp/out" "$tmp/err")"
done
"$zp" plan --micro-batches 1048576 --trace "$tmp/none.json" >"$tmp/out" 2>&1
[ $? -eq 2 ] && [ ! -e "$tmp/none.json" ]
verdict $? refusal_of_a_long_program_writes_no_file
expect 0 '67108864' help_states_the_limit plan --help
expect 0 '33554432' help_states_the_limit_of_check plan --help
cat >"$tmp/long.json" <<'Y'
{"micro_batches":1048576,"bucket":1,"entry_align":1,"params":[{"numel":18}]}
Y
for how in "" --json; do
  timeout 600 "$zp" plan --check $how --config "$tmp/long.json" >"$tmp/out" 2>"$tmp/err"
  [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -q 'at most 33554432' "$tmp/err"
  verdict $? "check_refuses_what_only_plan_can_hold_$how" "$(head -c 200 "$tmp/out" "$tmp/err")"
done
expect 2 'all 1048576 ranks have up to 9.47e\+11 ops.*at most 6.87e\+10' \
  check_refuses_more_ops_than_an_hour_allows \
  plan --check --dp 1048576 --micro-batches 64 --bucket 1Mi
expect 2 'default parameter list' list_cannot_be_cut plan --tp 3
printf '{"params":[{"numel":1099511627776}]}' >"$tmp/huge.json"
expect 2 'larger' huge_entry plan --config "$tmp/huge.json" --bucket 1
expect 0 'all invariants hold' huge_bucket plan --config "$tmp/huge.json" --bucket 1Ti --check
if [ -e /dev/full ]; then
  "$zp" plan --pp 4 >/dev/full 2>"$tmp/out"
  [ $? -eq 3 ]
  verdict $? full_disk_is_no_success "$(cat "$tmp/out")"
fi
finish
