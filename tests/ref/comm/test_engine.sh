# The public engine over MPI, through tests/drivers/mpi/engine_driver.c: the bits of comm_sim for
# any topology, and every misuse named. spec: STEP-2, STEP-3, STEP-9, STEP-11, RED-3, RED-6, LEDG-1,
# CKPT-3, CKPT-6, CKPT-8, CKPT-10, OPT-7, STAT-6
# inputs: build/tests/drivers/mpi/engine_driver tests/fixtures/lib.sh tests/fixtures/*.sh
# inputs: tests/fixtures/checkpoint_v1
# alone: ranks leave, and must be noticed by deadlines
. tests/fixtures/lib.sh
driver=${ZP_BUILD:-build}/tests/drivers/mpi/engine_driver
. tests/fixtures/job.sh

bits() { # bits NAME RANKS ARGUMENTS…
  name=$1
  ranks=$2
  shift 2
  if [ "$ranks" -eq 1 ]; then
    "$driver" "$@" >"$tmp/mpirun" 2>&1
    code=$?
  else job "$@"; fi
  [ "$code" -eq 0 ] || complain "exit code $code: $(head -c 300 "$tmp/mpirun") $(cat \
    "$tmp"/job/1/rank.*/std* 2>/dev/null | head -c 500)"
  law "bits_of_comm_sim_$name"
}
beside bits alone 1 seed=1 mb=3
beside bits alone_by_micro_batch 1 seed=1 mb=3 gradual=1
beside bits two_blocks_by_micro_batch 4 dp=4 replicas=2 seed=15 stage=2 mb=3 gradual=1
beside bits ordered_by_micro_batch 3 dp=3 stage=1 reduce=0 seed=4 mb=4 gradual=1 badloss=2
beside bits alone_with_callbacks 1 seed=2 callbacks=1 stage=1 reduce=0
beside bits alone_from_three_threads 1 seed=3 threads=1 precision=2
beside bits alone_with_callbacks_from_three_threads 1 seed=4 threads=1 callbacks=1 stage=0
beside bits four_replicas_from_three_threads 4 dp=4 seed=5 threads=1 reduce=0
beside bits unused_entries_declared_in_forward 1 seed=2 callbacks=2 mb=4
beside bits unused_entries_declared_in_forward_of_two_stages 4 pp=2 dp=2 mb=4 callbacks=2 seed=3
beside bits four_replicas_in_fp32_with_callbacks 4 dp=4 seed=6 callbacks=1 precision=0
beside bits three_stages_of_two 6 pp=3 dp=2 tied=1 mb=4 seed=7
beside bits two_stages_ordered_from_three_threads 4 pp=2 dp=2 stage=1 reduce=0 precision=2 seed=8 \
  threads=1
beside bits tensor_parallel_and_experts 4 dp=2 tp=2 ep=2 seed=9
beside bits two_blocks_of_two 4 dp=4 replicas=2 seed=15 stage=1
beside bits two_blocks_with_stages_and_experts 8 pp=2 dp=4 ep=2 replicas=2 tied=1 seed=16
beside bits three_blocks_ordered 3 dp=3 replicas=3 reduce=0 precision=0 seed=17 callbacks=1
beside bits two_stages_where_losses_are_not_finite 4 pp=2 dp=2 seed=10 badloss=5
beside bits one_stage_where_losses_are_not_finite 2 dp=2 seed=4 badloss=2 reduce=0
beside bits three_stages_with_dynamic_shapes 3 pp=3 mb=5 seed=10 dynamic=1
beside bits two_stages_of_two_with_dynamic_shapes 4 pp=2 dp=2 mb=3 seed=11 dynamic=1 stage=1
beside bits waited_for_entries_of_four_replicas 4 dp=4 seed=5 partial=1 state=1
beside bits waited_for_entries_of_two_stages 4 pp=2 dp=2 tied=1 seed=8 partial=1
beside bits alone_with_a_schedule 1 seed=1 schedule=1
beside bits two_stages_of_two_with_a_schedule 4 pp=2 dp=2 seed=8 schedule=1 steps=6
beside bits state_of_entries_alone 1 seed=1 mb=3 state=1 steps=6
beside bits state_of_tied_entries_of_one_stage 1 seed=2 tied=1 stage=0 precision=0 state=1
beside bits state_of_tied_and_frozen_entries 6 pp=3 dp=2 tied=1 mb=4 seed=7 state=1
beside bits state_of_entries_at_stage_0 3 dp=3 stage=0 mb=1 seed=4 reduce=0 state=1
beside bits state_of_replicas 4 dp=4 replicas=2 seed=14 stage=1 state=1 steps=5
beside bits state_of_experts_and_tp_ranks 4 dp=2 tp=2 ep=2 seed=9 state=1
ended
ranks=4
job dp=4 mb=1 seed=12 "save=$tmp/ck"
[ "$code" -eq 0 ] || complain "saving: exit code $code: $(head -c 300 "$tmp/job/1/rank.0/stderr")"
job pp=2 dp=2 mb=2 stage=0 bucket=30 seed=12 "load=$tmp/ck"
[ "$code" -eq 0 ] ||
  complain "two stages: exit code $code: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
