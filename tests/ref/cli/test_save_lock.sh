# Jobs that save to one folder: a job that ends with 0 has saved what loads, and a job that finds
# the lock of any of its ranks fails with the holder's host and process. spec: CKPT-6, CKPT-7
# inputs: build/zeroproof tests/fixtures/lib.sh LICENSE
. tests/fixtures/lib.sh
export TMPDIR="$tmp" # session folders of mpirun: see tests/fixtures/job.sh
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" # Open MPI's own, at exit

small="--layers 1 --d-model 8 --heads 1 --context 8 --batch 1 --sample 0 --pp 1 --data $tmp/text"
head -c 3000 LICENSE >"$tmp/text"
cat >"$tmp/hold.py" <<'END' # holds the lock of a rank while a command runs
import fcntl, os, subprocess, sys

folder, rank = sys.argv[1], int(sys.argv[2])
os.makedirs(folder, exist_ok=True)
with os.fdopen(os.open(f"{folder}/LOCK", os.O_RDWR | os.O_CREAT), "r+") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX, 128, rank * 128)
    lock.seek(rank * 128)
    lock.write(f"rank {rank}, host \x1b[2Jelsewhere, pid 4711\n")
    lock.flush()
    sys.exit(subprocess.run(sys.argv[3:]).returncode)
END
held() { # held NAME RANK ARGS...: fails, names the holder, and leaves the current checkpoint
  name=$1 rank=$2
  shift 2
  timeout 600 python3 "$tmp/hold.py" "$tmp/ck" "$rank" "$zp" "$@" --save "$tmp/ck" \
    >"$tmp/out" 2>&1
  got=$?
  [ $got -eq 3 ] && grep -qF "(rank $rank, host ?[2Jelsewhere, pid 4711)" "$tmp/out"
  verdict $? "$name" "exit code $got: $(tail -c 400 "$tmp/out" | tr '\n' ' ')"
  if [ -e "$tmp/ck/LATEST" ]; then
    expect 0 'hash of the run' "${name}_and_leaves_the_current_one" \
      train $small --dp 1 --steps 1 --load "$tmp/ck"
  fi
}
held first_save_is_refused 0 train $small --dp 1 --steps 1
expect 0 'continues at step 1' save_after_the_holder train $small --dp 1 --steps 1 --save "$tmp/ck"
for rank in 0 1 2; do
  held "rank_${rank}_of_a_simulation" $rank train $small --dp 3 --steps 2
done
for rank in 0 1; do
  held "rank_${rank}_of_an_mpi_job" $rank launch -n 2 train $small --dp 2 --steps 2
done
expect 0 'continues at step 2' mpi_saves_after_all_of_them \
  launch -n 2 train $small --dp 2 --steps 2 --save "$tmp/ck"

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
