# step_bench, by which gpu-check measures steps of the engine, on simdev: it prints the launches,
# the memory and the bytes that `zeroproof counters` counts for the same list. spec: STEP-1
# inputs: build/step_bench build/zeroproof build/zeroproof-simdev-counters tests/fixtures/lib.sh
. tests/fixtures/lib.sh
[ "${SAN:-0}" = 1 ] && exit 0 # the sanitized build has no zeroproof-simdev
bench=${ZP_BUILD:-build}/step_bench

# The list of gpt2.c's "tiny".
jq -n '[800, 128] + [range(2) | (16, 16, 768, 48, 256, 16, 16, 16, 1024, 64, 1024, 16)] + [16, 16] |
  {params: [range(length) as $i | {name: "p\($i)", numel: .[$i]}]}' >"$tmp/model.json"

run() { # run CASE: one line of JSON in $tmp/step
  timeout 600 "$bench" "$1" >"$tmp/step" 2>"$tmp/err" && [ "$(wc -l <"$tmp/step")" -eq 1 ]
}

compare() { # compare NAME FILTER OPTIONS...: with $s, the step, and $c, its counts
  name=$1
  filter=$2
  shift 2
  timeout 600 "$zp" counters --json --config "$tmp/model.json" --dp 1 --sums native --align 64 \
    --entry-align 64 "$@" >"$tmp/counts" 2>"$tmp/err" &&
    jq -en --slurpfile s "$tmp/step" 'input[0] as $c | $s[0] as $s | '"$filter" "$tmp/counts" \
      >"$tmp/jq" 2>&1
  verdict $? "$name" "$(head -c 300 "$tmp/err" "$tmp/jq" | tr '\n' ' ') $(cat "$tmp/step")"
}

same='($s.launches == ([$c.launches.by_use[] | .kernels + .copies + .memsets] | add)) and
  $s.params == $c.parameters and $s.allocated == $c.memory.device and $s.peak == $s.allocated and
  $s.planned == ([$c.memory.by_use[].planned // 0] | add) and $s.clock == "simulated"'
for stage in 1 2; do
  for mb in 1 8; do
    for bucket in 500 4000; do
      at=stage_${stage}_M_${mb}_bucket_$bucket
      run tiny,$stage,$mb,$bucket,0
      verdict $? "steps_run:$at" "$(head -c 300 "$tmp/err")"
      # The ideal, and what NCCL copies for one rank, from slots; this list's entries are padded.
      compare "launches_memory_and_bytes_are_those_counted:$at" "$same and
        (\$s.bytes / \$s.params - 8 * (if $stage == 2 then $mb else 0 end)) == \$c.traffic.ideal" \
        --stage $stage --micro-batches $mb --bucket $bucket
    done
  done
done
run tiny,2,2,500,1
compare offload_has_no_bound_and_less_memory "$same and \$s.bytes == 0" \
  --stage 2 --micro-batches 2 --bucket 500 --offload

run tiny,2,2,500,0,partial
compare partial_gathers_launch_the_same "$same and \$s.option == \"partial gathers\"" \
  --stage 2 --micro-batches 2 --bucket 500
run tiny,1,2,500,0,fp32
compare fp32_gradients_are_those_of_counters "$same and \$s.option == \"fp32 gradients\" and
  (\$s.bytes / \$s.params) == \$c.traffic.ideal" \
  --stage 1 --micro-batches 2 --bucket 500 --fp32-gradients
timeout 600 "$bench" within=0 tiny,2,1,500,0 tiny,1,1,500,0 >"$tmp/out" 2>"$tmp/err" &&
  [ "$(cat "$tmp/out")" = '{"left_out": 2}' ]
verdict $? cases_that_would_begin_late_are_left_out "$(cat "$tmp/out" "$tmp/err")"

timeout 600 "$bench" launch >"$tmp/out" 2>"$tmp/err" &&
  jq -es 'map(.launch) == ["non-blocking", "blocking"]' "$tmp/out" >/dev/null
verdict $? both_ways_to_launch_are_measured "$(head -c 300 "$tmp/err")"

for wrong in huge,2,1,500,0 tiny,2,1,500 "tiny,2,1,500,0," tiny,2,1,500,0,other tiny,3,1,500,0 \
  tiny,2,0,500,0; do
  timeout 600 "$bench" "$wrong" >"$tmp/out" 2>"$tmp/err"
  [ $? -eq 1 ] && [ ! -s "$tmp/out" ] && grep -q '^step_bench: ' "$tmp/err"
  verdict $? "refused:$wrong" "$(head -c 300 "$tmp/err")"
done
finish
