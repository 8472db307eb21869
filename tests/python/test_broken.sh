#!/bin/sh
# The three broken programs of python/examples: the first line of `trace check` explains each of
# them, and nothing is found once the bug is removed.
# A loop in which all all_reduces are equal, and rank 1 leaves out that of one step, is explained by
# the step and the line.
# inputs: build/libzeroproof.so.* build/zeroproof ref/num/exact.h tests/fixtures/lib.sh
# inputs: tests/python/lib.sh python conformance/locks conformance/judge conformance/recorder
# inputs: @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1

# run_of FOLDER RANKS PROGRAM [ARGUMENT...]: a recorded run in $tmp/FOLDER, traces in its folder
# run, output in log. A program that hangs is ended by the time limit of its process group.
run_of() {
  (cd "$tmp/$1" && processes=$2 && shift 2 && exec timeout 900 "$python" -W ignore \
    -m torch.distributed.run --nproc-per-node "$processes" --rdzv-backend c10d \
    --rdzv-endpoint localhost:0 -m zeroproof.trace --out run -- "$@") >"$tmp/$1/log" 2>&1
}

# broken NAME RANKS FIRST: the program fails, and the first line about it is FIRST.
broken() {
  program=$1
  mkdir "$tmp/$program"
  cp "python/examples/$program.py" "$tmp/$program"
  run_of "$program" "$2" "$program.py"
  verdict $((!$?)) "${program}_fails" "$(tail -n 5 "$tmp/$program/log")"
  "$zp" trace check "$tmp/$program/run" >"$tmp/$program/out" 2>&1
  status=$?
  [ "$status" -eq 1 ] && [ "$(sed -n 1p "$tmp/$program/out")" = "$3" ]
  verdict $? "the_first_line_explains_$program" "exit code $status: $(cat "$tmp/$program/out")"
  [ "$(wc -l <"python/examples/$program.py")" -le 40 ]
  verdict $? "${program}_is_short"
}

# fixed NAME RANKS FIX: with FIX, a command of sed, the program completes.
fixed() {
  program=$1
  mkdir "$tmp/$program.fixed"
  sed "$3" "python/examples/$program.py" >"$tmp/$program.fixed/$program.py"
  cmp -s "$tmp/$program.fixed/$program.py" "python/examples/$program.py"
  verdict $((!$?)) "${program}_is_edited" "$3 changed nothing"
  run_of "$program.fixed" "$2" "$program.py"
  verdict $? "${program}_completes_without_its_bug" "$(tail -n 5 "$tmp/$program.fixed/log")"
  expect 0 ": consistent" "its_record_is_consistent" trace check "$tmp/$program.fixed/run"
}

# This one hangs until its time limit, 60 s, beside the others.
(
  broken pipeline_chunks 3 "step 2: either rank 0 skipped send of 32 fp32 to rank 1 \
(pipeline_chunks.py:20) in 'default_pg'; rank 1 is waiting for it,"
  exit "$bad"
) >"$tmp/hanging" 2>&1 &
hanging=$!

world4="in 'default_pg' {0–3}"
broken ddp_branch 4 "step 3, backward: rank 2 skipped all_reduce of 68 fp32 (ddp_branch.py:25) \
$world4 and entered all_reduce sum of 1 fp32 (ddp_branch.py:21) $world4; ranks 0, 1, 3 entered it"
fixed ddp_branch 4 's/rank == 2 and //; s/number == 3/number > 5/'
broken fsdp_odd_batch 3 "step 2, forward: rank 0 entered an extra all_gather of 102 fp32 \
(fsdp_odd_batch.py:23) in 'default_pg' {0–2} at its record 12; ranks 1, 2 do not enter it"
fixed fsdp_odd_batch 3 's/(13, 16)/(12, 16)/'
fixed pipeline_chunks 3 's/(16, 16, 12)/(16, 16, 16)/'

mkdir "$tmp/equal"
cat >"$tmp/equal/equal_steps.py" <<'X'
import contextlib
import datetime
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
local = dist.get_rank() == 1 and sys.argv[1:] == ["broken"]
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(6):
    with model.no_sync() if local and number == 3 else contextlib.nullcontext():
        optimizer.zero_grad()
        model(torch.randn(8, 16)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
X
run_of equal 3 equal_steps.py broken
verdict $((!$?)) a_rank_that_leaves_out_one_of_six_equal_operations_fails \
  "$(tail -n 5 "$tmp/equal/log")"
"$zp" trace check "$tmp/equal/run" >"$tmp/out" 2>&1
world3="in 'default_pg' {0–2}"
[ "$(sed -n 1p "$tmp/out")" = "step 3, backward: rank 1 skipped all_reduce of 68 fp32 \
(equal_steps.py:17) $world3 and entered the next equal one of step 4 (equal_steps.py:17) at its \
record 8; 2 equal operations later, ranks 0, 2 are waiting for one more" ]
verdict $? the_first_line_names_its_step_and_line "$(cat "$tmp/out")"
rm -r "$tmp/equal/run"
run_of equal 3 equal_steps.py
verdict $? it_completes_without_the_bug "$(tail -n 5 "$tmp/equal/log")"
expect 0 ": consistent" its_record_has_no_hint trace check "$tmp/equal/run"
grep -q 'may have' "$tmp/out"
verdict $((!$?)) equal_operations_of_equal_ranks_are_no_hint "$(cat "$tmp/out")"
wait $hanging || bad=1
cat "$tmp/hanging"
exit "$bad"
