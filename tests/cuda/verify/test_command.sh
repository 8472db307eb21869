# zeroproof fuzz, sim and train with --engine cuda: findings, output, refused options, replays; and
# gpt for 50 steps, equal to ref. spec: RED-4, RED-5, STEP-2, STEP-3
# inputs: build/zeroproof build/zeroproof-simdev* tests/fixtures/lib.sh LICENSE spec/*.md
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}
export TSAN_OPTIONS=symbolize=0

# ---- fuzz, sim
for tsan in "" "--tsan"; do
  n=$([ -n "$tsan" ] && echo under_tsan || echo plain)
  expect 0 'nothing found' "fuzz_finds_nothing_$n" fuzz --engine cuda $tsan --cases 12
  expect 0 'clean: 2 steps on 4 ranks, the CUDA engine equal to ref' "sim_is_clean_$n" \
    sim --engine cuda $tsan --case pp=2,dp=2,M=2,stage=2,bucket=4,steps=2,list=5@0.0+7@0.0+6@1.0
  # faults of the model; test_engine_faults.sh tests those of the engine
  for fault in forgotten announced-twice whole-stream; do
    expect 1 'repeat: ' "fuzz_finds_${fault}_$n" fuzz --engine cuda $tsan --fault "$fault" \
      --schedules 4 --seconds 60
    replay=$(sed -n "s/.*--replay '\(.*\)'.*/\1/p" "$tmp/out")
    clause=$(sed -n "s/^case .* failed: \([A-Za-z0-9-]*\).*/\1/p" "$tmp/out")
    expect 1 "failed: .*${clause:-nothing}" "replay_shows_${fault}_$n" fuzz --engine cuda $tsan \
      --fault "$fault" --replay "$replay"
    expect 1 "failed: .*${clause:-nothing}" "sim_shows_${fault}_$n" sim --engine cuda $tsan \
      --fault "$fault"
  done
done
expect 1 "under schedule [0-9]*, the case's first: --schedules 1 replays it" \
  sim_prints_how_to_replay_an_order sim --engine cuda --fault wrong-stream
sed -n 's/^\(failed: [^(]*\).*/\1/p' "$tmp/out" >"$tmp/failed" # without what follows
expect 1 "$(cat "$tmp/failed")" the_printed_command_replays_it sim --engine cuda \
  --fault wrong-stream --schedules 1
json fuzz_lists_unsupported_features \
  '.engine == "cuda" and .orders == 48 and .distinct_orders == 48 and .found == null
   and .distinct_orders_per_core_hour > 0 and (.not_supported_yet | type) == "object"' \
  fuzz --engine cuda --cases 3 --schedules 16 --json
# ---- The happens-before check; timelines
expect 0 'happens-before check examined 4 executions: each respects the order that the plan' \
  sim_compares_the_order_with_the_plan sim --engine cuda
json fuzz_compares_the_order_of_each_case_with_the_plan \
  '.cases == 12 and .compared_with_the_plan == 12' \
  fuzz --engine cuda --cases 12 --schedules 1 --json
expect 1 'redundant wait: the second of these waits for the first' a_redundant_wait_is_a_finding \
  sim --engine cuda --fault whole-stream --trace "$tmp/t.json" --svg "$tmp/t.svg"
[ "$(grep -c 'class="o"' "$tmp/t.svg")" -gt 0 ] && tail -1 "$tmp/t.svg" | grep -q '</svg>' &&
  jq -en 'input | [.traceEvents[] | select(.name == "superfluous wait")] | length > 0' \
    "$tmp/t.json" >/dev/null
verdict $? timelines_mark_a_redundant_wait "$(head -c 200 "$tmp/t.json")"
small_case=pp=2,dp=2,M=2,stage=2,bucket=4,steps=2,list=5@0.0+7@0.0+6@1.0,schedule=5
expect 0 'the timeline of schedule 5: .*/r.svg' a_replay_draws_its_timeline fuzz --engine cuda \
  --replay $small_case --svg "$tmp/r.svg"
! grep -q 'class="[ko]"' "$tmp/r.svg" && grep -q 'rest' "$tmp/r.svg"
verdict $? the_timeline_of_a_clean_run_has_no_marks
expect 1 'announced twice' a_run_that_ends_early_is_drawn sim --engine cuda \
  --fault announced-twice --svg "$tmp/e.svg"
tail -1 "$tmp/e.svg" | grep -q '</svg>'
verdict $? a_run_that_ends_early_is_drawn_to_its_end
expect 1 'missing: free.wait' a_slot_refilled_too_early_is_found sim --engine cuda --fault refill \
  --svg "$tmp/race.svg"
grep -q 'RACE for bucket slot .: the run does not order 1 before 2' "$tmp/race.svg"
verdict $? the_timeline_describes_the_race
expect 3 'timeline: it requires one host a rank' several_hosts_have_no_timeline sim --engine cuda \
  --schedules 1 --svg "$tmp/h.svg" --case dp=2,stage=2,list=4@0.0,schedule=7
