# Jobs that save to one folder: a job that ends with 0 has saved what loads; a job that finds the
# lock of another job does not train, and one that finds the lock of any of its ranks does not save.
# The error names the holder's host and process. What a save removes, and what it never writes to.
# spec: CKPT-4, CKPT-6, CKPT-7
# inputs: build/zeroproof build/zeroproof-simdev tests/fixtures/lib.sh LICENSE
. tests/fixtures/lib.sh
export TMPDIR="$tmp" # session folders of mpirun: see tests/fixtures/job.sh
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" # Open MPI's own, at exit

small="--layers 1 --d-model 8 --heads 1 --context 8 --batch 1 --sample 0 --pp 1 --data $tmp/text"
head -c 3000 LICENSE >"$tmp/text"
cat >"$tmp/hold.py" <<'END' # holds the lock of a rank, or of a job, while a command runs
import fcntl, os, subprocess, sys

folder, holder = sys.argv[1:3]
name, at = ("LOCK.job", 0) if holder == "job" else ("LOCK", int(holder.split()[1]) * 128)
os.makedirs(folder, exist_ok=True)
with os.fdopen(os.open(f"{folder}/{name}", os.O_RDWR | os.O_CREAT), "r+") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX, 128, at)
    lock.seek(at)
    lock.write(f"{holder}, host \x1b[2Jelsewhere, pid 4711\n")
    lock.flush()
    sys.exit(subprocess.run(sys.argv[3:]).returncode)
END
trained='^ *[0-9][0-9]*  .*e[+-][0-9]' # a line of a step
held() { # held NAME HOLDER ARGS...: fails, names the holder, and leaves the current checkpoint
  name=$1 holder=$2
  shift 2
  timeout 600 python3 "$tmp/hold.py" "$tmp/ck" "$holder" "$zp" "$@" --save "$tmp/ck" \
    >"$tmp/out" 2>&1
  got=$?
  [ $got -eq 3 ] && grep -qF "($holder, host ?[2Jelsewhere, pid 4711)" "$tmp/out" &&
    if [ "$holder" = job ]; then ! grep -q "$trained" "$tmp/out"
    else grep -q "$trained" "$tmp/out"; fi
  verdict $? "$name" "exit code $got: $(tail -c 400 "$tmp/out" | tr '\n' ' ')"
  if [ -e "$tmp/ck/LATEST" ]; then
    expect 0 'hash of the run' "${name}_and_leaves_the_current_one" \
      train $small --dp 1 --steps 1 --load "$tmp/ck"
  fi
}
held first_job_is_refused job train $small --dp 1 --steps 1
held first_save_is_refused 'rank 0' train $small --dp 1 --steps 1
expect 0 'continues at step 1' save_after_the_holder train $small --dp 1 --steps 1 --save "$tmp/ck"
for rank in 0 1 2; do
  held "rank_${rank}_of_a_simulation" "rank $rank" train $small --dp 3 --steps 2
done
for rank in 0 1; do
  held "rank_${rank}_of_an_mpi_job" "rank $rank" launch -n 2 train $small --dp 2 --steps 2
done
held job_of_a_simulation job train $small --dp 3 --steps 2
held job_that_continues_its_own_folder job train $small --dp 1 --steps 1 --load "$tmp/ck"
held job_of_mpi job launch -n 2 train $small --dp 2 --steps 2
expect 0 'continues at step 2' mpi_saves_after_all_of_them \
  launch -n 2 train $small --dp 2 --steps 2 --save "$tmp/ck"
expect 0 'continues at step 3' loads_and_saves_one_folder \
  train $small --dp 1 --steps 1 --load "$tmp/ck" --save "$tmp/ck"
if [ "${SAN:-0}" = 1 ]; then
  echo "not run: --engine cuda (the sanitized build has no zeroproof-simdev)"
else
  held job_of_the_cuda_engine job train --engine cuda $small --dp 1 --steps 1
fi
"$zp" train $small --dp 3 --steps 1 --save "$tmp/texts" >"$tmp/out" 2>&1
[ "$(tr -d ' -~\n' <"$tmp/texts/LOCK" | wc -c)" -eq 0 ] &&
  [ "$(grep -c '^rank [0-2], host .*, pid [0-9]* *$' "$tmp/texts/LOCK")" -eq 3 ] &&
  [ "$(grep -c '^job, host .*, pid [0-9]* *$' "$tmp/texts/LOCK.job")" -eq 1 ]
verdict $? locks_are_texts "$(cat "$tmp/texts/LOCK" "$tmp/texts/LOCK.job")"

