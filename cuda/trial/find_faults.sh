#!/bin/sh
# Finds, for every planted fault, a case and an order of execution in which both builds find it, and
# writes them down as found.h: cuda/trial/find_faults.sh BUILD >cuda/trial/found.h. Called by
# `make faults`. Cases are tried one after the other; of a case, the first order that both builds
# find the fault in is taken.
set -eu
build=$1
orders=100
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export TSAN_OPTIONS=symbolize=0:exitcode=0

# Slots: two ranks, five entries in three buckets, two micro-batches. Sums: stage 1, three of them.
# Pipeline: two stages of one rank, with a tied entry; of two, where shapes vary; where gradients
# are rare. Saving: the first again, with a checkpoint. Offload: three buckets or more, so that
# parameters come back to a place twice.
slots=list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0
sums=list=10@0.0+6@0.0+9@0.0+7@0.0
stages=list=5@0.0t0+9@0.0+7@1.0+5@1.0t0
varies=dynamic=1,vary=1,list=9@0.0+7@1.0
common=seed=8080
cat >"$out/cases" <<END
pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,$common,$slots
pp=1,dp=2,stage=1,reduce=exact,precision=fp32,M=3,bucket=16,steps=5,$common,$sums
pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,$common,$stages
pp=2,dp=2,stage=2,reduce=ordered,precision=bf16,M=4,bucket=8,steps=3,$common,unused=60,$stages
pp=2,dp=1,stage=2,reduce=ordered,precision=bf16,M=3,bucket=16,steps=2,$common,$varies
pp=1,dp=1,stage=1,reduce=ordered,precision=fp32,M=2,bucket=16,steps=3,$common,unused=240,list=9@0.0
pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,$common,$slots,reload=1:2:1:8
pp=1,dp=2,stage=2,reduce=ordered,precision=fp16,M=1,bucket=8,steps=4,$common,$slots
END

echo >"$out/found" # not empty: awk tells the files apart by it
while read -r text; do
  "$build/tests/cuda/engine_faults" hunt "$text" "$orders" >"$out/all"
  awk 'NR == FNR { known[$1] = 1; next } !($1 in known)' "$out/found" "$out/all" \
    >"$out/plain"
  "$build/tests/cuda/engine_faults_tsan" confirm "$text" <"$out/plain" 2>/dev/null |
    awk -v text="$text" '{ print $1, text ",schedule=" $2, $3, $4 }' >>"$out/found"
done <"$out/cases"

cat <<'END'
/* clang-format off */
/* Where each planted fault is found: made by `make faults`, judged by test_engine_faults.sh. A
 * fault that no case has found has an empty one. */
END
"$build/tests/cuda/engine_faults" names | while read -r name id; do
  awk -v name="$name" -v id="$id" '
    $1 == name { text = $2; plain = $3; tsan = $4; exit }
    END {
      printf "#define ZP_FOUND_%s \\\n  \"%s\"\n", id, text
      printf "#define ZP_FOUND_%s_AS {\"%s\", \"%s\"}\n", id, plain, tsan
    }' "$out/found"
done
