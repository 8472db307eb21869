#!/bin/sh
# The recorder for NCCL programs, preloaded: into one on simdev (a communicator, one split off it, a
# grouped exchange), and into one that makes the calls that simdev has not; and a rank that errs. It
# wraps all functions of nccl.h, but those that are listed with a reason.
cd "$(dirname "$0")/../.." || exit 3
. tests/cli/lib.sh
build=${ZP_BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
if [ "${SAN:-0}" = 1 ]; then
  echo "not run: the recorder for NCCL (a sanitizer must be loaded first)"
  exit 0
fi

program=nccl_program
recorded() { # recorded NAME FAULT CODE PATTERN
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  ZEROPROOF_TRACE=$tmp/run LD_PRELOAD=$build/libzptrace_nccl.so timeout 20 \
    "$build/tests/trace/$program" "$2" >"$tmp/log" 2>&1
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq "$3" ] && head -1 "$tmp/out" | grep -q "$4"
  verdict $? "$1" "$(head -n 3 "$tmp/log" "$tmp/out")"
}

recorded an_nccl_program_that_fits none 0 '^27 records of 3 ranks: they fit'
recorded a_skipped_collective skip 1 '^rank 1 ends its program after 8 records, 1 fewer'
recorded another_op op 1 '^rank 1 enters reduce sum 30 fp32 root 0 at its record 8'
recorded another_count count 1 '^rank 1 enters all_reduce sum 29 fp32'
recorded another_operator redop 1 '^rank 1 enters all_reduce min 30 fp32'

program=nccl_calls
recorded calls_that_simdev_has_not_fit none 0 'members are not known'
grep -q '^25 records of 4 ranks: they fit' "$tmp/out"
verdict $? of_all_that_is_called_only_what_grew_is_not_judged "$(cat "$tmp/out")"
drawn() { # drawn FILE WHAT...: each by three ranks
  file=$1
  shift
  for what in "$@"; do
    [ "$(grep -o "\"what\":\"$what\"" "$file" | wc -l)" = 3 ] || return 1
  done
}
"$zp" trace view "$tmp/run" --out "$tmp/view.json" >/dev/null &&
  drawn "$tmp/view.json" 'all_reduce premul_sum 4 bf16' 'all_to_all 15 fp32' 'gather 7 i8 root 2' \
    'scatter 8 fp16 root 1'
verdict $? each_is_recorded_as_what_it_is "no 3 of $what"
recorded a_built_in_operator_for_a_scaled_one premul 1 '^rank 1 enters all_reduce sum 4 bf16'
recorded another_count_of_all_to_all all_to_all 1 '^rank 1 enters all_to_all 18 fp32'
recorded another_root_of_gather gather 1 '^rank 1 enters gather 7 i8 root 0'
recorded a_skipped_scatter scatter 1 '^rank 1 enters all_reduce sum 13 fp32'
recorded a_communicator_that_shrank shrunk 1 'enters all_reduce sum 11 fp32'
recorded two_communicators_of_the_same_members again 1 'enter.* 1 operation fewer'
recorded what_is_destroyed_is_forgotten destroyed 1 '^rank 1 enters 1 operation fewer'

# A process of several places: each is a rank of its own, whatever rank the environment gives the
# process; and a library whom only its caller sees.
places() { # places ENVIRONMENT ARGS...: one process
  environment=$1
  shift
  # shellcheck disable=SC2086 # several variables
  env $environment ZEROPROOF_TRACE="$tmp/run" LD_PRELOAD="$build/libzptrace_nccl.so" timeout 20 \
    python3 tests/trace/nccl_places.py "$build/tests/trace/libnccl_places.so" "$@" >>"$tmp/log" 2>&1
}
worlds() { # worlds N...: what the traces' headers say, by rank; 0: not known
  [ "$(for file in "$tmp/run"/rank-*.zpt; do od -An -tu1 -j9 -N1 "$file"; done | xargs)" = "$*" ]
}
fits() { # fits NAME CODE PATTERN: of what was recorded
  ended=$?
  "$zp" trace check "$tmp/run" >"$tmp/out" 2>&1
  [ $? -eq "$2" ] && [ "$ended" -eq 0 ] && head -1 "$tmp/out" | grep -q "$3"
  verdict $? "$1" "exit code $ended, $(tail -n 3 "$tmp/log" "$tmp/out")"
  rm -rf "$tmp/run"
  mkdir "$tmp/run"
  : >"$tmp/log"
}
rm -rf "$tmp/run"
mkdir "$tmp/run"
: >"$tmp/log"
places '' RTLD_GLOBAL make_one_after_the_other 0 2 2
fits nccl_loaded_for_all 0 '^6 records of 2 ranks: they fit'
places '' RTLD_LOCAL make_one_after_the_other 0 2 2
fits nccl_loaded_for_its_caller_alone 0 '^6 records of 2 ranks: they fit'
places '' RTLD_LOCAL make_one_after_the_other 0 2 2 missing && grep -q 'has ncclReduceScatter' "$tmp/log"
fits a_function_that_is_nowhere_is_an_error_and_no_death 0 '^6 records of 2 ranks: they fit'
places '' RTLD_GLOBAL make_in_a_group 0 3 3
fits handles_copied_away_behind_the_group_are_known 0 '^9 records of 3 ranks: they fit'
places '' RTLD_GLOBAL make_one_after_the_other 0 2 2 split
fits handles_copied_away_when_they_are_there_are_known 0 '^6 records of 2 ranks: they fit'
places RANK=0 RTLD_GLOBAL make_one_after_the_other 0 2 2 && worlds 0 0
fits places_of_one_process_are_ranks 0 '^6 records of 2 ranks: they fit'
for make in make_one_after_the_other make_in_a_group make_pairs; do
  places 'OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2' RTLD_GLOBAL $make 0 2 4 &&
    places 'OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2' RTLD_GLOBAL $make 2 2 4 &&
    [ "$(wc -c <"$tmp/run/rank-0.zpt")" = "$(wc -c <"$tmp/run/rank-3.zpt")" ] && # each its own three
    worlds 4 4 4 4
  fits places_of_two_processes_are_ranks_$make 0 '^12 records of 4 ranks: they fit'
