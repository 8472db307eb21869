# Saves in the background of `train --save-every`: the bits of a run without them; at each call that
# changes the disk, ENOSPC, EIO and SIGKILL leave a whole checkpoint that loads, or none; an error
# names the file, the reason and what to do, and the plan counts the copy's memory.
# spec: CKPT-2, CKPT-6, CKPT-11
# inputs: build/zeroproof tests/fixtures/lib.sh tests/drivers/cli/failing_disk.c LICENSE
. tests/fixtures/lib.sh
export TMPDIR="$tmp" # session folders of mpirun: see tests/fixtures/job.sh
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" # Open MPI's own, at exit
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
head -c 3000 LICENSE >"$tmp/text"
small="--layers 1 --d-model 8 --heads 1 --context 8 --batch 1 --sample 0 --data $tmp/text"
hash='s/^hash of the final state.*: //p'

# ---- The same bits -------------------------------------------------------------------------------
a=$("$zp" train $small --steps 6 | sed -n "$hash")
for every in 1 2 4; do
  b=$("$zp" train $small --steps 6 --save "$tmp/bits" --save-every $every | sed -n "$hash")
  [ -n "$a" ] && [ "$a" = "$b" ]
  verdict $? "a_save_every_${every}_steps_changes_no_bit" "$a $b"
  b=$("$zp" launch -n 4 train $small --steps 6 --save "$tmp/bits" --save-every $every |
    tee "$tmp/out" | sed -n "$hash")
  [ -n "$a" ] && [ "$a" = "$b" ]
  verdict $? "nor_over_mpi_$every" "$a $b"
  n=$(grep -c 'saved in .*, continues at step' "$tmp/out")
  [ "$n" -eq $(((6 + every - 1) / every)) ]
  verdict $? "each_save_is_published_$every" "$n saves"
done

# ---- A disk that fails ---------------------------------------------------------------------------
if [ "${SAN:-0}" = 1 ]; then
  echo "not run: a disk that fails (a preloaded library comes before the sanitizer's)"
  finish
fi
"${CC:-gcc}" -shared -fPIC -o "$tmp/failing.so" tests/drivers/cli/failing_disk.c -ldl ||
  verdict 1 failing_disk_is_built
run="train $small --pp 1 --dp 2 --steps 4 --save $tmp/ck --save-every 1"
final=$("$zp" train $small --pp 1 --dp 2 --steps 5 | sed -n "$hash")
try() { # try CALL ERRNO: the run with that call failing; its exit code in $got
  rm -rf "$tmp/ck"
  env LD_PRELOAD="$tmp/failing.so" FAIL_AT="$1" FAIL_ERRNO="$2" FAIL_COUNT="$tmp/count" \
    "$zp" $run >"$tmp/out" 2>&1
  got=$?
}
whole() { # whole: nothing was published, or what was continues to the bits of the run
  [ -e "$tmp/ck/LATEST" ] || {
    ! grep -q 'continues at step' "$tmp/out"
    return
  }
  step=$(sed -n 's/^current step-\([0-9]*\) .*/\1/p' "$tmp/ck/LATEST")
  "$zp" train $small --pp 2 --dp 1 --steps $((5 - step)) --load "$tmp/ck" >"$tmp/again" 2>&1 &&
    [ "$(sed -n "$hash" "$tmp/again")" = "$final" ]
}
try 1000000 28
calls=$(cat "$tmp/count")
[ $got -eq 0 ] && [ "$calls" -gt 60 ]
verdict $? the_calls_are_counted "exit code $got, $calls calls"
published=0
for fault in 28 5 0; do
  case $fault in
  28) name=ENOSPC expected=3 k=1 by=2 word='No space left on device' ;;
  5) name=EIO expected=3 k=2 by=2 word='Input/output error' ;;
  0) name=SIGKILL expected=137 k=1 by=1 word= ;;
  esac
  why=
  while [ $k -le "$calls" ] && [ -z "$why" ]; do
    try $k $fault
    # the last save is published, and what remains is removed: that may fail
    [ $got -eq $expected ] || [ $k -gt $((calls - 4)) ] || why="call $k: exit code $got"
    [ $got -eq 0 ] || grep -qF "$word" "$tmp/out" || why="call $k: $(tail -n 1 "$tmp/out")"
    whole || why="call $k: $(ls "$tmp/ck") $(tail -n 1 "$tmp/again")"
    [ ! -e "$tmp/ck/LATEST" ] || published=$((published + 1))
    k=$((k + by))
  done
  [ -z "$why" ]
  verdict $? "${name}_at_a_call_leaves_a_whole_checkpoint_or_none" "$why"
done
[ $published -gt 40 ]
verdict $? some_had_published_a_checkpoint_before "$published"
try 40 28
said() { # said PATTERN: in the output as one line
  tr '\n' ' ' <"$tmp/out" | grep -qE -e "$1"
}
said "cannot write $tmp/ck/step-2.tmp/rank-1.json: No space left on device .*rank 1 could not \
write its part of the save at step 2, so it was not published, and the checkpoint before it is \
unchanged: remove the cause, then continue with --load $tmp/ck"
verdict $? an_error_says_what_to_do "$(tail -n 3 "$tmp/out")"

# Over MPI, where only one rank's disk fails: all ranks end, and rank 1 is named.
cat >"$tmp/one" <<END
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" != 1 ] || export LD_PRELOAD=$tmp/failing.so
exec "\$@"
END
chmod +x "$tmp/one"
rm -rf "$tmp/ck"
FAIL_AT=6 FAIL_ERRNO=28 mpirun --quiet --oversubscribe --bind-to none -n 2 "$tmp/one" "$zp" $run \
  >"$tmp/out" 2>&1
got=$?
[ $got -eq 3 ] && said 'No space left on device; rank 1 could not write its part of the save' &&
  grep -q 'rank 0: the checkpoint failed on 1 other rank' "$tmp/out" && whole
verdict $? a_full_disk_of_one_rank_ends_all "exit code $got: $(head -c 600 "$tmp/out")"

# ---- Memory --------------------------------------------------------------------------------------
json plan_counts_the_copy \
  '[.first_rank_of_each_stage[].memory] | all(.background_save > 0 and .total > .background_save)' \
  plan --json --pp 2 --background-save
json only_where_it_is_asked_for \
  '.first_rank_of_each_stage[0].memory | has("background_save") | not' \
  plan --json --pp 2
expect 0 'copy of a background save' plan_prints_the_copy plan --rank 0 --background-save
finish