job dp=4 mb=1 replicas=2 stage=1 bucket=30 seed=12 "load=$tmp/ck"
[ "$code" -eq 0 ] ||
  complain "two blocks: exit code $code: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
"$driver" mb=4 seed=12 "load=$tmp/ck" >"$tmp/mpirun" 2>&1 || complain "alone: $(cat "$tmp/mpirun")"
law a_checkpoint_of_four_replicas_continues_in_two_stages_in_two_blocks_and_on_one_rank
"$driver" mb=4 seed=14 "save=$tmp/ck.other" >"$tmp/mpirun" 2>&1 || complain "$(cat "$tmp/mpirun")"
# every rank says so and goes on, to the bits of a run without it; what is saved then can be loaded
job dp=4 mb=1 seed=12 "save=$tmp/ck2" fault=unsaved rank=2
[ "$code" -eq 0 ] || complain "exit code $code: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
left='; the training state and the previous checkpoint are unchanged'
grep -qE "^rank 2: .*/dev/null.*$left" "$tmp/job/1/rank.2/stdout" ||
  complain "rank 2 does not say why"
for k in 0 1 3; do
  grep -q "^rank $k: the checkpoint failed on 1 other rank(s)$left" "$tmp/job/1/rank.$k/stdout" ||
    complain "rank $k does not say it"
done
"$driver" mb=4 seed=12 "load=$tmp/ck2" >"$tmp/mpirun" 2>&1 || complain "alone: $(cat "$tmp/mpirun")"
law a_save_that_fails_on_one_rank_fails_on_all_and_the_run_continues

# In the background: the checkpoint is of the step at which it began; a thread's full disk is an
# error of all ranks when it ends, and the next save is good.
job dp=4 mb=1 seed=12 "save=$tmp/ck5" fault=behind
[ "$code" -eq 0 ] || complain "exit code $code: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
[ -e "$tmp/ck5/step-2/manifest.json" ] || complain "no checkpoint of step 2: $(ls "$tmp/ck5")"
job pp=2 dp=2 mb=2 stage=0 bucket=30 seed=12 "load=$tmp/ck5"
[ "$code" -eq 0 ] || complain "two stages: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
law a_save_in_the_background_has_the_state_of_its_step
job dp=4 mb=1 seed=12 "save=$tmp/ck6" fault=full rank=0
[ "$code" -eq 0 ] || complain "exit code $code: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
grep -qE "^rank 0: cannot write .*rank-0.bin: File too large$left" "$tmp/job/1/rank.0/stdout" ||
  complain "rank 0 does not say why: $(cat "$tmp/job/1/rank.0/stdout")"
for k in 1 2 3; do
  grep -q "^rank $k: the checkpoint failed on 1 other rank(s)$left" "$tmp/job/1/rank.$k/stdout" ||
    complain "rank $k does not say it"
done
"$driver" mb=4 seed=12 "load=$tmp/ck6" >"$tmp/mpirun" 2>&1 || complain "alone: $(cat "$tmp/mpirun")"
law an_error_of_the_thread_fails_the_save_on_all_ranks_and_the_run_continues

