#!/bin/sh
# zeroproof.torch.megatron_grad_norm in training runs of Megatron-Core, which clip by it: its
# distributed optimizer, tensor, expert and pipeline parallelism, tied parameters. The suite judges
# the norm.
# inputs: build/libzeroproof.so.* build/zeroproof python ref/num/exact.h tests/fixtures/lib.sh
# inputs: tests/python conformance/locks conformance/judge conformance/adapters conformance/SPEC.md
# inputs: conformance/recorder conformance/schema spec/*.md @venv:megatron-core-0.19.2
cd "$(dirname "$0")/../.." || exit 3
. tests/fixtures/lib.sh
[ "${SAN:-0}" = 1 ] && exit 0 # as test_norm.sh
if ! python=$(sh conformance/locks/venv.sh megatron-core-0.19.2 megatron-core-0.19.2 2>"$tmp/err")
then
  echo "not run: python ${0##*/} ($(tail -n 1 "$tmp/err"))"
  exit 0
fi
build=${ZP_BUILD:-build}
ZEROPROOF_LIBRARY=$(cd "$build" && echo "$PWD"/libzeroproof.so.*)
export ZEROPROOF_LIBRARY PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1

trained() { # trained RECIPE: the exit code; the report is in $tmp/out
  timeout 500 "$build/zeroproof" check --adapter "$python tests/python/adapters/megatron_exact.py" \
    --shrink 0 --jobs 1 --only "precision=fp32,reduce=exact,bucket=1024,clip=0.5,$1" \
    >"$tmp/out" 2>&1
}

law() { # law NAME RECIPE
  trained "$2"
  verdict $? "$1" "$(tail -n 20 "$tmp/out")"
}

law shards_and_tensor_parallel_ranks \
  M=2,dp=2,ep=1,optim=adamw,pp=1,seed=9984723,stage=1,steps=2,tp=2,unit=0,list=8@0.0+8@0.0s
law pipeline_stages \
  M=2,dp=2,ep=1,optim=adamw,pp=3,seed=5,stage=1,steps=2,tp=1,unit=0,list=6@0.0+2@0.0+4@1.0+9@2.0
law experts \
  M=2,dp=2,ep=2,optim=adamw,pp=1,seed=3,stage=1,steps=2,tp=1,unit=0,list=3@0.0e+2@0.0+4@0.0e
law parameters_tied_over_stages \
  M=1,dp=2,ep=1,optim=sgd,pp=2,seed=4,stage=0,steps=2,tp=1,unit=0,list=3@0.0+5@0.0t0+2@1.0+5@1.0t0
export FAULT=part
trained M=2,dp=2,ep=1,optim=adamw,pp=1,seed=9984723,stage=1,steps=2,tp=2,unit=0,list=8@0.0+8@0.0s
[ $? -eq 1 ] && grep -q 'STAT-4 norm' "$tmp/out"
verdict $? the_norm_of_one_rank_alone_is_found "$(tail -n 20 "$tmp/out")"
exit "$bad"
