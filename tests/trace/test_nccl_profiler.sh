#!/bin/sh
# The recorder that is a profiler plugin of NCCL, driven through its table as NCCL does it: what it
# tells is judged, and what it does not tell is not.
cd "$(dirname "$0")/../.." || exit 3
. tests/cli/lib.sh
build=${ZP_BUILD:-build}
plugin=$build/libnccl-profiler-zeroproof.so

run() { # run VERSION FAULT: three processes, one after the other
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  for rank in 0 1 2; do
    ZEROPROOF_TRACE=$tmp/run RANK=$rank WORLD_SIZE=3 timeout 20 \
      "$build/tests/trace/nccl_profiler_driver" "$plugin" "$1" $rank "$2" \
      >>"$tmp/run/log" 2>&1 || return 1
  done
}

recorded() { # recorded NAME FAULT CODE PATTERN
  run 6 "$2" && "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq "$3" ] && head -1 "$tmp/out" | grep -q "$4"
  verdict $? "$1" "$(head -n 4 "$tmp/run/log" "$tmp/out")"
}

for version in 5 6; do
  run $version none && "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1 &&
    grep -q '^warning: 24 records .* not judged' "$tmp/out" &&
    grep -q '^68 records of 3 ranks: they fit' "$tmp/out"
  verdict $? "what_version_${version}_tells_fits_and_its_sends_are_not_judged" "$(cat "$tmp/run/log" "$tmp/out")"
done
"$zp" trace view "$tmp/run" --out "$tmp/view.json" >/dev/null &&
  [ "$(grep -o '"what":"[^"]*"' "$tmp/view.json" | sort | uniq -c | tr -s ' \n' ' ')" = \
    ' 12 "what":"all_reduce 100 fp32" 12 "what":"all_to_all 15 fp8e4m3" 12 "what":"broadcast 7 i8 root 2" 12 "what":"recv 3 fp16" 8 "what":"reduce_scatter 9 u8" 12 "what":"send 3 fp16" ' ]
verdict $? each_is_recorded_as_what_it_is_and_without_operator "$(grep -o '"what":"[^"]*"' "$tmp/view.json" | sort | uniq -c)"
recorded a_skipped_collective skip 1 '^rank 1 enters broadcast 7 i8 root 2 at its record 0'
recorded another_op op 1 '^rank 1 enters all_gather 100 fp32'
recorded another_count count 1 '^rank 1 enters all_reduce 99 fp32'
recorded another_dtype dtype 1 '^rank 1 enters all_reduce 100 bf16'
recorded another_root root 1 '^rank 1 enters broadcast 7 i8 root 0'
recorded a_process_of_two_ranks both 0 'not judged'
grep -q 'this process is several ranks (places 1 and 2' "$tmp/run/log"
verdict $? which_is_told "$(cat "$tmp/run/log")"
exit $bad
