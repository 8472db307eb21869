# Two ranks of one MPI job with different settings: each setting is named, with both values, before
# anything is trained. Every option of train must be in one of the two lists. Where one name means
# two folders, another checkpoint is not loaded, and parts of two saves are not published.
# spec: STEP-10, CKPT-8, CKPT-9
# inputs: build/zeroproof build/tests/drivers/mpi/engine_driver tests/fixtures/lib.sh
# inputs: tests/fixtures/job.sh LICENSE
# shellcheck disable=SC2086 # options are split at spaces
. tests/fixtures/lib.sh
. tests/fixtures/job.sh
head -c 3000 LICENSE >"$tmp/text"
head -c 2999 LICENSE >"$tmp/other"
text=$tmp/text
cp "$text" "$tmp/copy"
cp "$zp" "$tmp/another"
printf 'x' >>"$tmp/another"
echo '{"clip_eps": 0.5}' >"$tmp/clip.json"
echo '{"extra": 1}' >"$tmp/field.json"
shape="--layers 4 --d-model 32 --heads 2 --context 16 --batch 1 --steps 2 --pp 1 --dp 2 --sample 0"

# two FIRST -- OTHER: the job of two ranks, in this shell's $tmp; its exit code in $code
two() {
  first=
  while [ "$1" != -- ]; do
    first="$first $1"
    shift
  done
  shift
  TMPDIR=$tmp timeout 900 mpirun --quiet --oversubscribe --bind-to none --output-filename \
    "$tmp/job:nocopy" -n 1 $first : -n 1 "$@" >"$tmp/mpirun" 2>&1 </dev/null
  code=$?
  [ $code -ne 124 ] || complain "it had to be stopped after 900 s"
}
base="train --data $tmp/text $shape"

