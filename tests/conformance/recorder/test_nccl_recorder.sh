#!/bin/sh
# The preloaded recorder for NCCL programs: on a program on simdev (a communicator, a split of it, a
# grouped exchange) and on a program with the calls that simdev lacks, each with a faulty rank as
# well. The recorder wraps all functions of nccl.h except those that are listed with a reason.
# inputs: build/zeroproof build/libzptrace_nccl.so build/libsimdev.so* build/tests/drivers/trace
# inputs: tests/fixtures/lib.sh tests/drivers/trace/nccl_multi_rank.py
# inputs: conformance/recorder/nccl_left_out.txt
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
if [ "${SAN:-0}" = 1 ]; then
  echo "not run: the recorder for NCCL (a sanitizer's runtime must be loaded before it)"
  exit 0
fi

program=nccl_program
recorded() { # recorded NAME FAULT CODE PATTERN
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  ZEROPROOF_TRACE=$tmp/run LD_PRELOAD=$build/libzptrace_nccl.so timeout 600 \
    "$build/tests/drivers/trace/$program" "$2" >"$tmp/log" 2>&1
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq "$3" ] && head -2 "$tmp/out" | grep -q "$4"
  verdict $? "$1" "$(head -n 3 "$tmp/log" "$tmp/out")"
}

recorded an_nccl_program_that_fits none 0 '^27 records of 3 ranks: consistent'
recorded a_skipped_collective_is_reported skip 1 '^rank 1 skipped all_reduce'
recorded a_different_operation_is_reported op 1 \
  'rank 1 entered reduce sum of 30 fp32 root 0 .* at its record 8'
recorded a_different_count_is_reported count 1 'rank 1 entered all_reduce sum of 29 fp32'
recorded a_different_reduction_is_reported redop 1 'rank 1 entered all_reduce min of 30 fp32'

program=nccl_calls
recorded calls_that_simdev_lacks_fit none 0 'not judged: the members of their group'
grep -q '^25 records of 4 ranks: consistent' "$tmp/out"
verdict $? only_operations_of_grown_communicators_are_not_judged "$(cat "$tmp/out")"
drawn() { # drawn FILE WHAT...: each operation is drawn for three ranks
  file=$1
  shift
  for what in "$@"; do
    [ "$(grep -o "\"what\":\"$what\"" "$file" | wc -l)" = 3 ] || return 1
  done
}
"$zp" trace view "$tmp/run" --out "$tmp/view.json" >/dev/null &&
  drawn "$tmp/view.json" 'all_reduce premul_sum of 4 bf16' 'all_to_all of 15 fp32' \
    'gather of 7 i8 root 2' \
    'scatter of 8 fp16 root 1'
verdict $? each_operation_is_recorded_with_its_fields "expected 3 of $what"
recorded a_built_in_reduction_instead_of_a_scaled_one_is_reported premul 1 \
  'rank 1 entered all_reduce sum of 4 bf16'
recorded a_different_count_of_all_to_all_is_reported all_to_all 1 \
  'rank 1 entered all_to_all of 18 fp32'
recorded a_different_root_of_gather_is_reported gather 1 'rank 1 entered gather of 7 i8 root 0'
recorded a_skipped_scatter_is_reported scatter 1 'rank 1 skipped scatter of 8 fp16 root 1'
recorded a_different_count_in_a_shrunk_communicator_is_reported shrunk 1 \
  'rank 0 entered all_reduce sum of 10 fp32 .* all_reduce sum of 11 fp32'
recorded communicators_with_the_same_members_are_distinguished again 1 \
  'rank 1 ended after 9 records; rank 0 waits for it in all_reduce sum of 9 fp32 .*#2'
recorded a_destroyed_communicator_is_forgotten destroyed 1 \
  '^either rank 1 skipped all_reduce sum of 12 fp32'