# The options of the run that loads have other values; the format before had no hyperparameters.
job dp=4 mb=1 seed=12 schedule=1 "save=$tmp/ck3"
[ "$code" -eq 0 ] || complain "exit code $code: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
job pp=2 dp=2 mb=2 seed=12 schedule=1 "load=$tmp/ck3"
[ "$code" -eq 0 ] || complain "two stages: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
law hyperparameters_of_a_checkpoint_are_restored
job dp=4 mb=1 seed=12 state=1 "save=$tmp/ck4"
[ "$code" -eq 0 ] || complain "exit code $code: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
job pp=2 dp=2 mb=2 bucket=30 seed=12 state=1 "load=$tmp/ck4"
[ "$code" -eq 0 ] || complain "two stages: $(cat "$tmp"/job/1/rank.*/std* | head -c 300)"
law a_checkpoint_has_the_written_state
"$driver" mb=2 seed=12 load=tests/fixtures/checkpoint_v1 >"$tmp/mpirun" 2>&1 ||
  complain "exit code $?: $(cat "$tmp/mpirun")"
"$driver" mb=2 seed=12 schedule=1 load=tests/fixtures/checkpoint_v1 >"$tmp/mpirun" 2>&1
[ $? -eq 1 ] || complain "other hyperparameters than the options': $(cat "$tmp/mpirun")"
law a_checkpoint_without_hyperparameters_leaves_those_of_the_options

alone=$driver
. tests/fixtures/wrong.sh
wrong ordered 'options.ordered: 0 or 1 \(it is 2\)' reduce=0
wrong ordered 'options.ordered: only with config.reduce ZP_ORDERED'
at='rank 0 \(stage 0, dp 0, tp 0\)'
wrong dtype \
  "$at, step 1: entry 4 \(p4\) .* micro-batch 0: the gradient is fp16, .* dtype is bf16"
wrong short "$at, step 1: entry 2 \(p2\) .* micro-batch 0: got a count of 24, expected 25, the"
wrong long "$at, step 1: entry 4 \(p4\) .* micro-batch 0: got a count of 1, expected 0, the"
wrong short "$at, step 1: entry 2 \(p2\) .*: got a count of 24, expected 25, the entry" callbacks=1
wrong null "$at, step 1: entry 2 \(p2\) .*: the gradient's address is NULL"
wrong entry "$at, step 1: entry 99 .*: there is no such entry"
wrong frozen "$at, step 1: entry 1 .*: it is frozen"
wrong twice "$at, step 1: entry 2 \(p2\) .*: that had been done before"
wrong twice "$at, step 1: entry 2 \(p2\) .*: that had been done before" callbacks=1
wrong ahead "$at, step 1: entry 4 .* micro-batch 1: micro-batch 0 lacks 1 of 5 gradients, entry 4's"
wrong ahead "$at, step 1: .* micro-batch 1: expected micro-batch 0" callbacks=1
wrong early-ready "$at, step 1: entry 2 \(p2\) .*: that had been done before" callbacks=1
wrong early-twice "$at, step 1: entry 2 \(p2\) .*: that had been done before" callbacks=1
wrong early-ahead "$at, step 1: entry 2 .* micro-batch 1: no backward .*from its forward on" \
  callbacks=1
wrong past "$at, step 1: .* micro-batch 7: expected micro-batch 0"
wrong forget "a loss was given for micro-batch 1: micro-batch 0 lacks 1 of 5 gradients, entry 4's"
wrong forget "$at: 4 of 5 gradients arrived in step 1, micro-batch 0 .*missing: entry 4 \(p4\)" mb=1
wrong forget "4 of 5 gradients arrived in step 1, micro-batch 0 .*missing: entry 4" callbacks=1
wrong step "$at: 4 of 5 gradients arrived in step 1, micro-batch 0 .*missing: entry 4 \(p4\)"
wrong late "$at, step 1: entry 0 .*: all micro-batches are complete; zp_engine_step comes first"
wrong late "$at, step 1: entry 0 .*: no backward is running" callbacks=1
wrong forward \
  "$at, step 1: the forward callback of micro-batch 0 failed \(it returned 5\)" callbacks=1
wrong stack "zzz" 2>/dev/null | grep -q '^not ok' # a fault that there is not is no error
verdict $? a_fault_that_does_not_occur_is_reported

