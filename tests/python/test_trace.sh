#!/bin/sh
# python -m zeroproof.trace: records a training script that was not edited.
# inputs: build/libzeroproof.so.* build/zeroproof python ref/num/exact.h tests/fixtures/lib.sh
# inputs: tests/python conformance/locks conformance/judge conformance/recorder @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh

torchrun() { # torchrun OPTION...: two ranks
  timeout 500 "$python" -W ignore -m torch.distributed.run --nproc-per-node 2 \
    --rdzv-backend c10d --rdzv-endpoint localhost:0 -m zeroproof.trace "$@" >"$tmp/log" 2>&1
}

torchrun --out "$tmp/run" -- tests/python/train.py
verdict $? the_script_runs "$(tail -n 5 "$tmp/log")"
expect 0 'records of 2 ranks: consistent' its_record_is_consistent trace check "$tmp/run"
cp -r "$tmp/run" "$tmp/first"
SKIP=1 torchrun --out "$tmp/run" -- tests/python/train.py
expect 1 'all_reduce' another_run_writes_the_next_attempt trace check "$tmp/run"
grep -q '^[0-9]* records of 2 ranks: inconsistent.*; attempt 1, the last one (--attempt' "$tmp/out"
verdict $? it_is_judged_and_named "$(cat "$tmp/out")"
expect 0 'consistent.*; attempt 0 \(--attempt N judges' the_first_one_can_be_judged \
  trace check --attempt 0 "$tmp/run"
cmp "$tmp/run/rank-0.zpt" "$tmp/first/rank-0.zpt" &&
  cmp "$tmp/run/rank-1.zpt" "$tmp/first/rank-1.zpt"
verdict $? nothing_is_overwritten
expect 2 'it has no folder attempt-7' an_unknown_attempt_is_refused \
  trace check --attempt 7 "$tmp/run"

# torchrun restarts all ranks after rank 1 has failed, first before its first operation: a rank
# that wrote nothing in one attempt must not join another one.
cat >"$tmp/restarted.py" <<'X'
import os
import sys

import torch
import torch.distributed as dist

attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group("gloo")
if dist.get_rank() == 1 and attempt == 0:
    sys.exit(3)
dist.all_reduce(torch.ones(2 + attempt))
if dist.get_rank() == 1 and attempt == 1:
    sys.exit(4)
dist.all_reduce(torch.ones(3))
X
restarts='--max-restarts 2 --monitor-interval 0.1'
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 # else gloo may connect to ranks of the attempt before
timeout 500 "$python" -W ignore -m torch.distributed.run --nproc-per-node 2 $restarts \
  --rdzv-backend c10d --rdzv-endpoint localhost:0 -m zeroproof.trace --out "$tmp/restarts" -- \
  "$tmp/restarted.py" >"$tmp/log" 2>&1
verdict $? the_third_attempt_completes "$(tail -n 5 "$tmp/log")"
expect 0 '^4 records of 2 ranks: consistent' its_traces_are_whole trace check "$tmp/restarts"
expect 1 '^rank 1 ended with exit status 4, after 1 record' so_are_those_of_the_second \
  trace check --attempt 1 "$tmp/restarts"
! [ -e "$tmp/restarts/rank-1.zpt" ]
verdict $? a_rank_without_operations_has_no_trace "$(find "$tmp/restarts")"
timeout 500 "$python" -W ignore -m torch.distributed.run --nproc-per-node 2 $restarts \
  --rdzv-backend c10d --rdzv-endpoint localhost:0 -m zeroproof.trace --out "$tmp/restarts" -- \
  "$tmp/restarted.py" >"$tmp/log" 2>&1
expect 0 'consistent.*; attempt 5, the last one ' another_job_takes_the_next_numbers \
  trace check "$tmp/restarts"
torchrun --out "$tmp/values" --values 1 -- tests/python/train.py
expect 0 'consistent \(order, shapes and [0-9]+ values\)$' its_values_are_compared \
  trace check "$tmp/values"
"$python" -m zeroproof.trace --values -1 -- tests/python/train.py >"$tmp/log" 2>&1
[ $? -eq 2 ] && grep -q -e '--values -1: expected 0 or more' "$tmp/log"
verdict $? negative_steps_are_refused "$(cat "$tmp/log")"
SKIP=1 torchrun --out "$tmp/skip" -- tests/python/train.py
expect 1 'all_reduce' a_rank_that_leaves_out_a_collective_is_found trace check "$tmp/skip"

# Rank 1 ends with a status, and rank 0 waits for it: torchrun ends rank 0.
cat >"$tmp/leaves.py" <<'X'
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(2))
if dist.get_rank() == 1:
    raise SystemExit(int(sys.argv[1]))
dist.all_reduce(torch.ones(3))
X
torchrun --out "$tmp/leaves" --depth 1 -- "$tmp/leaves.py" 3
expect 1 '^rank 1 ended with exit status 3, after 1 record; rank 0 waits for it' \
  an_exit_status_is_reported trace check "$tmp/leaves"