# A process with several members of a communicator: each is a rank, whichever rank the environment
# gives the process. And a library that is visible to its caller only.
library=$build/tests/drivers/trace/libnccl_multi_rank.so
multi_rank() { # multi_rank ENVIRONMENT ARGS...: runs one process
  environment=$1
  shift
  # shellcheck disable=SC2086 # several variables
  env $environment ZEROPROOF_TRACE="$tmp/run" LD_PRELOAD="$build/libzptrace_nccl.so" timeout 600 \
    python3 tests/drivers/trace/nccl_multi_rank.py "$library" "$@" >>"$tmp/log" 2>&1
}
worlds() { # worlds N...: the world sizes in the traces' headers, by rank; 0: unknown
  [ "$(for file in "$tmp/run"/rank-*.zpt; do od -An -tu1 -j9 -N1 "$file"; done | xargs)" = "$*" ]
}
fits() { # fits NAME CODE PATTERN: judges the recorded traces
  ended=$?
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq "$2" ] && [ "$ended" -eq 0 ] && head -2 "$tmp/out" | grep -q "$3"
  verdict $? "$1" "exit code $ended, $(tail -n 3 "$tmp/log" "$tmp/out")"
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  : >"$tmp/log"
}
rm -rf "$tmp/run"
mkdir "$tmp/run"
: >"$tmp/log"
multi_rank '' RTLD_GLOBAL make_one_after_the_other 0 2 2
fits nccl_in_the_global_scope_is_recorded 0 '^6 records of 2 ranks: consistent'
multi_rank '' RTLD_LOCAL make_one_after_the_other 0 2 2
fits nccl_in_its_caller_s_scope_is_recorded 0 '^6 records of 2 ranks: consistent'
multi_rank '' RTLD_LOCAL make_one_after_the_other 0 2 2 missing &&
  grep -q 'has ncclReduceScatter' "$tmp/log"
fits a_missing_function_returns_an_error 0 '^6 records of 2 ranks: consistent'
multi_rank '' RTLD_GLOBAL make_in_a_group 0 3 3
fits handles_that_move_after_the_group_are_known 0 '^9 records of 3 ranks: consistent'
multi_rank '' RTLD_GLOBAL make_one_after_the_other 0 2 2 split
fits handles_that_move_after_their_creation_are_known 0 '^6 records of 2 ranks: consistent'
multi_rank RANK=0 RTLD_GLOBAL make_one_after_the_other 0 2 2 && worlds 0 0
fits members_in_one_process_are_ranks 0 '^6 records of 2 ranks: consistent'
for make in make_one_after_the_other make_in_a_group make_pairs; do
  multi_rank 'OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2' RTLD_GLOBAL $make 0 2 4 &&
    multi_rank 'OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2' RTLD_GLOBAL $make 2 2 4 &&
    # each file has three records
    [ "$(wc -c <"$tmp/run/rank-0.zpt")" = "$(wc -c <"$tmp/run/rank-3.zpt")" ] && worlds 4 4 4 4
  fits members_in_two_processes_are_ranks_$make 0 '^12 records of 4 ranks: consistent'
done
multi_rank 'RANK=0 WORLD_SIZE=2' RTLD_GLOBAL make_in_a_group 0 2 2 &&
  multi_rank 'RANK=1 WORLD_SIZE=2' RTLD_GLOBAL make_in_a_group 0 2 2 && worlds 4 4 4 4
fits communicators_within_a_process_do_not_cross_processes 0 '^12 records of 4 ranks: consistent'
for rank in 0 1; do # the index in the communicator is not the rank: the environment decides
  multi_rank "RANK=$rank WORLD_SIZE=2" RTLD_GLOBAL make_one_after_the_other $((1 - rank)) 1 2 ||
    break
done
fits a_single_member_has_the_rank_of_the_environment 0 '^6 records of 2 ranks: consistent'
multi_rank RANK=0 RTLD_GLOBAL make_one_after_the_other 0 1 3 && worlds 0
fits a_communicator_does_not_define_the_world_size 1 \
  '^rank 0 waits at its record 0 for group rank 1 and others .* which no rank has joined'
multi_rank 'RANK=0 WORLD_SIZE=1' RTLD_GLOBAL make_wider 0 4 4 && worlds 2 2 0 0
fits all_ranks_of_a_process_record_one_world_size 0 '^12 records of 4 ranks: consistent'
multi_rank 'RANK=1 WORLD_SIZE=4' RTLD_GLOBAL make_in_a_group 1 1 2 &&
  multi_rank 'RANK=0 WORLD_SIZE=2' RTLD_GLOBAL make_in_a_group 0 1 2 && worlds 2 4