expect 3 'timeline: .*No such file' a_timeline_in_a_missing_folder_fails sim --engine cuda \
  --svg "$tmp/none/t.svg"
expect 2 'give it with --replay' fuzz_draws_only_a_replayed_case fuzz --engine cuda \
  --trace "$tmp/t.json"
expect 2 '--svg is for --engine cuda' svg_requires_engine_cuda sim --svg "$tmp/t.svg"

json a_case_is_the_same_in_both_builds '.orders == 3' \
  sim --engine cuda --json --schedules 3 --case dp=3,stage=2,list=4@0.0

# a loop of the caller's own, in which no gradient separates the micro-batches' losses
expect 0 '^clean: ' losses_where_nothing_is_trained fuzz --engine cuda --replay \
  precision=fp32,reduce=ordered,M=2,stage=0,seed=1,optim=sgd,schedule=306325182229

# ---- Refused options, and missing programs
for option in "--cases 2" "--seconds 1" "--seed 2" "--jobs 1" --shares; do
  expect 2 "${option%% *} has no effect with --replay" "replay_refuses_${option%% *}" \
    fuzz --engine cuda $option --replay list=4@0.0
done
for option in --offload "--schedules 2" "--trace t" "--svg s"; do
  expect 2 "${option%% *} has no effect here" "the_adapter_refuses_${option%% *}" \
    adapter --engine cuda $option
done
for fault in whole-stream drop-sync:resumed.wait drop-sync:ended.host; do
  expect 2 "cannot show '$fault'" "the_adapter_refuses_$fault" adapter --engine cuda --fault $fault
done
expect 1 'whole-stream' a_redundant_wait_is_found_with_offload fuzz --engine cuda --offload \
  --fault whole-stream --cases 40
json fuzz_counts_the_options_of_the_engine '.axes as $a | all("partial gathers", "lent memory",
  "early bytes", "unused early"; $a[.] > 0 and $a[.] <= 1)' \
  fuzz --engine cuda --cases 12 --seed 3 --json
json the_reference_has_no_such_options '.axes | has("bucket slots") and
  (has("lent memory") | not)' fuzz --cases 10 --json
json offload_is_honored_with_a_fault '.orders > 0 and .orders_with_offload == .orders' \
  fuzz --engine cuda --offload --fault drop-sync:meta.host --json --schedules 2 --cases 2
expect 2 'is not one of: ref cuda' an_unknown_engine_is_refused fuzz --engine none
expect 2 '--tsan is for --engine cuda' tsan_requires_engine_cuda fuzz --tsan
expect 2 '--schedules is for --engine cuda' schedules_requires_engine_cuda sim --schedules 3
expect 2 'which is for --engine cuda' a_schedule_requires_engine_cuda fuzz \
  --replay schedule=3,list=4@0.0
expect 2 "no fault 'pr7847' for the engine cuda" a_fault_of_ref_is_refused \
  sim --engine cuda --fault pr7847
expect 2 "no fault 'forgotten' for the engine ref" a_fault_of_cuda_is_refused_for_ref \
  fuzz --fault forgotten
expect 2 'is not a field' an_invalid_case_is_refused fuzz --engine cuda --replay pp=2,nonsense=1
mkdir "$tmp/alone"
cp "$zp" "$tmp/alone/zeroproof"
"$tmp/alone/zeroproof" fuzz --engine cuda >"$tmp/out" 2>&1
got=$?
[ $got -eq 3 ] && grep -q 'make simdev-command' "$tmp/out"
verdict $? a_missing_program_names_its_make_target "exit code $got: $(head -c 200 "$tmp/out")"
json env_lists_the_engines \
  '.engines | .ref == "zeroproof" and .cuda == "zeroproof-simdev"' env --json
json env_prints_the_gemm_backend \
  '.engines."matrix products" == "ref'"'"'s own, in ref'"'"'s order"' env --json
"$tmp/alone/zeroproof" env >"$tmp/out" && grep -q 'matrix products  *not found' "$tmp/out"
verdict $? env_reports_a_missing_gemm_backend "$(grep matrix "$tmp/out")"
"$tmp/alone/zeroproof" env | grep -q 'zeroproof-simdev is not here: make simdev-command'
verdict $? env_reports_missing_programs
"$build/zeroproof-simdev" fuzz --engine ref --cases 5 >"$tmp/out" 2>&1 &&
  ! grep -q orders "$tmp/out"
verdict $? zeroproof_simdev_runs_ref_with_engine_ref

