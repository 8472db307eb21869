# zeroproof fuzz --engine api-cuda: random calls of the CUDA engine's public functions, on several
# streams of a simulated device, give the simulator's bits and the right errors; what is wrong on
# purpose, and a wait or record of the engine that is missing, is found, shrunk and replayed.
# spec: STEP-2, STEP-3, STEP-5, STEP-11, CKPT-5, OPT-7, LEDG-1, STRM-1, STRM-4, STRM-11
# inputs: build/zeroproof build/zeroproof-api-cuda* tests/fixtures/lib.sh
# inputs: tests/fixtures/fuzz_found.sh
. tests/fixtures/lib.sh
. tests/fixtures/fuzz_found.sh
export TSAN_OPTIONS=symbolize=0

expect 0 'nothing found in 120 cases' random_calls_on_streams_give_the_simulators_bits \
  fuzz --engine api-cuda --cases 120 --seed 5 --jobs 1
expect 0 'nothing found in 40 cases' random_calls_on_streams_have_no_race \
  fuzz --engine api-cuda --tsan --cases 40 --seed 6 --jobs 1
for fault in gradient-bit not-loaded stale-rate no-wrong-call checkpoint-as-step \
  drop-sync:copied.wait; do
  found "$fault" 100 --engine api-cuda
done

# A wait or record of the engine that is left out. Each seed draws other streams and options.
missing() { # missing SITE PATTERN CASE [OPTION…]: one of 40 seeds shows it, and is clean otherwise
  site=$1
  pattern=$2
  case=$3
  shift 3
  seed=1
  while [ $seed -le 40 ]; do
    timeout 600 "$zp" fuzz --engine api-cuda "$@" --fault "drop-sync:$site" \
      --replay "$case,seed=$seed" >"$tmp/out" 2>&1
    code=$?
    [ $code -eq 0 ] || break
    seed=$((seed + 1))
  done
  [ $code -eq 1 ] && grep -q -e "$pattern" "$tmp/out"
  verdict $? "without_${site}_is_found${1:+_as_a_race}" "exit code $code: $(head -c 300 "$tmp/out")"
  [ $seed -le 40 ] || return
  expect 0 'clean: ' "with_${site}_is_clean${1:+_under_tsan}" fuzz --engine api-cuda "$@" \
    --replay "$case,seed=$seed"
}
entries='list=9@0.0+7@0.0'
while read -r site case; do
  missing "$site" 'race: two accesses that nothing orders' "$case,$entries" --tsan
done <<X
copied.wait M=2,dp=2,steps=3
caller_loss.wait M=2,dp=2,steps=3
caller.record M=2,dp=2,steps=3
finished.wait M=2,dp=2,steps=3
resumed.wait M=2,dp=2,stage=0,steps=6
ended.wait M=2,dp=2,stage=0,steps=6
param.wait M=2,dp=2,stage=1,entry_align=64,steps=7
free.wait M=3,dp=2,stage=2,bucket=6,steps=2
added.wait M=3,dp=2,stage=1,reduce=ordered,bucket=6,steps=2
staged.wait M=3,dp=2,stage=2,bucket=6,steps=2
X
missing caller.record 'after the gradients of step' "M=2,dp=2,steps=3,$entries"
missing resumed.wait 'at the beginning of step' "M=2,dp=2,stage=0,steps=6,$entries"
missing free.wait 'norm: got ' "M=3,dp=2,stage=2,bucket=6,steps=2,$entries"

expect 0 'clean: 3 steps' an_empty_list_is_a_case \
  fuzz --engine api-cuda --replay dp=2,steps=3,seed=7
expect 0 'clean: 2 steps' nothing_trained_is_a_case \
  fuzz --engine api-cuda --replay dp=2,M=2,steps=2,seed=3,list=4@0.0f+3@0.0f
expect 2 'does not support this yet: so many ranks' seven_ranks_are_too_many \
  fuzz --engine api-cuda --replay dp=7,list=4@0.0
expect 2 'comm mpi is for --engine api' mpi_is_no_transport_of_simulated_devices \
  fuzz --comm mpi --engine api-cuda
expect 2 'is for .zeroproof fuzz' no_other_command_has_this_engine sim --engine api-cuda
expect 2 'there is no fault' an_unknown_fault_is_refused fuzz --engine api-cuda --fault pr7847
exit $bad