fits different_world_sizes_are_reported 1 \
  '^rank-0.zpt belongs to a run of 2 ranks (1 file), but rank-1.zpt belongs to a run of 4'
multi_rank '' RTLD_GLOBAL make_one_after_the_other 0 2 2 full &&
  [ "$(grep -c 'cannot write the trace of rank 1: File too large' "$tmp/log")" = 1 ]
fits a_full_disk_ends_only_the_trace 1 '^rank 1 .* stops after 1 record; rank 0 waits'

# Attempts: nothing is overwritten.
rm -rf "$tmp/run" && mkdir "$tmp/run"
attempt() { # attempt VARIABLE... FAULT: one more run into the same folder
  env ZEROPROOF_TRACE="$tmp/run" LD_PRELOAD="$build/libzptrace_nccl.so" "$@" >>"$tmp/log" 2>&1
}
calls=$build/tests/drivers/trace/nccl_program
attempt timeout 600 "$calls" none
cp "$tmp/run/rank-1.zpt" "$tmp/first"
attempt timeout 600 "$calls" skip
attempt TORCHELASTIC_RESTART_COUNT=5 timeout 600 "$calls" none
attempt ZEROPROOF_TRACE_ATTEMPT=3 timeout 600 "$calls" skip
[ "$(cd "$tmp/run" && echo attempt-*)" = 'attempt-1 attempt-3 attempt-5' ] &&
  cmp "$tmp/run/rank-1.zpt" "$tmp/first"
verdict $? later_runs_write_attempts_and_overwrite_nothing "$(find "$tmp/run"; cat "$tmp/log")"
expect 0 'consistent.*; attempt 5, the last one ' the_last_attempt_is_judged trace check "$tmp/run"
expect 1 '^rank 1 skipped all_reduce' another_one_can_be_judged trace check --attempt 1 "$tmp/run"
attempt ZEROPROOF_TRACE_ATTEMPT=3 timeout 600 "$calls" none
grep -q 'attempt-3/rank-0.zpt: File exists. Rank 0 is not recorded' "$tmp/log"
verdict $? an_attempt_that_exists_is_refused "$(cat "$tmp/log")"
rm -rf "$tmp/run" && mkdir "$tmp/run"
: >"$tmp/log"

# The environment: what is not a rank is reported once and ignored, and no program ends by it.
ignored() { # ignored VARIABLE VALUE MAX SHOWN: one message, and all ranks are recorded
  env ZEROPROOF_TRACE="$tmp/run" "$1=$2" LD_PRELOAD="$build/libzptrace_nccl.so" timeout 600 \
    python3 tests/drivers/trace/nccl_multi_rank.py "$library" RTLD_GLOBAL \
    make_one_after_the_other 0 2 2 >>"$tmp/log" 2>&1 &&
    [ "$(grep -cF "$1='$4' is not a whole number from 0 to $3. The" "$tmp/log")" = 1 ] && worlds 0 0
  fits "ignores_$1_$4" 0 '^6 records of 2 ranks: consistent'
}
for value in abc '' -1 +1 1x 1.5 131072 4294967296 99999999999999999999; do
  ignored RANK "$value" 131071 "$value"
done
ignored ZEROPROOF_TRACE_RANK "$(printf '1\033[2J')" 131071 '1?[2J'
for value in abc -2 131073 4294967298; do ignored WORLD_SIZE "$value" 131072 "$value"; done
multi_rank 'RANK=x PMI_RANK=0 PMI_SIZE=2' RTLD_GLOBAL make_in_a_group 0 2 4 &&
  multi_rank 'RANK=x PMI_RANK=1 PMI_SIZE=2' RTLD_GLOBAL make_in_a_group 2 2 4
fits the_next_variable_holds_after_an_invalid_one 0 '^12 records of 4 ranks: consistent'
multi_rank 'RANK=131071 WORLD_SIZE=131072' RTLD_GLOBAL make_in_a_group 0 2 2 &&
  [ "$(grep -c 'rank 26214[23] is not recorded' "$tmp/log")" = 1 ] &&
  [ -z "$(ls "$tmp/run")" ]
