# zp_job: processes that torchrun or mpirun has started agree on rank 0's bytes, or say why not.
# inputs: build/tests/drivers/mpi/job_driver tests/fixtures/lib.sh tests/fixtures/job.sh
# alone: some deadlines are a second
. tests/fixtures/lib.sh
driver=${ZP_BUILD:-build}/tests/drivers/mpi/job_driver
. tests/fixtures/job.sh

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
finish
