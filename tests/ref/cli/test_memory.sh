# Commands refuse what does not fit the memory that is free, with the figure; the figure is an upper
# bound, at most 1.5 times the measured peak.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/ref/cli/memory.py LICENSE
# shellcheck disable=SC3045 # dash has ulimit -v and -t
. tests/fixtures/lib.sh
if [ "${SAN:-0}" = 1 ]; then
  echo "not run: sanitizers need address space of their own"
  exit 0
fi

# bounded NAME ARGS…; covered NAME ARGS…: only an upper bound, as the peak depends on which runs of
# --verify overlap
bounded() { estimated 3 "$@"; }
covered() { estimated 1000 "$@"; }
estimated() { # estimated MOST NAME ARGS…: the figure is at most MOST halves of the peak
  most=$1
  name=$2
  shift 2
  # shellcheck disable=SC2046 # four words
  set -- $(python3 -B tests/ref/cli/memory.py "$zp" "$@" 2>&1)
  [ $# -eq 4 ] && [ "$3" -eq 2 ] && [ "$4" -eq 0 ] && [ "$2" -le "$1" ] &&
    [ $((2 * $1)) -le $((most * $2)) ]
  verdict $? "$name" "estimate, peak, exit codes: $*"
}
bounded estimate_of_many_replicas sim --pp 1 --dp 2000 --steps 1
bounded estimate_of_many_stages sim --pp 20000 --dp 1 --steps 1
bounded estimate_of_both sim --pp 16 --dp 500 --steps 1
bounded estimate_of_large_models sim --case 'pp=2,dp=1,list=4000000@0.0+4000000@1.0' --steps 1
bounded estimate_of_stage_0 sim --case 'pp=1,dp=4,stage=0,list=1000000@0.0' --steps 1
text="--steps 1 --sample 0 --data LICENSE"
# shellcheck disable=SC2086
{
  bounded estimate_of_training train --pp 1 --dp 64 $text
  covered estimate_of_verified_training train --pp 1 --dp 8 --verify $text
  covered estimate_of_verified_deep_training train --pp 2 --dp 2 --verify --layers 8 $text
  bounded estimate_of_deep_training train --pp 4 --dp 16 --layers 8 --d-model 128 $text
}
long() { # long DP: a check of long programs
  printf '{"dp": %d, "micro_batches": 1, "bucket": 65536,
    "params": [{"numel": 17179869184, "stage": 0}]}' "$1" >"$tmp/long.json"
}
long 1
bounded estimate_of_a_check plan --config "$tmp/long.json" --check
long 4
(ulimit -v 30000 && "$zp" plan --config "$tmp/long.json" --check >"$tmp/out" 2>&1)
least=$(sed -n 's/.*up to \([0-9]*\) MiB of memory.*/\1/p' "$tmp/out")
[ -n "$least" ] &&
  (ulimit -v $(((least * 106 / 100 + 100) * 1024)) &&
    "$zp" plan --config "$tmp/long.json" --check >"$tmp/out" 2>&1)
verdict $? a_check_uses_fewer_threads_where_memory_is_short "$least MiB: $(tail -c 300 "$tmp/out")"
# 2^20 ranks and 2^40 elements, in 1 GB
printf '{"pp": 1048576, "micro_batches": 1, "bucket": 1073741824,
  "params": [{"numel": 1099511627776, "stage": 0}]}' >"$tmp/wide.json"
wide() { (ulimit -v 1000000 && ulimit -t 600 && "$zp" plan --check "$@" >"$tmp/out" 2>&1); }
wide --config "$tmp/wide.json" && grep -q 'of 1048576 ranks in .*: all invariants hold' "$tmp/out"
verdict $? a_check_of_2_20_stages_takes_less_than_1_GB "$(tail -c 300 "$tmp/out")"
wide --pp 32 --dp 32768 && grep -q 'of 1048576 ranks in .*: all invariants hold' "$tmp/out"
verdict $? a_check_of_2_20_ranks_takes_less_than_1_GB "$(tail -c 300 "$tmp/out")"
finish