verdict $? a_rank_beyond_the_limit_is_reported_and_not_recorded "$(cat "$tmp/log"; ls "$tmp/run")"

# Files: what cannot be written ends the trace, not the program.
multi_rank '' RTLD_GLOBAL make_one_after_the_other 0 2 2 fork
fits a_forked_process_writes_nothing 0 '^6 records of 2 ranks: consistent'
mkfifo "$tmp/run/rank-0.zpt"
multi_rank '' RTLD_GLOBAL make_one_after_the_other 0 2 2 &&
  [ "$(grep -c 'rank-0.zpt: .*Rank 0 is not recorded' "$tmp/log")" = 1 ]
verdict $? a_pipe_in_the_place_of_a_trace_is_refused "$(cat "$tmp/log")"
rm "$tmp/run/rank-0.zpt"
: >"$tmp/log"
unrecorded() { # unrecorded NAME FOLDER PATTERN: one message per rank, and the program ends well
  env ZEROPROOF_TRACE="$2" LD_PRELOAD="$build/libzptrace_nccl.so" timeout 600 \
    python3 tests/drivers/trace/nccl_multi_rank.py "$library" RTLD_GLOBAL make_pairs 0 2 2 \
    >"$tmp/log" 2>&1 && [ "$(grep -c "$3.*Rank [01] is not recorded" "$tmp/log")" = 2 ]
  verdict $? "$1" "$(cat "$tmp/log")"
}
unrecorded a_folder_that_is_missing_is_reported_once_per_rank "$tmp/none" 'No such file'
unrecorded an_empty_name_is_no_folder '' 'ZEROPROOF_TRACE does not name a folder'
unrecorded a_name_that_is_too_long_is_not_cut "$tmp/$(printf '%05000d' 0)" 'File name too long'
rm -rf "$tmp/run" && mkdir "$tmp/run"
: >"$tmp/log"
{ (ulimit -f 0 # SIGXFSZ ends a program in C; its messages go through a pipe, which has no limit
  ZEROPROOF_TRACE=$tmp/run LD_PRELOAD=$build/libzptrace_nccl.so timeout 600 \
    "$build/tests/drivers/trace/nccl_calls" none 2>&1; echo "exit code $?") | cat; } >"$tmp/log"
grep -q '^exit code 0$' "$tmp/log" &&
  [ "$(grep -c 'cannot write the trace of rank [0-3]: File too large' "$tmp/log")" = 4 ]
fits a_limit_of_the_file_size_ends_every_trace 1 '^all traces are empty'

# left FUNCTIONS: compares FUNCTIONS with the functions that are wrapped or listed
nm -D --defined-only "$build/libzptrace_nccl.so" | sed -n 's/.* T //p' >"$tmp/wrapped"
sed -n 's/^\(nccl[A-Za-z0-9]*\)  *[^ ].*/\1/p' conformance/recorder/nccl_left_out.txt >"$tmp/listed"
left() {
  sort "$tmp/wrapped" "$tmp/listed" | diff - "$1" >"$tmp/diff"
}
functions=$build/tests/drivers/trace/nccl_functions.txt
[ "$(wc -l <"$functions")" -gt 50 ] && left "$functions"
verdict $? all_functions_of_the_header_are_wrapped_or_listed "$(cat "$tmp/diff")"
{ cat "$functions" && echo ncclWeave; } | sort >"$tmp/newer"
! left "$tmp/newer" && grep -q '^> ncclWeave' "$tmp/diff"
verdict $? a_new_function_is_reported "$(cat "$tmp/diff")"
grep -v '^ncclScatter$' "$functions" >"$tmp/older"
! left "$tmp/older" && grep -q '^< ncclScatter' "$tmp/diff"
verdict $? a_removed_function_is_reported "$(cat "$tmp/diff")"
sort "$tmp/wrapped" "$tmp/listed" | uniq -d | grep -q .
[ $? -eq 1 ]
verdict $? no_function_is_both_wrapped_and_listed
exit $bad
