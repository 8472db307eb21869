# Processes with engines of their own hear of each other's failures, on the line that the engine opens
# between those of a job: who has failed, and why, also while the one that passes it on is elsewhere, and
# also when it ends without a word. (simdev's NCCL has all ranks in one process: each of these trains
# alone.) spec: LEDG-7
. tests/cli/lib.sh
program=${ZP_BUILD:-build}/tests/cuda/api_line

# line FAULT RANK IDLE
line() {
  for k in 0 1 2; do
    RANK=$k WORLD_SIZE=3 LOCAL_RANK=$k LOCAL_WORLD_SIZE=3 TORCHELASTIC_RUN_ID="api-$$" \
      timeout 100 "$program" 1 $k "$2" "$1" "$3" >"$tmp/out.$k" 2>&1 &
  done
  wait
}
says() { # says PROCESS PATTERN
  grep -qE -e "^process $1: $2" "$tmp/out.$1" || why="$why $1: $(head -c 400 "$tmp/out.$1")"
}
law() {
  [ -z "$why" ]
  verdict $? "$1" "$why"
  why=
}
why=
line none 9 9
for k in 0 1 2; do says $k '$'; done
law who_ends_well_is_no_alarm
for failing in 0 2; do
  idle=$((failing == 0 ? 1 : 0))
  line twice $failing $idle
  for k in 0 1 2; do
    if [ $k -eq $failing ]; then says $k 'rank 0 .*: entry 0 was announced twice in micro-batch 0'
    else says $k ".*rank $failing has failed: .*step 20,.* entry 0 was announced twice in micro-batch 0"
    fi
  done
  law "the_failure_of_process_${failing}_is_told_to_all_and_process_${idle}_is_idle"
  for how in kill exit; do
    line $how $failing $idle
    for k in 0 1 2; do
      [ $k -eq $failing ] || says $k ".*rank $failing: its process has ended without a word"
    done
    law "the_${how}_of_process_${failing}_is_noticed_by_all_and_process_${idle}_is_idle"
  done
done
finish
