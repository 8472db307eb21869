# zeroproof fuzz --engine api and --comm mpi: random calls of the engine's public functions give the
# simulator's bits and the right errors; what is wrong on purpose is found, shrunk and replayed.
# spec: STEP-2, STEP-3, STEP-5, STEP-11, CKPT-5, OPT-7
# inputs: build/zeroproof build/zeroproof-api tests/fixtures/lib.sh
# alone: ranks are processes, which must be noticed by deadlines
. tests/fixtures/lib.sh

expect 0 'nothing found in 300 cases' random_calls_give_the_simulators_bits \
  fuzz --engine api --cases 300 --seed 5
expect 0 'nothing found in 10 cases' random_calls_of_mpi_processes_give_the_simulators_bits \
  fuzz --comm mpi --cases 10 --seed 5 --jobs 1
found() { # found FAULT OPTIONS…: it is found, and the case that is printed shows it alone
  fault=$1
  shift
  law_name=$(echo "$fault $*" | tr -c '[:alnum:]\n' _)
  expect 1 'repeat: ' "${law_name}_is_found" fuzz "$@" --fault "$fault" --cases 400 --jobs 1
  grep -q -e "^repeat: zeroproof fuzz $* --fault $fault --replay '" "$tmp/out"
  verdict $? "${law_name}_has_a_command_that_repeats_it" "$(grep repeat "$tmp/out")"
  replay=$(sed -n "s/.*--replay '\(.*\)'.*/\1/p" "$tmp/out")
  expect 1 'failed: ' "${law_name}_is_replayed" fuzz "$@" --fault "$fault" --replay "$replay"
  expect 0 'clean: ' "${law_name}_is_clean_without_it" fuzz "$@" --replay "$replay"
}
for fault in gradient-bit not-loaded stale-rate no-wrong-call; do found "$fault" --engine api; done
found gradient-bit --comm mpi

expect 0 'clean: 2 steps' nothing_trained_is_a_case \
  fuzz --engine api --replay dp=2,M=2,steps=2,seed=3,list=4@0.0f+3@0.0f
expect 2 'does not support this yet: pipeline stages' stages_need_processes \
  fuzz --engine api --replay pp=2,list=4@0.0+4@1.0
expect 2 'does not support this yet: so many ranks' seven_processes_are_too_many \
  fuzz --comm mpi --replay dp=7,list=4@0.0
expect 2 'comm mpi is for --engine api' mpi_is_no_transport_of_cuda \
  fuzz --comm mpi --engine cuda
expect 2 'is not one of: sim mpi' another_transport_is_refused fuzz --comm tcp
expect 2 'is for .zeroproof fuzz' no_other_command_has_this_engine sim --engine api
expect 2 'there is no fault' an_unknown_fault_is_refused fuzz --engine api --fault pr7847
exit $bad
