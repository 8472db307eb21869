#!/bin/sh
# The recorder for NCCL programs, preloaded into one on simdev: a communicator, one split off it, a
# grouped exchange; and a rank that errs.
cd "$(dirname "$0")/../.." || exit 3
. tests/cli/lib.sh
build=${ZP_BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
if [ "${SAN:-0}" = 1 ]; then
  echo "not run: the recorder for NCCL (a sanitizer must be loaded first)"
  exit 0
fi

recorded() { # recorded NAME FAULT CODE PATTERN
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  ZEROPROOF_TRACE=$tmp/run LD_PRELOAD=$build/libzptrace_nccl.so timeout 20 \
    "$build/tests/trace/nccl_program" "$2" >"$tmp/log" 2>&1
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq "$3" ] && head -1 "$tmp/out" | grep -q "$4"
  verdict $? "$1" "$(head -n 3 "$tmp/log" "$tmp/out")"
}

recorded an_nccl_program_that_fits none 0 '^27 records of 3 ranks: they fit'
recorded a_skipped_collective skip 1 '^rank 1 ends its program after 8 records, 1 fewer'
recorded another_op op 1 '^rank 1 enters reduce sum 30 fp32 root 0 at its record 8'
recorded another_count count 1 '^rank 1 enters all_reduce sum 29 fp32'
recorded another_operator redop 1 '^rank 1 enters all_reduce min 30 fp32'
exit $bad