misuse() { # misuse MODE: of rank 2
  # shellcheck disable=SC2086 # several arguments
  fails $1 fault=twice rank=2
  says 2 'arrival|entry [0-9] .* micro-batch 0: that had been done before'
  says "0 1 3" 'rank 2 has failed'
  says "0 1 3" 'entry [0-9] .*that had been done before'
  law "a_misuse_of_rank_2_is_reported_to_all_$(echo "$1" | tr '= ' __)"
}
leaves() { # leaves MODE: rank 1
  # shellcheck disable=SC2086 # several arguments
  fails $1 fault=die rank=1
  says "0 2 3" 'no sign of life from rank 1'
  law "a_rank_that_leaves_is_named_by_all_$(echo "$1" | tr '= ' __)"
}
configuration() { # configuration FAULT PATTERN…: rank 3 has another configuration
  fault=$1
  fails dp=4 "fault=$1" rank=3
  shift
  for pattern in "$@"; do says 3 "$pattern"; done
  says "0 1 2" 'rank 3 has failed|no sign of life from rank 3'
  grep -qE 'hash|deadline' "$tmp"/job/1/rank.*/std* && complain 'a hash or the deadline'
  law "another_configuration_on_one_rank_is_named_${fault}"
}
another_hyper() { # another_hyper MODE RANK
  # shellcheck disable=SC2086 # several arguments
  fails $1 schedule=1 seed=12 fault=hyper rank=$2
  text="nothing was updated, as hyperparameters differ: rank $2's from those of all other ranks"
  says "0 1 2 3" "step 1.*: $text"
  changed=$(cat "$tmp"/job/1/rank.*/stdout | grep -m1 'differs from') && complain "$changed"
  law "other_hyperparameters_on_rank_$2_end_all_before_the_update_$(echo "$1" | tr '= ' __)"
}
load() { # load CHECKPOINT
  fails dp=4 mb=1 seed=12 "load=$1" fault=unloaded rank=2
  says 2 '/dev/null/no'
  says "0 1 3" 'the checkpoint failed on 1 other rank\(s\); what was being loaded is incomplete'
  law a_load_that_fails_on_one_rank_ends_all
}
another_checkpoint() { # another_checkpoint CHECKPOINT: rank 2 finds CHECKPOINT.other
  job dp=4 mb=1 seed=12 "load=$1" fault=another rank=2
  [ "$code" -eq 3 ] || complain "exit code $code: $(cat "$tmp"/job/1/rank.*/stdout | head -c 300)"
  for sum in "$(sed -n 's/^current step-2 //p' "$1/LATEST")" \
    "$(sed -n 's/^current step-2 //p' "$1.other/LATEST")"; do
    says "0 1 2 3" "rank 2 finds another checkpoint than rank 0: .*\(checksum ${sum:-none}\)"
  done
  changed=$(cat "$tmp"/job/1/rank.*/stdout | grep -m1 'a parameter .* differs') &&
    complain "$changed"
  law another_checkpoint_on_one_rank_is_named_by_all_and_changes_no_parameter
}
shapes() {
  fails pp=2 dynamic=1 fault=describe rank=0
  says 0 "$at, step 1: the shape callback of micro-batch 0 failed \(it returned 6"
  says 1 'rank 0 has failed'
  law a_shape_callback_that_fails_is_named
}
dims() {
  fails pp=2 dynamic=1 fault=dims rank=0
  says 0 \
    "rank 0: options.shape's message: a tensor has 1 to 2\^40 elements: a dimension \(it is -1\)"
  law an_invalid_shape_is_named
}
no_shape() {
  fails pp=2 dynamic=1 fault=noshape rank=0
  says 0 'options.shape: needed with dynamic_shapes'
  law a_missing_shape_callback_is_named
}
no_exchange() {
  fails dp=4 fault=exchange rank=1
  says 1 'options.exchange: needed when there are several ranks'
  law a_missing_exchange_is_named
}
ranks=4
beside misuse dp=4
beside misuse "pp=2 dp=2"
beside leaves dp=4
beside leaves "pp=2 dp=2"
beside configuration config '^  bucket: 17 here, 16 on rank 0'
beside configuration numel '^  numel of entry 2 \(p2\): 26 here, 25 on rank 0'
beside configuration frozen-too '^  frozen of entry 2 \(p2\): 1 here, 0 on rank 0' \
  '^  frozen of entry 3 \(p3\): 1 here, 0 on rank 0'
beside configuration name '^  name of entry 3 \(q3\): q3 here, p3 on rank 0'
beside configuration more '^  number of entries: 7 here, 6 on rank 0' \
  '^  entry 6 \(p6\) and later ones: only here'
beside another_hyper dp=4 2
beside another_hyper "pp=2 dp=2" 0
beside load "$tmp/ck"
beside another_checkpoint "$tmp/ck"
beside no_exchange
ranks=2
beside shapes
beside dims
beside no_shape
ended
finish
