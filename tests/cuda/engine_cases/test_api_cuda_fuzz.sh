# zeroproof fuzz --engine api-cuda: random calls of the CUDA engine's public functions, on several
# streams of a simulated device, give the simulator's bits and the right errors; what is wrong on
# purpose, and a wait or record of the engine that is missing, is found, shrunk and replayed.
# spec: STEP-2, STEP-3, STEP-5, STEP-11, CKPT-5, OPT-7, STRM-1, STRM-4, STRM-11
# inputs: build/zeroproof build/zeroproof-api-cuda* tests/fixtures/lib.sh
# inputs: tests/fixtures/fuzz_found.sh
. tests/fixtures/lib.sh
. tests/fixtures/fuzz_found.sh
export TSAN_OPTIONS=symbolize=0

expect 0 'nothing found in 120 cases' random_calls_on_streams_give_the_simulators_bits \
  fuzz --engine api-cuda --cases 120 --seed 5 --jobs 1
expect 0 'nothing found in 40 cases' random_calls_on_streams_have_no_race \
  fuzz --engine api-cuda --tsan --cases 40 --seed 6 --jobs 1
for fault in gradient-bit not-loaded stale-rate no-wrong-call drop-sync:copied.wait \
  drop-sync:resumed.wait; do
  found "$fault" 100 --engine api-cuda
done

# Under ThreadSanitizer any order shows a missing wait or record.
for site in caller.record finished.wait caller_loss.wait param.wait free.wait added.wait; do
  expect 1 'repeat: ' "without_${site}_is_found" fuzz --engine api-cuda --tsan \
    --fault drop-sync:$site --cases 40 --seed 6 --jobs 1
done

expect 0 'clean: 2 steps' nothing_trained_is_a_case \
  fuzz --engine api-cuda --replay dp=2,M=2,steps=2,seed=3,list=4@0.0f+3@0.0f
expect 2 'does not support this yet: so many ranks' seven_ranks_are_too_many \
  fuzz --engine api-cuda --replay dp=7,list=4@0.0
expect 2 'comm mpi is for --engine api' mpi_is_no_transport_of_simulated_devices \
  fuzz --comm mpi --engine api-cuda
expect 2 'is for .zeroproof fuzz' no_other_command_has_this_engine sim --engine api-cuda
expect 2 'there is no fault' an_unknown_fault_is_refused fuzz --engine api-cuda --fault pr7847
exit $bad
