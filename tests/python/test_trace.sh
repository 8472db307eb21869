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
torchrun --out "$tmp/run" -- tests/python/train.py
[ $? -ne 0 ] && grep -q 'rank-[01].zpt is of an earlier run' "$tmp/log"
verdict $? a_record_is_not_overwritten "$(tail -n 5 "$tmp/log")"
expect 0 'records of 2 ranks: consistent' it_is_left_as_it_is trace check "$tmp/run"
SKIP=1 torchrun --out "$tmp/skip" -- tests/python/train.py
expect 1 'all_reduce' a_rank_that_leaves_out_a_collective_is_found trace check "$tmp/skip"
"$python" -m zeroproof.trace --out "$tmp/none" -- "$tmp/missing.py" >"$tmp/log" 2>&1
[ $? -eq 2 ] && grep -q 'missing.py: No such file' "$tmp/log"
verdict $? a_missing_script_is_an_error "$(cat "$tmp/log")"
"$python" -m zeroproof.trace >"$tmp/log" 2>&1
[ $? -eq 2 ] && grep -q 'expected a script' "$tmp/log"
verdict $? so_is_none "$(cat "$tmp/log")"
exit "$bad"
