# plan: its checks on many shapes, its documents, its refusals. spec: LEDG-2, PIPE-5
. tests/cli/lib.sh

cat >"$tmp/mixed.json" <<'X'
{"pp":3,"dp":6,"ep":3,"tp":2,"micro_batches":3,"bucket":7,"align":2,
 "params":[{"name":"e","numel":10,"tied":0},{"numel":0},{"numel":33,"sharded":true},
  {"numel":9,"expert":true},{"numel":5,"frozen":true},
  {"numel":3,"stage":1,"tied":1},{"numel":3,"stage":1,"tied":1},
  {"numel":12,"stage":1,"expert":true},{"numel":10,"stage":2,"tied":0},
  {"numel":3,"stage":2,"tied":1},{"numel":3,"stage":2,"frozen":true}]}
X
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

json plan_json '.ranks == 8 and (.first_rank_of_each_stage | length) == 4' plan --json --pp 4 --dp 2
json rank_json '.rank[0].rank == 5 and (.rank[0].communications | length) > 10' \
  plan --json --pp 4 --dp 2 --rank 5 --ledger
expect 0 'Partition of stage 1' rank_table plan --pp 2 --rank 1 --ledger
expect 0 'stage  3' picture plan --pp 4 --micro-batches 8

expect 0 'wrote' trace plan --pp 4 --dp 2 --bucket 64Mi --trace "$tmp/t.json"
jq -e '[.traceEvents[] | select(.ph == "X" and .cat == "forward")] | length == 16' "$tmp/t.json" \
  >"$tmp/jq" 2>&1
verdict $? trace_has_every_forward "$(cat "$tmp/jq")"
jq -e '[.traceEvents[] | select(.ph == "X") | .pid] | unique == [0, 1, 2, 3]' "$tmp/t.json" \
  >"$tmp/jq" 2>&1
verdict $? trace_has_a_process_per_stage "$(cat "$tmp/jq")"
expect 0 'wrote' svg plan --pp 4 --micro-batches 8 --svg "$tmp/p.svg"
[ "$(grep -c '<title>forward' "$tmp/p.svg")" = 32 ] && tail -1 "$tmp/p.svg" | grep -q '</svg>'
verdict $? svg_has_every_forward

expect 3 'No such file' svg_unwritable plan --svg "$tmp/none/p.svg"
expect 3 'No such file' trace_unwritable plan --trace "$tmp/none/p.json"
expect 2 'at most' svg_too_large plan --micro-batches 100000 --bucket 1Ti --svg "$tmp/p.svg"
expect 2 'larger' program_too_long plan --bucket 1
expect 2 'larger|Use larger' check_too_long plan --bucket 1 --check
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