# ---- train
small="--layers 2 --d-model 16 --heads 2 --context 16 --batch 1 --sample 0"
head -c 3000 LICENSE >"$tmp/text"
for reduce in ordered exact; do
  for stage in 1 2; do
    set -- --data "$tmp/text" $small --steps 50 --dp 3 --pp 2 --reduce $reduce --stage $stage \
      --bucket 300
    expect 0 'engine equal to ref bit for bit: .*in each of 50 steps and on each of 6 ranks' \
      "gpt_equals_ref_${reduce}_stage_$stage" train --engine cuda "$@"
    cuda=$(sed -n 's/^hash of the run.*: //p' "$tmp/out")
    ref=$("$zp" train "$@" | sed -n 's/^hash of the run.*: //p')
    [ -n "$ref" ] && [ "$cuda" = "$ref" ]
    verdict $? "gpt_ends_with_refs_bits_${reduce}_stage_$stage" "got $cuda, expected $ref"
  done
done
expect 0 'engine equal to ref' gpt_equals_ref_under_tsan train --engine cuda --tsan \
  --data "$tmp/text" $small --steps 3 --dp 2 --pp 2
expect 0 'engine equal to ref' gpt_equals_ref_with_shapes_that_vary train --engine cuda \
  --data "$tmp/text" $small --steps 4 --dp 2 --pp 3 --vary-shapes --tuple
json train_verifies_the_end '.verify.ok and .engine == "cuda" and (.steps | length) == 3' \
  train --engine cuda --data "$tmp/text" $small --steps 3 --verify --json
for flag in "--save-every 2" "--schedules 3" "--trace $tmp/t.json"; do
  expect 2 "${flag%% *}: train does not have this with --engine cuda" \
    "train_refuses_$(echo "${flag%% *}" | tr -d -)" train --engine cuda --data "$tmp/text" $small \
    --save "$tmp/no" $flag
done

# ---- Checkpoint files: both engines write the same bytes, and each loads the other's, with its
# ---- hyperparameters and schedule
rates="--lr 0.01 --clip 0.5 --schedule cosine:1,5,0.1"
old="$rates --reduce exact --bucket 300 --dp 3 --pp 2 --micro-batches 2 --steps 3"
new="--reduce exact --bucket 111 --dp 2 --pp 3 --micro-batches 3 --steps 2 --stage 1"
expect 0 'saved in .*, continues at step 3' ref_saves train --data "$tmp/text" $small $old \
  --save "$tmp/ref"
expect 0 'saved in .*, continues at step 3' the_cuda_engine_saves train --engine cuda \
  --data "$tmp/text" $small $old --save "$tmp/cuda"
diff -r -x 'LOCK*' "$tmp/ref" "$tmp/cuda" >"$tmp/out" && [ -s "$tmp/cuda/step-3/manifest.json" ]
verdict $? both_engines_save_the_same_bytes "$(head -c 200 "$tmp/out")"
ends() { # ends ARGS...: prints the hashes after two more steps
  "$zp" train --data "$tmp/text" $small $new "$@" 2>&1 | grep '^hash of'
}
a=$(ends --load "$tmp/ref")
for from in ref cuda; do
  b=$(ends --engine cuda --load "$tmp/$from")
  [ -n "$a" ] && [ "$a" = "$b" ]
  verdict $? "the_cuda_engine_continues_from_$from" "got $b, expected $a"
done
b=$(ends --engine cuda --offload --load "$tmp/ref")
[ -n "$a" ] && [ "$a" = "$b" ]
verdict $? the_cuda_engine_continues_with_its_state_in_host_memory "got $b, expected $a"
b=$(ends --load "$tmp/cuda")
[ -n "$a" ] && [ "$a" = "$b" ]
verdict $? ref_continues_from_the_cuda_engine "got $b, expected $a"
b=$("$zp" train --data "$tmp/text" $small $new $rates --steps 5 2>&1 | grep '^hash of')
[ "$(echo "$a" | head -1)" = "$(echo "$b" | head -1)" ]
verdict $? a_continued_run_ends_like_an_uninterrupted_one "got $b, expected $a"
expect 2 'holds no checkpoint' a_missing_checkpoint_is_refused train --engine cuda \
  --data "$tmp/text" $small $new --load "$tmp/none"
printf x | dd of="$tmp/cuda/step-3/rank-0.bin" bs=1 seek=99 conv=notrunc 2>/dev/null
expect 2 'rank-0.bin' a_damaged_checkpoint_is_refused train --engine cuda --data "$tmp/text" \
  $small $new --load "$tmp/cuda"
! grep -qE 'parameters|skipped|hash of' "$tmp/out"
verdict $? nothing_is_printed_before_the_refusal "$(head -c 200 "$tmp/out" | tr '\n' ' ')"
for tsan in "" "--tsan"; do
  expect 0 'clean: 3 steps' "a_case_is_saved_and_loaded$tsan" sim --engine cuda $tsan --case \
    reduce=exact,pp=2,dp=2,M=2,stage=2,bucket=4,steps=2,reload=1:4:1:7,list=5@0.0+7@0.0+6@1.0
done
finish
