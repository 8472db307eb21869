#!/bin/sh
# The profiler plugin that records NCCL operations, called as NCCL calls it. The fields that NCCL
# reports are judged, all others are not.
# inputs: build/zeroproof build/libnccl-profiler-zeroproof.so
# inputs: build/tests/drivers/trace/nccl_profiler_driver tests/fixtures/lib.sh
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}
plugin=$build/libnccl-profiler-zeroproof.so

run() { # run VERSION FAULT: three processes, one after the other
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  for rank in 0 1 2; do
    ZEROPROOF_TRACE=$tmp/run RANK=$rank WORLD_SIZE=3 timeout 600 \
      "$build/tests/drivers/trace/nccl_profiler_driver" "$plugin" "$1" $rank "$2" \
      >>"$tmp/run/log" 2>&1 || return 1
  done
}

recorded() { # recorded NAME FAULT CODE PATTERN
  run 6 "$2" && "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq "$3" ] && head -2 "$tmp/out" | grep -q "$4"
  verdict $? "$1" "$(head -n 4 "$tmp/run/log" "$tmp/out")"
}

for version in 5 6; do
  run $version none && "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1 &&
    grep -q '^warning: 24 records .* not judged' "$tmp/out" &&
    grep -q '^68 records of 3 ranks: consistent' "$tmp/out"
  verdict $? "version_${version}_of_a_correct_program_fits_and_sends_are_not_judged" \
    "$(cat "$tmp/run/log" "$tmp/out")"
done
cat >"$tmp/expected" <<'X'
12 "what":"all_reduce of 100 fp32"
12 "what":"all_to_all of 15 fp8e4m3"
12 "what":"broadcast of 7 i8 root 2"
12 "what":"recv of 3 fp16"
8 "what":"reduce_scatter of 9 u8"
12 "what":"send of 3 fp16"
X
"$zp" trace view "$tmp/run" --out "$tmp/view.json" >/dev/null &&
  grep -o '"what":"[^"]*"' "$tmp/view.json" | sort | uniq -c | sed 's/^ *//' >"$tmp/drawn" &&
  cmp "$tmp/expected" "$tmp/drawn" >"$tmp/out" 2>&1
verdict $? each_operation_is_recorded_with_its_fields_except_the_reduction "$(cat "$tmp/drawn")"
recorded a_skipped_collective_is_reported skip 1 \
  '^rank 1 skipped all_reduce of 100 fp32 .* and entered broadcast of 7 i8 root 2'
recorded a_different_operation_is_reported op 1 'rank 1 entered all_gather of 100 fp32'
recorded a_different_count_is_reported count 1 'rank 1 entered all_reduce of 99 fp32'
recorded a_different_dtype_is_reported dtype 1 'rank 1 entered all_reduce of 100 bf16'
recorded a_different_root_is_reported root 1 'rank 1 entered broadcast of 7 i8 root 0'
recorded a_process_of_two_ranks_records_one both 0 'not judged'
grep -q 'this process is several ranks (1 and 2 of one communicator)' "$tmp/run/log"
verdict $? a_process_of_two_ranks_is_reported "$(cat "$tmp/run/log")"
exit $bad
