# zp_job: processes that torchrun or mpirun has started agree on rank 0's bytes, or say why not.
# inputs: build/tests/drivers/mpi/job_driver tests/drivers/mpi/strangers.py tests/fixtures/lib.sh
# inputs: tests/fixtures/job.sh
# alone: some deadlines are a second
. tests/fixtures/lib.sh
driver=${ZP_BUILD:-build}/tests/drivers/mpi/job_driver
. tests/fixtures/job.sh
export ZEROPROOF_TOKEN=0123456789abcdef0123456789abcdefX

# torch RANKS LOCAL_WORLD VARIABLES ARGUMENTS…: processes as torchrun starts them
torch() {
  n=$1
  local=$2
  variables=$3
  shift 3
  : >"$tmp/out"
  k=0
  while [ $k -lt "$n" ]; do
    # shellcheck disable=SC2086
    env RANK=$k WORLD_SIZE="$world" LOCAL_RANK=$((k % local)) LOCAL_WORLD_SIZE="$local" \
      TORCHELASTIC_RUN_ID="test-$$" $variables timeout 900 "$driver" "$@" >"$tmp/out.$k" 2>&1 &
    eval "pid$k=$!"
    k=$((k + 1))
  done
  code=0
  while [ $k -gt 0 ]; do
    k=$((k - 1))
    eval "wait \$pid$k" || code=1
    cat "$tmp/out.$k" >>"$tmp/out"
  done
}
got() { # got NUMBER PATTERN: that many lines
  [ "$(grep -cE -e "$2" "$tmp/out")" -eq "$1" ] ||
    complain "not $1 times '$2': $(head -c 400 "$tmp/out")"
}

world=4
torch 4 4 "MASTER_ADDR=nowhere.invalid MASTER_PORT=1" 300 2
got 4 'of 4, on this host [0-3] of 4: aa$'
got 4 ': bb$'
got 4 ': cc$'
law torchrun_on_one_host_needs_no_port
port=$((20000 + $$ % 20000))
torch 4 2 "MASTER_ADDR=127.0.0.1 MASTER_PORT=$port" 300 3
got 4 ', on this host [01] of 2: aa$'
got 4 ': bb$'
got 4 ': cc$'
law torchrun_on_two_hosts_uses_tcp
torch 4 2 "MASTER_ADDR=127.0.0.1 MASTER_PORT=$port ZEROPROOF_PORT=$((port + 7))" 300
got 4 ': cc$'
law the_port_may_be_chosen
ranks=4
job 300 1
cat "$tmp"/job/1/rank.*/stdout >"$tmp/out"
got 4 'rank [0-3] of 4, on this host [0-3] of 4: cc$'
law mpirun_on_one_host_needs_no_address
"$driver" >"$tmp/out" 2>&1
got 3 "^rank 0 of 1, on this host 0 of 1: "
law alone_there_is_nothing_to_exchange
torch 3 4 "MASTER_ADDR=x MASTER_PORT=1" 15
got 1 '^rank 0 of job .*: exchange: 1 ranks did not come, rank 3 among them$'
law a_rank_that_does_not_come_is_named
world=2
torch 2 1 "MASTER_PORT=1" 1
got 2 'several hosts, and MASTER_ADDR is not set: set it to a name of rank 0.s host'
law several_hosts_without_an_address_are_refused
torch 2 1 "MASTER_ADDR=nowhere.invalid MASTER_PORT=$port" 1
got 2 ': nowhere.invalid: '
law an_invalid_address_is_reported
torch 2 1 "MASTER_ADDR=127.0.0.1 MASTER_PORT=99999" 1
got 2 "MASTER_PORT is '99999'; it should be a whole number from 1 to 65534"
law a_port_out_of_range_is_refused
torch 2 1 "MASTER_ADDR=127.0.0.1 MASTER_PORT=99999 ZEROPROOF_PORT=0" 1
got 2 "ZEROPROOF_PORT is '0'; it should be a whole number from 1 to 65535"
law a_chosen_port_out_of_range_is_refused
torch 2 1 "MASTER_ADDR=127.0.0.1 MASTER_PORT=$port LOCAL_RANK=5" 1
got 2 "LOCAL_RANK is '5'; it should be a whole number from 0 to 0"
law a_local_rank_out_of_range_is_refused

