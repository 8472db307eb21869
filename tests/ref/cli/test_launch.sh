# train as MPI processes: the bits of the simulation, refusals on every process. spec: RED-4, RED-5
# inputs: build/zeroproof tests/fixtures/lib.sh LICENSE
. tests/fixtures/lib.sh
export TMPDIR="$tmp" # session folders of mpirun: see tests/fixtures/job.sh
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" # Open MPI's own, at exit

small="--layers 2 --d-model 16 --heads 2 --context 16 --batch 1 --steps 3 --sample 0"
head -c 3000 LICENSE >"$tmp/text"
bits() { timeout 600 "$zp" "$@" --json 2>"$tmp/err" | jq -r .bits; }
for shape in "3 2 2 exact bf16" "2 3 1 ordered fp16" "6 1 0 exact fp32"; do
  set -- $shape
  set -- train --data "$tmp/text" $small --dp "$1" --pp "$2" --stage "$3" --reduce "$4" \
    --precision "$5" --bucket 500
  a=$(bits "$@")
  b=$(bits launch -n 6 "$@")
  [ -n "$a" ] && [ "$a" = "$b" ]
  verdict $? "six_processes_give_the_bits_of_the_simulation_$(echo "$shape" | tr ' ' _)" \
    "$a and $b $(head -c 200 "$tmp/err")"
done
json verify_under_mpi '.verify.ok' \
  launch -n 4 train --data "$tmp/text" $small --dp 2 --pp 2 --verify --json
expect 2 'this MPI job has 3 processes' wrong_number_of_processes \
  launch -n 3 train --data "$tmp/text" $small --dp 2 --pp 2
expect 0 'continues at step 3' save_under_mpi \
  launch -n 4 train --data "$tmp/text" $small --dp 2 --pp 2 --save "$tmp/ck"
a=$(bits train --data "$tmp/text" $small --dp 1 --pp 1 --load "$tmp/ck")
b=$(bits launch -n 6 train --data "$tmp/text" $small --dp 3 --pp 2 --load "$tmp/ck")
[ -n "$a" ] && [ "$a" = "$b" ]
verdict $? mpi_continues_what_mpi_saved "$a and $b"
rates="--lr 0.01 --clip 0.5 --schedule cosine:1,6,0.1"
expect 0 'continues at step 3' save_a_schedule_under_mpi launch -n 4 train --data "$tmp/text" \
  $small $rates --dp 2 --pp 2 --save "$tmp/rates"
a=$("$zp" train --data "$tmp/text" $small $rates --steps 6 --json | jq -r .end_bits)
b=$("$zp" launch -n 6 train --data "$tmp/text" $small --dp 3 --pp 2 --load "$tmp/rates" --json |
  jq -r .end_bits)
[ -n "$a" ] && [ "$a" = "$b" ]
verdict $? mpi_continues_a_schedule "$a and $b"
expect 2 'holds no checkpoint' load_missing_under_mpi \
  launch -n 2 train --data "$tmp/text" $small --dp 2 --pp 1 --load "$tmp/none"
expect 2 "'plan' does not run as several processes" launch_of_what_cannot_be_launched \
  launch -n 6 plan
expect 2 'none.hosts: No such file' a_missing_file_of_hosts_is_refused \
  launch -n 2 --hosts "$tmp/none.hosts" train
expect 2 'name them with --hosts FILE' an_agent_without_hosts_is_refused \
  launch -n 2 --agent ssh train
# Ranks that never report: their hosts are those on which mpirun places ranks, if the file says it.
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "$@" >"%s"\nexit 137\n' "$tmp/words" >"$tmp/bin/mpirun"
chmod +x "$tmp/bin/mpirun"
printf 'host-a slots=2\nhost-b slots=2\n' >"$tmp/hosts"
printf 'host-a max_slots=2\nhost-b slots=2\n' >"$tmp/other.hosts"
path=$PATH PATH=$tmp/bin:$PATH
expect 3 'ranks 0, 1 on host-a, rank 2 on host-b: no answer' hosts_of_ranks_that_never_report \
  launch -n 3 --hosts "$tmp/hosts" train
grep -q -e '--map-by slot' "$tmp/words"
verdict $? mpirun_places_ranks_as_the_file_says "$(cat "$tmp/words")"
expect 3 'ranks 0, 1, 2 on an unknown host: no answer' unknown_hosts_of_ranks_that_never_report \
  launch -n 3 --hosts "$tmp/other.hosts" --mpirun --display-map train
