#!/bin/sh
# Finds, for every injected fault, the first case and order of execution in which both builds find
# it, and prints faults_found.h: cuda/verify/find_faults.sh BUILD >FILE. Called by `make faults`.
set -eu
build=$1
orders=300
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export TSAN_OPTIONS=symbolize=0:exitcode=0

# Slots: two ranks, five entries in three buckets, two micro-batches. Sums: stage 1, three
# micro-batches. Pipeline: two stages of one rank, with a tied entry; of two ranks; with varying
# shapes. Few gradients. Saving: the first case with a checkpoint. Offload: three buckets or more,
# so that parameters return to a buffer twice. Gathers of their own: aligned entries.
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
pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=64,steps=3,$common,entry_align=64,$slots
END

# Lines FAULT CASE_NUMBER SCHEDULE FOUND_AS FOUND_AS_TSAN.
echo >"$out/found" # not empty, so that NR == FNR only holds in the first file
number=0
while read -r text; do
  number=$((number + 1))
  "$build/tests/drivers/cuda/engine_faults" hunt "$text" "$orders" >"$out/all"
  awk 'NR == FNR { known[$1] = 1; next } !($1 in known)' "$out/found" "$out/all" \
    >"$out/plain"
  "$build/tests/drivers/cuda/engine_faults_tsan" confirm "$text" <"$out/plain" 2>/dev/null |
    awk -v number="$number" '{ print $1, number, $2, $3, $4 }' >>"$out/found"
done <"$out/cases"

cat <<'END'
/* The case in which each injected fault is found, or "", and what it is found as without and with
 * ThreadSanitizer. Written by `make faults`, checked by test_engine_faults.sh. */
END
awk '{
  split($0, part, ",seed=")
  printf "%-99s\\\n", "#define ZP_FOUND_IN_" NR
  printf "%-99s\\\n  \"seed=%s\"\n", "  \"" part[1] ",\"", part[2]
}' "$out/cases"
"$build/tests/drivers/cuda/engine_faults" names | while read -r name id; do
  awk -v name="$name" -v id="$id" '
    $1 == name { number = $2; schedule = $3; plain = $4; tsan = $5; exit }
    END {
      example = number ? "ZP_FOUND_IN_" number " \",schedule=" schedule "\"" : "\"\""
      printf "#define ZP_FOUND_%s %s\n", id, example
      printf "#define ZP_FOUND_%s_AS \"%s\", \"%s\"\n", id, plain, tsan
    }' "$out/found"
done
