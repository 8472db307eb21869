# For tests of several processes: `. tests/mpi/job.sh` after tests/cli/lib.sh, with driver set.
why=
ranks=6
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A container may forbid one process to read another's memory.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# Open MPI keeps memory until the process ends; our own leaks show in the single-process tests.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
command -v ssh >/dev/null || command -v rsh >/dev/null || export OMPI_MCA_plm=isolated

complain() { why="$why${why:+; }$*"; }

# job ARGUMENTS…: $driver on $ranks ranks; rank k's words are in $tmp/job/1/rank.k. It is stopped when
# it takes longer than the longest deadline here.
job() {
  rm -rf "$tmp/job"
  began=$(date +%s)
  timeout -k 5 40 mpirun --quiet --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 2 \
    --output-filename "$tmp/job:nocopy" -n "$ranks" "$driver" "$@" >"$tmp/mpirun" 2>&1 </dev/null
  code=$?
  took=$(($(date +%s) - began))
  [ $took -lt 40 ] || complain "it had to be stopped after $took s"
  seen=$(cat "$tmp/mpirun" "$tmp"/job/1/rank.*/std* 2>/dev/null |
    grep -m1 -E 'Sanitizer|runtime error')
  [ -z "$seen" ] || complain "$seen"
}

fails() { # fails ARGUMENTS…: a job that must end by itself, as a failure of its environment
  job "$@"
  case $code in
  0 | 1 | 124) complain "exit code $code: $(head -c 200 "$tmp/mpirun")" ;;
  esac
}

# says RANKS PATTERN, silent RANKS PATTERN: each of the ranks has, or has not, a line with it
says() {
  for k in $1; do
    grep -qE -e "$2" "$tmp/job/1/rank.$k/stderr" 2>/dev/null ||
      complain "rank $k does not say '$2': $(head -c 300 "$tmp/job/1/rank.$k/stderr" 2>&1)"
  done
}
silent() {
  for k in $1; do
    if grep -qE -e "$2" "$tmp/job/1/rank.$k/stderr"; then complain "rank $k says '$2'"; fi
  done
}

law() { # law NAME: whether anything was found since the one before
  [ -z "$why" ]
  verdict $? "$1" "$(printf '%s' "$why" | head -c 1000 | tr '\n' ' ')"
  why=
}