expect 2 "other.hosts, line 1: expected 'NAME slots=N'" other_words_in_the_list_are_refused \
  launch -n 3 --hosts "$tmp/other.hosts" train
expect 2 'has 4 slots for 5 ranks; raise slots=N, or lower -n' so_are_too_few_slots \
  launch -n 5 --hosts "$tmp/hosts" train
PATH=$path
expect 3 'mpirun ended with' failure_of_mpirun_itself launch -n 6 --mpirun --no-such-option train

# mpirun ignores that its standard output cannot be written; launch does not.
lost() { # lost NAME: the code and the message of the launch before, $got and $tmp/err
  [ $got -eq 3 ] && grep -q 'launch: standard output could not be written: ' "$tmp/err"
  verdict $? "a_report_is_not_lost_$1" "exit code $got: $(head -c 300 "$tmp/err")"
}
two="launch -n 2 train --data $tmp/text $small --dp 2 --pp 1"
timeout 600 "$zp" $two --json >/dev/full 2>"$tmp/err"
got=$?
lost on_a_full_disk
timeout 600 "$zp" $two --json >&- 2>"$tmp/err"
got=$?
lost if_standard_output_is_closed
# 120 kB, more than the pipes hold while nothing reads
timeout 600 "$zp" $two --micro-batches 1 --steps 1000 --json 2>"$tmp/err" |
  (sleep 3 && cat >"$tmp/json")
jq -en 'input | (.steps | length) == 1000' "$tmp/json" >"$tmp/jq" 2>&1
verdict $? a_slow_reader_gets_the_whole_report "$(wc -c <"$tmp/json") bytes, $(cat "$tmp/err")"

# What torchrun's or Open MPI's variables say is taken seriously.
with() { # with "VARIABLES" PATTERN NAME
  # shellcheck disable=SC2086
  env $1 timeout 600 "$zp" train --data "$tmp/text" $small >"$tmp/out" 2>&1
  [ $? -eq 2 ] && grep -qE -e "$2" "$tmp/out"
  verdict $? "$3" "$(head -c 300 "$tmp/out")"
}
with "RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4" \
  'torchrun started this as process 0 of 4.*zeroproof launch -n 4 train' \
  torchrun_is_reported_with_the_right_command
with "RANK=4 WORLD_SIZE=4" "RANK is '4'; it should be a whole number from 0 to 3" rank_out_of_range
with "RANK=1" 'WORLD_SIZE is not set' rank_without_world
with "OMPI_COMM_WORLD_RANK=-1 OMPI_COMM_WORLD_SIZE=2" "OMPI_COMM_WORLD_RANK is '-1'" negative_rank
with "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=0" "OMPI_COMM_WORLD_SIZE is '0'" empty_world
with "RANK=0 WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 \
  OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0" \
  'torchrun \(rank 0 of 1\) and of Open MPI \(rank 0 of 2\)' two_launchers

# once NAME PATTERN ARGS...: four processes refuse with 2, and the first of them says why; another
# one says it with its rank, should mpirun take seconds to end it
once() {
  expect 2 "$2" "$1" launch -n 4 train $3
  [ "$(grep -E -e "$2" "$tmp/out" | grep -vc 'train: rank [1-3]: ')" -eq 1 ]
  verdict $? "${1}_is_said_once" "$(head -c 300 "$tmp/out" | tr '\n' ' ')"
}
printf '{"pp": 0}' >"$tmp/bad.json"
once refusal_under_mpi 'train: --tp 2: ' '--tp 2'
once unknown_flag_under_mpi "unrecognized option '--nope'" --nope
once range_under_mpi 'pp: 0 is out of range' '--pp 0'
once config_under_mpi 'bad.json: pp: 0 is out of range' "--config $tmp/bad.json"
once config_missing_under_mpi 'none.json: No such file' "--config $tmp/none.json"
once data_missing_under_mpi 'none.txt: No such file' "--data $tmp/none.txt"
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 \
  OMPI_COMM_WORLD_LOCAL_SIZE=2 "$zp" train --tp 2 >"$tmp/out" 2>&1
[ $? -eq 2 ] && grep -q '^zeroproof train: rank 1: --tp 2: ' "$tmp/out"
verdict $? a_rank_without_a_first_one_reports_its_refusal "$(cat "$tmp/out")"
finish