differs() { # differs OPTION SETTING HERE THERE [PROGRAM]
  two $zp $base -- "${5:-$zp}" $base $1
  [ $code -eq 1 ] || complain "exit code $code, expected 1 from every rank"
  grep -q 'deadline' "$tmp"/job/1/rank.*/stderr && complain "a rank waited for the deadline"
  says 1 'rank 1 has other settings than rank 0 \(STEP-10\)'
  says 1 "^  $2: $3 here, $4 on rank 0"
  grep -q '^ *0 ' "$tmp/job/1/rank.0/stdout" && complain "rank 0 trained"
  law "another_$(echo "${1:-program}" | sed 's/^--//; s/[^a-z].*//')_is_named"
}
equal() { # equal OPTIONS [DATA]: that no rank but the first one reads, or that change nothing
  two $zp $base -- $zp train --data "${2:-$text}" $shape ${1#--data}
  [ $code -eq 0 ] || complain "exit code $code: $(head -c 300 "$tmp/job/1/rank.1/stderr")"
  law "$(echo "$1" | sed 's/^--//; s/[^a-z].*//')_may_differ"
}

hash='[0-9a-f]{16}'
beside differs "--lr 0.002" "lr of optimizer 1" 0.002 0.006
beside differs "--seed 3" seed 3 1
beside differs "--clip 2" clip 2 1
beside differs "--schedule linear:1,9" schedule linear:1,9 constant
beside differs "--loss-scale 4" "loss scale" "2\\^2, static" "2\\^16, dynamic"
beside differs "--stage 1" stage 1 2
beside differs "--steps 3" steps 3 2
beside differs "--save $tmp/saved" save "$tmp/saved" nothing
beside differs "--load $tmp/saved" load "$tmp/saved" nothing
beside differs "--save-every 1 --save $tmp/saved" save-every 1 0
beside differs "--layers 3" layers 3 4
beside differs "--d-model 16" d-model 16 32
beside differs "--heads 4" heads 4 2
beside differs "--context 8" context 8 16
beside differs "--batch 2" batch 2 1
beside differs "--vary-shapes" vary-shapes 1 0
beside differs "--tuple" tuple 1 0
beside differs "--fp32-norms" fp32-norms 1 0
beside differs "--pp 2" pp 2 1
beside differs "--dp 1" dp 1 2
beside differs "--replicas 2" replicas 2 1
beside differs "--micro-batches 3" micro_batches 3 6
beside differs "--bucket 500" bucket 500 4096
beside differs "--align 4" align 4 1
beside differs "--entry-align 4" entry_align 4 64
beside differs "--slots 3" slots 3 0
beside differs "--precision fp16" precision fp16 bf16
beside differs "--reduce ordered" reduce ordered exact
beside differs "--dynamic-shapes" dynamic_shapes 1 0
beside differs "--config $tmp/clip.json" clip_eps 0.5 1e-06
beside differs "--data $tmp/other" "hash of the data" "$hash" "$hash"
beside differs "" "hash of the program's file" "$hash" "$hash" "$tmp/another"
beside equal "--data" "$tmp/copy"
beside equal --json
beside equal --verify
beside equal "--sample 10"
beside equal "--plot $tmp/loss.svg"

# Relative names with two working folders: rank 0 runs in A, rank 1 in B.
case $zp in
/*) abs=$zp ;;
*) abs=$PWD/$zp ;;
esac
apart() { # apart OPTIONS...: both ranks with the same options
  two -wdir "$tmp/A" "$abs" $base "$@" -- -wdir "$tmp/B" "$abs" $base "$@"
}
alone() { # alone OPTIONS...: all ranks in one process
  "$zp" $base "$@" >"$tmp/alone" 2>&1 || complain "alone: $(tail -c 300 "$tmp/alone")"
}
# The same step, so that only the checksums differ, or another one.
another_checkpoint() { # another_checkpoint NAME STEPS SEED: of rank 1
  mkdir "$tmp/A" "$tmp/B"
  alone --save "$tmp/A/ck"
  alone --steps "$2" --seed "$3" --save "$tmp/B/ck"
  apart --load ck
  [ $code -eq 1 ] || complain "exit code $code, expected 1 from every rank"
  for folder in A B; do
    sum=$(sed -n 's/^current step-. //p' "$tmp/$folder/ck/LATEST")
    [ -n "$sum" ] || complain "no checksum in $folder/ck/LATEST"
    says "0 1" "step . \(checksum $sum\)"
  done
  says "0 1" "rank 1 finds another checkpoint than rank 0: step $2 .* here, step 2 .* on rank 0"
  grep -q 'hash of the run' "$tmp/job/1/rank.0/stdout" && complain "rank 0 trained"
  law "another_checkpoint_is_named_by_all_ranks_$1"
}
# What another job publishes between the moments at which two ranks look: rank 0's is loaded by all.
newer_checkpoint() {
  mkdir "$tmp/A"
  alone --save "$tmp/A/ck"
  cp -r "$tmp/A" "$tmp/B"
  alone --save "$tmp/B/ck" --load "$tmp/B/ck"
  alone --load "$tmp/A/ck"
  apart --load ck
  [ $code -eq 0 ] || complain "exit code $code: $(head -c 500 "$tmp/job/1/rank.1/stderr")"
  hash=$(grep 'hash of the final state' "$tmp/alone")
  grep -qF "${hash:-none}" "$tmp/job/1/rank.0/stdout" || complain "another state than alone"
  law all_ranks_load_the_checkpoint_that_rank_0_finds
}
no_checkpoint() {
  mkdir "$tmp/A" "$tmp/B"
  alone --save "$tmp/A/ck"
  apart --load ck
  [ $code -eq 2 ] || complain "exit code $code, expected 2 from every rank"
  says "0 1" 'ck holds no checkpoint: .*; rank 0 loads step 2 \(checksum [0-9a-f]{32}\)'
  law a_rank_without_the_checkpoint_is_named
}
# Each stage has a file. Those of an interrupted save of another run are in A: rank 1's is not used.
two_folders() {
  mkdir "$tmp/A" "$tmp/B"
  apart --pp 2 --dp 1 --save ck
  [ $code -eq 3 ] || complain "exit code $code, expected 3 from every rank"
  says 0 "rank-1.json.*rank 1's part of the checkpoint is not there: .* one file system at ck"
  law a_save_to_two_folders_is_refused
  mkdir -p "$tmp/A/ck/step-2.tmp/manifest.json"
  "$zp" $base --pp 2 --dp 1 --seed 5 --save "$tmp/A/ck" >"$tmp/alone" 2>&1 &&
    complain "nothing interrupted it"
  rmdir "$tmp/A/ck/step-2.tmp/manifest.json"
  [ -s "$tmp/A/ck/step-2.tmp/rank-1.bin" ] || complain "rank 1 left nothing: $(cat "$tmp/alone")"
  apart --pp 2 --dp 1 --save ck
  [ $code -eq 3 ] || complain "exit code $code, expected 3 from every rank"
  says 0 'rank-1.json was left by another save.*rank 1 of this job saves to another folder.*CKPT-9'
  [ ! -e "$tmp/A/ck/LATEST" ] || complain "a mixture was published"
  law what_an_interrupted_save_left_is_not_published
}
beside another_checkpoint other_step 4 1
beside another_checkpoint same_step 2 3
beside newer_checkpoint
beside no_checkpoint
beside two_folders
# A setting that is refused before MPI starts. On rank 1 alone: rank 1 reports it, by name. On both
# ranks: rank 0 reports it, and mpirun ends rank 1; should mpirun take longer than rank 1 waits for
# that, rank 1 reports it by name as well.
refused() { # refused NAME PATTERN OPTIONS...: as the last of the command line
  name=$1 pattern=$2
  shift 2
  two $zp $base -- $zp $base "$@"
  [ $code -eq 2 ] || complain "exit code $code, expected 2"
  says 1 "^zeroproof train: rank 1: $pattern"
  silent 0 "$pattern"
  law "${name}_refused_on_one_rank_is_named"
  TMPDIR=$tmp timeout 900 mpirun --quiet --oversubscribe --bind-to none --output-filename \
    "$tmp/job:nocopy" -n 2 $zp $base "$@" >"$tmp/mpirun" 2>&1 </dev/null
  code=$?
  [ $code -eq 2 ] || complain "exit code $code, expected 2, from both"
  says 0 "^zeroproof train: $pattern"
  [ "$(cat "$tmp"/job/1/rank.*/stderr | grep -cE "^zeroproof train: $pattern")" -eq 1 ] ||
    complain "the same refusal more than once"
  silent 1 '^zeroproof train: [^r]'
  law "${name}_refused_on_both_ranks_is_reported_once"
}
beside refused heads 'gpt: d_model is 32; it must be a multiple of heads, 5' --heads 5
beside refused data '--data /nonexistent: No such file' --data /nonexistent
beside refused lr "--lr: 'nan' is not a number" --lr nan
beside refused steps '--steps: 0 is out of range' --steps 0
beside refused bogus "unrecognized option '--bogus'" --bogus
beside refused config '/none: No such file or directory' --config /none
beside refused field "$tmp/field.json: extra: no such field" --config "$tmp/field.json"
beside refused engine '--svg is for --engine cuda' --svg "$tmp/x.svg"
# of three ranks with the same setting, the first one reports it
two_of_three() {
  TMPDIR=$tmp timeout 900 mpirun --quiet --oversubscribe --bind-to none --output-filename \
    "$tmp/job:nocopy" -n 1 $zp $base : -n 2 $zp $base --heads 5 >"$tmp/mpirun" 2>&1 </dev/null
  code=$?
  [ $code -eq 2 ] || complain "exit code $code, expected 2"
  says 1 '^zeroproof train: rank 1: gpt: d_model'
  silent 0 'd_model'
  law the_first_of_two_ranks_with_a_refused_setting_reports_it
}
beside two_of_three