done
places 'RANK=0 WORLD_SIZE=2' RTLD_GLOBAL make_in_a_group 0 2 2 &&
  places 'RANK=1 WORLD_SIZE=2' RTLD_GLOBAL make_in_a_group 0 2 2 && worlds 4 4 4 4
fits communicators_inside_a_process_are_its_own 0 '^12 records of 4 ranks: they fit'
for rank in 0 1; do # a place that is not the rank: the environment is right
  places "RANK=$rank WORLD_SIZE=2" RTLD_GLOBAL make_one_after_the_other $((1 - rank)) 1 2 || break
done
fits one_place_has_the_rank_of_the_environment 0 '^6 records of 2 ranks: they fit'
places RANK=0 RTLD_GLOBAL make_one_after_the_other 0 1 3 && worlds 0
fits no_communicator_tells_the_world 1 '^rank 0 waits at its record 0 for place 1 and others .* which no rank has joined'
places 'RANK=0 WORLD_SIZE=1' RTLD_GLOBAL make_wider 0 4 4 && worlds 2 2 0 0
fits a_process_says_one_world 0 '^12 records of 4 ranks: they fit'
places 'RANK=1 WORLD_SIZE=4' RTLD_GLOBAL make_in_a_group 1 1 2 &&
  places 'RANK=0 WORLD_SIZE=2' RTLD_GLOBAL make_in_a_group 0 1 2 && worlds 2 4
fits worlds_that_differ_are_told 1 '^rank-0.zpt is of a run of 2 ranks (1 file says so), rank-1.zpt of one of 4'
places '' RTLD_GLOBAL make_one_after_the_other 0 2 2 full &&
  [ "$(grep -c 'the trace of rank 1 cannot be written: File too large' "$tmp/log")" = 1 ]
fits a_full_disk_ends_a_trace_and_nothing_else 1 '^rank 1 .* stops after 1 record, 2 fewer'

# left FUNCTIONS: those that are neither wrapped nor listed, and those listed or wrapped that are not
nm -D --defined-only "$build/libzptrace_nccl.so" | sed -n 's/.* T //p' >"$tmp/wrapped"
sed -n 's/^\(nccl[A-Za-z0-9]*\)  *[^ ].*/\1/p' conformance/recorder/nccl_left_out.txt >"$tmp/listed"
left() {
  sort "$tmp/wrapped" "$tmp/listed" | diff - "$1" >"$tmp/diff"
}
functions=$build/tests/trace/nccl_functions.txt
[ "$(wc -l <"$functions")" -gt 50 ] && left "$functions"
verdict $? all_functions_of_the_header_are_wrapped_or_listed "$(cat "$tmp/diff")"
{ cat "$functions" && echo ncclWeave; } | sort >"$tmp/newer"
! left "$tmp/newer" && grep -q '^> ncclWeave' "$tmp/diff"
verdict $? a_new_function_is_told "$(cat "$tmp/diff")"
grep -v '^ncclScatter$' "$functions" >"$tmp/older"
! left "$tmp/older" && grep -q '^< ncclScatter' "$tmp/diff"
verdict $? a_function_that_is_gone_is_told "$(cat "$tmp/diff")"
sort "$tmp/wrapped" "$tmp/listed" | uniq -d | grep -q .
[ $? -eq 1 ]
verdict $? none_is_both
exit $bad