# A copy of a checkpoint, restored without LATEST: the job that continues it removes it neither with
# its first save nor with a later one.
"$zp" train $small --dp 2 --steps 3 --save "$tmp/original" >"$tmp/out" 2>&1
for every in 3 1; do
  rm -rf "$tmp/restored"
  mkdir "$tmp/restored"
  cp -r "$tmp/original/step-3" "$tmp/restored"
  expect 0 'continues at step 6' "continues_a_restored_copy_$every" train $small --dp 2 --steps 3 \
    --load "$tmp/restored/step-3" --save "$tmp/restored" --save-every $every
  expect 0 'hash of the run' "the_checkpoint_that_was_loaded_stays_$every" \
    train $small --dp 2 --steps 1 --load "$tmp/restored/step-3"
done
[ "$(ls "$tmp/restored" | tr '\n' ' ')" = 'LATEST LOCK LOCK.job step-3 step-5 step-6 ' ]
verdict $? older_saves_of_the_job_are_removed "$(ls "$tmp/restored")"

# Hard links to a file that is no checkpoint's.
for linked in LATEST.tmp step-1.tmp/manifest.json step-1.tmp/rank-0.bin LOCK LOCK.job; do
  rm -rf "$tmp/linked"
  mkdir -p "$tmp/linked/step-1.tmp"
  echo kept >"$tmp/victim"
  ln "$tmp/victim" "$tmp/linked/$linked"
  case $linked in
  LOCK*) expect 3 "linked/$linked is a hard link" "${linked}_with_two_names_is_refused" \
    train $small --dp 1 --steps 1 --save "$tmp/linked" ;;
  *) expect 0 'continues at step 1' "saves_beside_a_hard_link_$(basename $linked)" \
    train $small --dp 1 --steps 1 --save "$tmp/linked" ;;
  esac
  [ "$(cat "$tmp/victim")" = kept ]
  verdict $? "a_hard_link_keeps_what_it_had_$(basename $linked)" "$(head -c 200 "$tmp/victim")"
done

# A job holds its lock between its saves, and no longer than it runs. Its
# steps last longer than the second job, on any machine.
for launched in "" "launch -n 2"; do
  rm -rf "$tmp/busy" "$tmp/first"
  job=simulated
  [ -z "$launched" ] || job=mpi
  timeout -s KILL 600 "$zp" $launched train $small --dp 2 --steps 1000000 --save "$tmp/busy" \
    >"$tmp/first" 2>&1 &
  first=$!
  until grep -qs "$trained" "$tmp/first" || ! kill -0 $first; do sleep 0.1; done
  expect 3 'is saving to .*busy/LOCK.job \(job, host .*, pid [0-9]+\).*Nothing was trained' \
    "a_job_that_trains_is_alone_$job" train $small --dp 1 --steps 1 --save "$tmp/busy"
  holder=$(sed 's/.*pid \([0-9]*\).*/\1/' "$tmp/busy/LOCK.job")
  grep -q ", pid $holder)" "$tmp/out" &&
    ! grep -q "$trained" "$tmp/out" && [ "$(ls "$tmp/busy")" = LOCK.job ]
  verdict $? "a_job_that_trains_is_named_$job" "$(cat "$tmp/out" "$tmp/busy/LOCK.job")"
  kill -TERM $first
  wait $first
  timeout 600 tail --pid="$holder" -f /dev/null # ranks may end after mpirun
  expect 0 'continues at step 1' "the_lock_ends_with_the_job_$job" \
    train $small --dp 1 --steps 1 --save "$tmp/busy"
done

# Pairs: which job is first is left to the machine, and no outcome but a wrong one fails.
bad_pairs=0
for pair in $(seq 20); do
  rm -rf "$tmp/pair"
  mkdir "$tmp/pair"
  for job in a b; do
    { "$zp" train $small --dp 4 --steps 1 --save-every 1 --save "$tmp/pair" >"$tmp/$job" 2>&1
      echo $? >"$tmp/$job.code"; } &
  done
  wait
  for job in a b; do
    code=$(cat "$tmp/$job.code")
    if [ "$code" -eq 3 ]; then grep -q 'another process is saving' "$tmp/$job"
    else [ "$code" -eq 0 ]; fi || {
      bad_pairs=$((bad_pairs + 1))
      cp "$tmp/$job" "$tmp/why"
    }
  done
  if [ "$(cat "$tmp/a.code")" -eq 0 ] || [ "$(cat "$tmp/b.code")" -eq 0 ]; then
    "$zp" train $small --dp 1 --steps 1 --load "$tmp/pair" >"$tmp/why" 2>&1 ||
      bad_pairs=$((bad_pairs + 1))
  fi
done
verdict $bad_pairs pairs_of_jobs "$bad_pairs of $pair; $(tail -c 300 "$tmp/why" | tr '\n' ' ')"
finish