# Another program, which uses the engine as a library.
other_program() {
  two $zp $base -- build/tests/drivers/mpi/engine_driver dp=2
  case $code in
  0 | 124) complain "exit code $code" ;;
  esac
  says 1 '^  program: a program with zp_engine_create here, zeroproof train on rank 0'
  law another_program_is_named
}
# A program without MPI: it is named while the others still wait for it.
no_mpi() { # no_mpi PATTERN PROGRAM...
  pattern=$1
  shift
  TMPDIR=$tmp timeout -k 5 900 mpirun --quiet --oversubscribe --bind-to none --output-filename \
    "$tmp/job:nocopy" -n 1 $zp $base : -n 1 "$@" >"$tmp/mpirun" 2>&1 </dev/null &
  mpirun=$!
  while ! grep -qs . "$tmp/job/1/rank.0/stderr" && kill -0 $mpirun 2>/dev/null; do sleep 0.1; done
  grep -qsE "$pattern" "$tmp/job/1/rank.0/stderr" ||
    complain "rank 0 says first: $(head -c 300 "$tmp/job/1/rank.0/stderr")"
  kill $mpirun 2>/dev/null
  wait $mpirun
  law "a_program_without_mpi_is_named_$(basename "$1")"
}
beside other_program
beside no_mpi "still waiting: rank 1 runs .*/sleep; all ranks must run the same program" sleep 600
beside no_mpi "still waiting: rank 1 is not running; all ranks must run the same program" true
ended

# Options of an engine that has no MPI, and those that one process alone may have: refused with MPI.
refused="tp ep groups fp32-gradients engine device offload products schedules svg trace tsan help"
refused="$refused usage"
for option in $("$zp" train --help | grep -oE '^ +(-., )?--[a-z0-9-]+' | sed 's/.*--//'); do
  case " $refused " in
  *" $option "*) continue ;;
  esac
  grep -qE "^beside (differs|equal) (\")?--(save-every 1 --)?$option\\b" "$0"
  verdict $? "option_${option}_is_compared_or_free_to_differ" \
    "add a line for it in $0, and to zp_train_agree if it can change the run"
done
finish
