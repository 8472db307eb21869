# zeroproof fuzz --engine api and --comm mpi: random calls of the engine's public functions give the
# simulator's bits and the right errors; what is wrong on purpose is found, shrunk and replayed.
# spec: STEP-2, STEP-3, STEP-5, STEP-11, CKPT-5, OPT-7, LEDG-1
# inputs: build/zeroproof build/zeroproof-api tests/fixtures/lib.sh tests/fixtures/fuzz_found.sh
# alone: ranks are processes, which must be noticed by deadlines
. tests/fixtures/lib.sh
. tests/fixtures/fuzz_found.sh

expect 0 'nothing found in 300 cases' random_calls_give_the_simulators_bits \
  fuzz --engine api --cases 300 --seed 5 --shares
# have ENGINE PROPERTY...: some of the cases had each
have() {
  name=$1
  shift
  for property in "$@"; do
    grep -q "$property" "$tmp/out" && ! grep -q " 0\.0 % $property" "$tmp/out"
    verdict $? "$name:$(echo "$property" | tr -cd '[:alnum:] ' | tr ' ' _)" "$(cat "$tmp/out")"
  done
}
have api 'a step was clipped' 'overflow: a step was skipped' lowered raised 'saved and loaded'
expect 0 'nothing found in 10 cases' random_calls_of_mpi_processes_give_the_simulators_bits \
  fuzz --comm mpi --cases 10 --seed 5 --jobs 1 --shares
have mpi 'a step was clipped' 'overflow: a step was skipped' raised 'saved and loaded'
for fault in gradient-bit not-loaded stale-rate no-wrong-call checkpoint-as-step; do
  found "$fault" 400 --engine api
done
found gradient-bit 400 --comm mpi

expect 0 'clean: 3 steps' an_empty_list_is_a_case fuzz --engine api --replay dp=2,steps=3,seed=7
expect 0 'clean: 2 steps' nothing_trained_is_a_case \
  fuzz --engine api --replay dp=2,M=2,steps=2,seed=3,list=4@0.0f+3@0.0f
expect 2 'does not support this yet: pipeline stages' stages_need_processes \
  fuzz --engine api --replay pp=2,list=4@0.0+4@1.0
expect 2 'does not support this yet: so many ranks' seven_processes_are_too_many \
  fuzz --comm mpi --replay dp=7,list=4@0.0
expect 2 'comm mpi is for --engine api' mpi_is_no_transport_of_cuda \
  fuzz --comm mpi --engine cuda
expect 2 'is not one of: sim mpi' another_transport_is_refused fuzz --comm tcp
expect 2 'tsan is for --engine cuda or --engine api-cuda\.$' tsan_requires_an_engine_on_a_device \
  fuzz --engine api --tsan
expect 2 'schedules is for --engine cuda\.$' schedules_requires_engine_cuda \
  fuzz --engine api --schedules 3
expect 2 'is for .zeroproof fuzz' no_other_command_has_this_engine sim --engine api
expect 2 "there is no fault 'pr7847' .* has gradient-bit, .*, checkpoint-as-step\\.\$" \
  an_unknown_fault_is_refused fuzz --engine api --fault pr7847
exit $bad
