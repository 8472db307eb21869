# Six MPI processes of tests/drivers/mpi/mpi_driver.c: the same bits as comm_sim, and every failure
# is named and ends all ranks. The output of each rank is checked. spec: LEDG-1, LEDG-2, LEDG-7
# inputs: build/tests/drivers/mpi/mpi_driver tests/fixtures/lib.sh tests/fixtures/job.sh
# alone: ranks are stopped, killed, and noticed by deadlines
. tests/fixtures/lib.sh
driver=${ZP_BUILD:-build}/tests/drivers/mpi/mpi_driver
. tests/fixtures/job.sh

# NAME PP DP TP EP STAGE REDUCE PRECISION M BUCKET STEPS DYNAMIC PIECE (FAULT RANK DEADLINE)
equal_bits() {
  name=$1
  shift
  job "$@" none 0 300
  [ "$code" -eq 0 ] || complain "exit code $code: $(head -c 300 "$tmp/mpirun")"
  grep -q 'bytes compared: equal to comm_sim$' "$tmp/job/1/rank.0/stdout" 2>/dev/null ||
    complain "rank 0 says $(head -c 300 "$tmp/job/1/rank.0/stdout" 2>&1)"
  law "equal_bits_$name"
}
beside equal_bits stage_2_exact_bf16 2 3 1 1 2 1 1 4 16 5 0 0
beside equal_bits stage_1_ordered_fp16_dynamic_shapes 2 3 1 1 1 0 2 4 16 5 1 0
beside equal_bits stage_0_exact_fp32_in_pieces 3 2 1 1 0 1 0 3 9 5 0 24
beside equal_bits stage_2_ordered_fp32_dynamic_shapes_in_pieces 2 3 1 1 2 0 0 3 9 5 1 24
beside equal_bits experts_of_three_in_pieces 1 6 1 3 2 1 2 2 16 5 0 24
beside equal_bits six_stages 6 1 1 1 1 0 1 7 16 5 1 0
beside equal_bits sequence_parallel_and_experts_in_pieces 1 2 3 2 0 0 1 3 16 5 0 24
beside equal_bits sequence_parallel_exact 1 3 2 1 1 1 1 3 16 5 0 0

broken() { # broken FAULT RANK DEADLINE: of two stages, ranks {0, 1, 2} and {3, 4, 5}
  fails 2 3 1 1 2 1 1 3 16 5 0 0 "$@"
}
count() {
  broken count 3 300
  law another_count_ends_the_job
  says "3 4 5" 'mismatch: members of one group issued different communications \(LEDG-2\)'
  says "3 4 5" '^  rank 3, step 1, program position .*bf16 x 5, exact\)'
  says "3 4 5" '^  rank 4, step 1, program position .*bf16 x 6, exact\)'
  law another_count_is_named_with_both_ops_by_all_members_of_the_group
  says "0 1 2" 'peer: rank [012]: rank [345] has failed, in step 1, program position'
  says "0 1 2" '^  rank 3, step 1, program position .*bf16 x 5, exact\)'
  law another_count_is_named_by_the_ranks_of_other_groups
}
shape() {
  broken shape 1 300
  says "1 4" 'mismatch: members of one group issued different communications'
  says "1 4" '^  rank 1, step 1, .*; sends int32 \(3\) bf16'
  says "1 4" '^  rank 4, step 1, .*; expects int32 \(2\) bf16'
  law another_shape_is_named_with_both_shapes_by_sender_and_receiver
  says "0 2 3 5" 'peer: rank [0235]: rank [14] has failed, in step 1, program position'
  law another_shape_is_named_by_all_others
}
skip() {
  broken skip 2 300
  says "2 5" 'mismatch: members of one group issued different communications'
  says "2 5" '^  rank 5, step 1, .*all_reduce\(tied gradient flat 0 bucket 0'
  says "0 1 3 4" 'peer: rank [0134]: rank [25] has failed, in step 1, program position'
  law a_skipped_op_is_a_mismatch_that_every_rank_reports
}
arrival() {
  broken arrival 2 300
  says 2 'arrival: rank 2 .* 0 of 4 gradients arrived in step 1, micro-batch 0 \(STEP-3\)'
  law a_missing_gradient_is_named_by_its_rank
  says "0 1 3 4 5" 'peer: rank [01345]: rank 2 has failed, in step 1, program position'
  says "0 1 3 4 5" 'its reason: rank 2 .* 0 of 4 gradients arrived in step 1'
  law a_missing_gradient_is_named_with_its_rank_by_all_others
}
exits() { # exits FAULT: by a signal, or with a code
  broken "$1" 4 300
  says "0 1 2 3 5" 'peer: rank [01235]: .*in step 1, program position .* of group'
  says "0 1 2 3 5" 'no sign of life from rank 4:'
  law "a_rank_that_exits_by_${1}_is_named_by_all_survivors_with_their_own_ops"
}
stop() {
  broken stop 4 10
  says "0 1 2 3 5" 'no sign of life from rank 4:'
  law a_stopped_rank_is_named_by_all_others
  says "0 1 2 3 5" '^\[after [1-9][0-9]+\.[0-9]+ s\] peer: rank [01235]: '
  silent "0 1 2 3 5" 'SIGTERM'
  law a_stopped_rank_is_noticed_by_the_deadline_and_not_before
}
ended # before the deadline of stop
beside stop
for case in count shape skip arrival "exits kill" "exits early"; do
  # shellcheck disable=SC2086 # a function and its argument
  beside $case
done
ended
finish