# ---- The token, and connections that are not of the job ------------------------------------------

tcp="MASTER_ADDR=127.0.0.1 MASTER_PORT=$port"
torch 2 1 "$tcp ZEROPROOF_TOKEN=" 300
got 2 'any process that reaches rank 0.s port could join it: set ZEROPROOF_TOKEN to the same random'
law several_hosts_without_a_token_are_refused
torch 2 1 "$tcp ZEROPROOF_TOKEN=0123456789abcdef0123456789abcde" 300
got 2 'ZEROPROOF_TOKEN has 31 characters; expected 32 to 128'
law a_short_token_is_refused
printf '%s\n' "$ZEROPROOF_TOKEN" >"$tmp/token"
chmod 644 "$tmp/token"
torch 2 1 "$tcp ZEROPROOF_TOKEN= ZEROPROOF_TOKEN_FILE=$tmp/token" 300
got 2 "ZEROPROOF_TOKEN_FILE=$tmp/token: expected a regular file of this user with mode 600"
law a_token_that_others_may_read_is_refused
chmod 600 "$tmp/token"
torch 2 1 "$tcp ZEROPROOF_TOKEN= ZEROPROOF_TOKEN_FILE=$tmp/token" 300
got 2 ': cc$'
law a_token_may_be_in_a_file

# rank WORLD RANK VARIABLES ARGUMENTS…: one process, in the background; its output is added to out
rank() {
  # shellcheck disable=SC2086
  env RANK="$2" WORLD_SIZE="$1" LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 $tcp $3 timeout 900 "$driver" "$4" \
    >>"$tmp/out" 2>&1 &
}
: >"$tmp/out"
rank 2 0 "" 8
rank 2 1 ZEROPROOF_TOKEN=another-token-of-32-characters-xx 300
wait
got 1 '^rank 1 of job .*: rank 0 refuses: rank 0 has another ZEROPROOF_TOKEN$'
got 1 '^rank 0 of job .*rank 1 among them; 1 connections without the job.s token were refused$'
law a_rank_with_another_token_is_refused_and_named
: >"$tmp/out"
rank 3 0 "" 300
first=$!
others=
for k in 1 1; do
  rank 3 $k "" 300
  others="$others $!"
done
wait $first # the rank 1 that was served waits for the second exchange
kill $others 2>/dev/null
wait
got 1 '^rank 0 of job .*: exchange: two processes say that they are rank 1$'
law a_rank_that_two_processes_have_is_named
: >"$tmp/out"
rank 2 0 "" 300
rank 8 5 "" 300
wait
got 2 ': a process says rank 5 of 8, rank 0 is of 2: the launchers differ$'
law a_rank_out_of_range_is_named

# They hold what they can get before rank 1 comes; its exchanges must not wait for them to time out
# one after the other: 300 of them at 5 s each are far beyond the patience.
for kind in idle slow garbage old wrong; do
  : >"$tmp/out"
  : >"$tmp/strangers"
  rank 2 0 "" 100
  first=$!
  timeout 900 python3 -B tests/drivers/mpi/strangers.py $((port + 1)) $kind 300 \
    >"$tmp/strangers" &
  stranger=$!
  until grep -q connected "$tmp/strangers" || ! kill -0 $stranger; do sleep 0.05; done
  rank 2 1 "" 100
  wait $! && wait $first || complain "no exchange: $(head -c 300 "$tmp/out")"
  kill $stranger 2>/dev/null
  wait $stranger
  got 2 ': cc$'
  ! grep -q 6161 "$tmp/strangers" || complain "they received the bytes of rank 0"
  law "strangers_that_are_${kind}_do_not_delay_the_start"
done
finish