sed -n 1p "$tmp/out" | grep -q '(leaves.py:10)'
verdict $? it_is_the_first_finding "$(cat "$tmp/out")"
"$zp" trace view "$tmp/leaves" --out "$tmp/view.json" >"$tmp/out" 2>&1 &&
  grep -q '"what":"all_reduce sum of 2 fp32","record":0,"step":-1,"site":"leaves.py:7"' \
    "$tmp/view.json"
verdict $? a_record_has_its_line "$(cat "$tmp/out" "$tmp/view.json")"
torchrun --out "$tmp/redacted" --redact -- "$tmp/leaves.py" 0
expect 1 '^consequence: rank 1 finishes after 1 record' status_0_is_a_normal_end \
  trace check "$tmp/redacted"
! grep -q 'with exit status' "$tmp/out" && ! grep -q leaves "$tmp"/redacted/rank-*.zpt
verdict $? redacted_traces_have_no_file_names "$(cat "$tmp/out")"

# A script that starts its ranks itself: forked ranks are recorded, others say how they can be.
cat >"$tmp/starts.py" <<'X'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing

import zeroproof.trace


def rank(number, rendezvous, folder):
    if folder:
        zeroproof.trace.recorder().record(folder)
    dist.init_process_group("gloo", init_method=rendezvous, rank=number, world_size=2)
    dist.all_reduce(torch.ones(2))


if __name__ == "__main__":
    method, *more = sys.argv[1:]
    torch.multiprocessing.start_processes(rank, more, 2, start_method=method)
X
starts() { # starts NAME METHOD FOLDER
  timeout 500 "$python" -W ignore -m zeroproof.trace --out "$tmp/$1" -- "$tmp/starts.py" "$2" \
    "file://$tmp/rendezvous-$1" "$3" >"$tmp/log" 2>&1
  verdict $? "$1: it runs" "$(tail -n 5 "$tmp/log")"
}
starts spawned spawn ''
grep -q "^zeroproof.trace: nothing was recorded in $tmp/spawned: .*recorder().record(" "$tmp/log" &&
  ! [ -e "$tmp/spawned" ]
verdict $? a_script_that_is_not_recorded_is_reported "$(cat "$tmp/log")"
for name in spawned_and_recorded forked; do
  if [ $name = forked ]; then starts $name fork ''; else starts $name spawn "$tmp/$name"; fi
  ! grep -q 'nothing was recorded' "$tmp/log"
  verdict $? "$name: it is not reported" "$(cat "$tmp/log")"
  expect 0 '^2 records of 2 ranks: consistent' "$name: its ranks are recorded" \
    trace check "$tmp/$name"
done
"$python" -m zeroproof.trace --depth 33 -- "$tmp/leaves.py" >"$tmp/log" 2>&1
[ $? -eq 2 ] && grep -q -e '--depth 33: expected 0 to 32' "$tmp/log"
verdict $? an_invalid_depth_is_refused "$(cat "$tmp/log")"
"$python" -m zeroproof.trace --out "$tmp/none" -- "$tmp/missing.py" >"$tmp/log" 2>&1
[ $? -eq 2 ] && grep -q 'missing.py: No such file' "$tmp/log"
verdict $? a_missing_script_is_an_error "$(cat "$tmp/log")"
"$python" -m zeroproof.trace >"$tmp/log" 2>&1
[ $? -eq 2 ] && grep -q 'expected a script' "$tmp/log"
verdict $? so_is_none "$(cat "$tmp/log")"

# A process that the script forks says nothing of the record.
cat >"$tmp/forks.py" <<'END'
import os, sys
child = os.fork()
if child == 0:
    sys.exit()
os.waitpid(child, 0)
END
"$python" -W ignore -m zeroproof.trace --out "$tmp/forks" "$tmp/forks.py" >"$tmp/log" 2>&1
[ "$(grep -c 'nothing was recorded' "$tmp/log")" = 1 ]
verdict $? only_the_process_that_was_started_says_so "$(cat "$tmp/log")"

# What follows the script is its own, with -- or without, as torchrun may remove it.
echo 'import sys; print(sys.argv[1:])' >"$tmp/words.py"
printf '%s\n' "['--out', 'x', '--lr', '3', '--', '-m']" >"$tmp/want"
for before in "$tmp/words.py" "-- $tmp/words.py" "--redact $tmp/words.py" \
  "--redact -- $tmp/words.py" "-m words" "--redact -m words"; do
  # shellcheck disable=SC2086
  (cd "$tmp" && PYTHONPATH=$tmp:$PYTHONPATH "$python" -W ignore -m zeroproof.trace $before \
    --out x --lr 3 -- -m) >"$tmp/log" 2>"$tmp/err"
  cmp -s "$tmp/log" "$tmp/want"
  verdict $? "arguments_of:$(echo "$before" | sed "s|$tmp/||; s/ /_/g")" \
    "$(cat "$tmp/log" "$tmp/err")"
done
exit "$bad"
