# The processes of a job receive each other's failures on the channel that their engines open: which
# rank failed, and why. They also do so while the process that forwards failures is idle, and when a
# process ends without a report. (simdev's NCCL has all ranks in one process, so each process trains
# alone.) spec: LEDG-7
# inputs: build/tests/drivers/cuda/api_line tests/fixtures/lib.sh
# alone: processes are killed, and must be noticed soon
. tests/fixtures/lib.sh
program=${ZP_BUILD:-build}/tests/drivers/cuda/api_line

# line FAULT RANK IDLE
line() {
  rm -f "$tmp"/ready.*
  for k in 0 1 2; do
    READY=$tmp RANK=$k WORLD_SIZE=3 LOCAL_RANK=$k LOCAL_WORLD_SIZE=3 TORCHELASTIC_RUN_ID="api-$$" \
      timeout 900 "$program" 1 $k "$2" "$1" "$3" >"$tmp/out.$k" 2>&1 &
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
law a_clean_end_is_not_an_alarm
for failing in 0 2; do
  idle=$((failing == 0 ? 1 : 0))
  line twice $failing $idle
  for k in 0 1 2; do
    error='entry 0 was announced twice in micro-batch 0'
    if [ $k -eq $failing ]; then says $k "rank 0 .*: $error"
    else says $k ".*rank $failing has failed: .*step 20,.* $error"
    fi
  done
  law "the_failure_of_process_${failing}_reaches_all_and_process_${idle}_is_idle"
  for how in kill exit; do
    line $how $failing $idle
    for k in 0 1 2; do
      [ $k -eq $failing ] || says $k ".*rank $failing: its process has ended without a word"
    done
    law "the_${how}_of_process_${failing}_is_noticed_by_all_and_process_${idle}_is_idle"
  done
done
finish
