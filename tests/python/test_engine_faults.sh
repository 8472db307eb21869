#!/bin/sh
# The conformance suite catches faults of zeroproof.torch.Engine: each in a case that it passes.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so build/zeroproof python
# inputs: tests/python tests/fixtures/lib.sh conformance spec/*.md @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh

judge() { # judge FAULT ARGUMENT...: what the suite prints
  fault=$1
  shift
  timeout 300 "$zp" check --adapter "$python tests/python/engine_mutant.py $fault" "$@" \
    --shrink 0 --brief >"$tmp/out" 2>&1
}

caught() { # caught FAULT PATTERN RECIPE: adds the recipe to $tmp/recipes
  echo "$3" >>"$tmp/recipes"
  ! judge "$1" --only "$3" && grep -q "$2" "$tmp/out"
  verdict $? "the_fault_${1}_is_caught" "$(tail -n 5 "$tmp/out")"
}

one='precision=fp32,reduce=exact,bucket=1024,ep=1,pp=1,tp=1,stage=2'
caught twice 'every wrong gradient is 2 times the expected one' \
  "$one,M=2,dp=1,optim=sgd,seed=12306475,steps=1,unit=0,list=6@0.0+4@0.0+8@0.0 backwards=2"
caught unused '^  STAT-4:' \
  "$one,M=1,dp=1,optim=sgd,seed=14260754,steps=1,unit=0,unused=190,list=3@0.0+17@0.0+40@0.0"
caught scale 'unscaled by the next scale' \
  "precision=bf16,reduce=exact,M=1,bucket=1024,dp=1,ep=1,optim=sgd,pp=1,scale=5:1:1:0:5:24,\
seed=6469263,stage=1,steps=3,tp=1,unit=-5,list=5@0.1+1@0.1+2@0.1"
caught moment '^  CKPT-5:' \
  "$one,M=1,dp=2,optim=adamw,seed=12787657,steps=3,unit=0,list=4@0.2+0@0.2+0@0.1 reload=zero"
caught ranks 'missing: contribution of dp 1, micro-batch 0' \
  "$one,M=1,dp=2,optim=sgd,seed=14252404,steps=1,unit=0,list=40@0.0"
set -- none
while read -r recipe; do
  set -- "$@" --only "$recipe"
done <"$tmp/recipes"
judge "$@" && grep -q '5 cases passed, 0 failed, 0 not supported' "$tmp/out"
verdict $? the_engine_passes_these_cases "$(tail -n 5 "$tmp/out")"
exit "$bad"
