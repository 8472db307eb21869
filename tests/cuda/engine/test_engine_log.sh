# ZP_LOG: one line an op, a communication, a wait, record or launch, from every rank; nothing
# without it. spec: LEDG-1
# inputs: build/zeroproof build/zeroproof-simdev*
set -u
build=${ZP_BUILD:-build}
case="pp=2,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,schedule=4"
case="$case,list=10@0.0+6@0.0+9@1.0+7@1.0"
out=$(mktemp)
log=$(mktemp)
trap 'rm -f "$out" "$log"' EXIT

law() { # law NAME COMMAND...
  name=$1
  shift
  if "$@"; then echo "ok $name"; else
    echo "not ok $name"
    head -3 "$log"
  fi
}

run() { # run TOPICS: one order of the case
  ZP_LOG=$1 "$build/zeroproof" sim --engine cuda --schedules 1 --case "$case" >"$out" 2>"$log"
}

lines() { # lines TOPIC ENGINE
  grep -c "^zeroproof: $2 rank [0-3] $1: " "$log"
}

run ""
law "nothing_is_logged_by_default" test ! -s "$log"

run ops
law "ops_are_logged_with_phase_step_and_position" \
  grep -q '^zeroproof: cuda rank 3 ops: step 1, position [0-9]*: add(mb 1 flat 0 bucket 0' "$log"
law "only_the_topics_asked_for_are_logged" test "$(lines ops "[a-z]*")" -eq "$(wc -l <"$log")"

run comm
law "ref_and_the_cuda_engine_log_the_same_communications" \
  test "$(lines comm ref)" -gt 0 -a "$(lines comm ref)" -eq "$(lines comm cuda)"
law "each_rank_logs_its_communications" sh -c "
  for r in 0 1 2 3; do
    grep -q \"^zeroproof: cuda rank \$r comm: step 1, position [0-9]*: all_reduce(statistics\" \
      '$log' || exit 1
  done"

run ops,streams,comm
law "waits_records_and_launches_are_logged_with_their_streams" sh -c "
  grep -q 'streams: launch gather_copy on another stream' '$log' &&
  grep -q 'streams: copied.record on another stream' '$log' &&
  grep -q 'streams: copied.wait on reduce' '$log' &&
  grep -q 'streams: read.host on the host' '$log'"
ops=$(lines ops "[a-z]*") streams=$(lines streams cuda) comm=$(lines comm "[a-z]*")
law "topics_add_up" test $((ops + streams + comm)) -eq "$(wc -l <"$log")"
run all
law "all_means_every_topic" test $((ops + streams + comm)) -eq "$(wc -l <"$log")"

run ops,sterams
law "an_unknown_topic_is_reported" grep -q "ZP_LOG has no topic 'sterams': use ops" "$log"
