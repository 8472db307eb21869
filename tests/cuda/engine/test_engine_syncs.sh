#!/bin/sh
# Waits of the CUDA engine, dropped one by one: under ThreadSanitizer every one of a kind is a race
# under the first order; in the plain build wrong results are found under some order.
# inputs: build/tests/drivers/cuda/engine_syncs*
set -u
build=${ZP_BUILD:-build}
plain=$build/tests/drivers/cuda/engine_syncs
tsan=$build/tests/drivers/cuda/engine_syncs_tsan
out=$(mktemp)
trap 'rm -f "$out"' EXIT
export TSAN_OPTIONS=symbolize=0:exitcode=0 # reports are made by the hundred, and not read

verdict() { # verdict CODE NAME
  if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2" && tail -5 "$out"; fi
}

"$tsan" run 1 41 1 >"$out" 2>/dev/null
verdict $? "no_race_in_random_jobs"
NCCL_LAUNCH_ORDER_IMPLICIT=1 "$tsan" run 41 71 1 >"$out" 2>/dev/null
verdict $? "no_race_in_random_jobs_where_nccl_keeps_the_launch_order"

# every N of the kind: three stages, ZeRO stage 2, several buckets and producers
three=precision=fp32,reduce=ordered,M=1,bucket=8,pp=3,stage=2,align=2,mode=dyadic,steps=3
three="$three,schedule=5,list=38@0.1+35@0.1+12@1.1t1+11@1.1t0+0@1.2+11@2.1t0"
# two stages of two ranks, four micro-batches, a bucket a few elements
two="precision=fp16,reduce=ordered,M=4,bucket=3,pp=2,dp=2,ep=2,stage=2,align=2,unused=60,steps=2"
two="$two,schedule=5,list=12@0.1t1+20@1.1+32@1.0+16@1.2e"
"$tsan" kind "$three" 1 reduce producer >"$out" 2>/dev/null
verdict $? "a_reduction_that_misses_one_producer_is_a_race"
"$tsan" kind "$three" 1 producer reduce >"$out" 2>/dev/null
verdict $? "a_slot_refilled_while_it_is_read_is_a_race"
"$tsan" kind "$three" 1 compute p2p >"$out" 2>/dev/null
verdict $? "a_stage_that_does_not_wait_for_its_exchange_is_a_race"

# a set of producers that is not emptied with its bucket would show here
"$plain" again 1 101 >"$out" 2>/dev/null
verdict $? "no_stream_waits_for_one_record_twice"

some() { # some NAME WAITER RECORDER: wrong results are found for some N of the kind
  "$plain" kind "$two" 8 "$2" "$3" >"$out" 2>/dev/null
  grep -q 'differs from ref' "$out"
  verdict $? "$1"
}
some "a_reduction_that_misses_one_producer_gives_a_wrong_result" reduce producer
some "a_slot_refilled_while_it_is_read_gives_a_wrong_result" producer reduce
some "a_stage_that_does_not_wait_for_its_exchange_gives_a_wrong_result" compute p2p
