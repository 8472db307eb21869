# Processes that a command starts end with it, however it ends; launch names the rank that a signal
# ended, also while MPI starts. spec: LEDG-7
# inputs: build/zeroproof tests/fixtures/lib.sh tests/drivers/mpi/end_early.c LICENSE
# alone: processes are killed
. tests/fixtures/lib.sh
export ASAN_OPTIONS="detect_leaks=0:handle_segv=0:verify_asan_link_order=0:${ASAN_OPTIONS:-}"
limit=${LIMIT_S:-300} # for what must happen soon: only a process that never ends takes so long
small="--pp 1 --data LICENSE --layers 2 --d-model 16 --heads 2 --context 16 --batch 1 --sample 0"

# begin ARGS…: starts the command; $parent is its pid. The shell ignores SIGINT in background jobs.
begin() {
  : >"$tmp/out"
  env --default-signal=INT "$zp" "$@" >"$tmp/out" 2>&1 </dev/null &
  parent=$!
}
await() { # await COMMAND…: until it succeeds; 1 after the limit
  latest=$(($(date +%s) + limit))
  until "$@"; do
    [ "$(date +%s)" -lt $latest ] || return 1
    sleep 0.05
  done
}
children() { cat /proc/"${1% }"/task/*/children 2>/dev/null; } # of all its threads
# shellcheck disable=SC2046 # to count words
has_children() { [ $(children "$parent" | wc -w) -eq "$1" ]; }
gone() { [ ! -d "/proc/$1" ] || grep -q '^State:.*[ZX]' "/proc/$1/status" 2>/dev/null; }
all_gone() {
  for p in $started; do gone "$p" || return 1; done
}
# end SIGNAL: the parent receives the signal; 0 when it and $started have ended. $code is its code
end() {
  kill -s "$1" "$parent"
  await gone "$parent" && await all_gone
  ended=$?
  # shellcheck disable=SC2086
  kill -KILL "$parent" $started 2>/dev/null
  wait "$parent" 2>/dev/null
  code=$?
  return $ended
}
ends() { # ends SIGNAL NAME
  end "$1"
  verdict $? "$2_after_SIG$1" "parent $parent, started $started; $(head -c 200 "$tmp/out")"
}

# A stream of checks with its own $tmp, beside another one, as they mostly wait.
stream() { # stream NAME COMMAND...: functions with their arguments
  mkdir "$tmp/$1"
  (
    tmp=$tmp/$1
    tool=$tmp/tool.pid
    export TMPDIR="$tmp" # session folders of mpirun: see tests/fixtures/job.sh
    shift
    for part; do $part; done
    exit $bad
  ) >"$tmp/$1.verdicts" 2>&1 &
}

# A tool that never answers: with `deaf` it ignores SIGTERM as well.
fake() { # fake FILE [deaf]
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\n%s\necho $$ >%s.new && mv %s.new %s\n%s\n' \
    "${2:+trap '' TERM}" "$tool" "$tool" "$tool" 'exec sleep 100000' >"$1"
  chmod +x "$1"
}
# hangs NAME SIGNAL SECONDS ARGS…: the command waits for a fake tool, which ends with it. If the
# command itself ends the tool after SECONDS, the tool must have ended earlier; on a machine that
# stood still so long, that shows nothing, and is tried again.
hangs() {
  name=$1
  signal=$2
  seconds=$3
  shift 3
  for try in 1 2 3; do
    rm -f "$tool"
    since=$(date +%s)
    begin "$@"
    if ! await test -s "$tool"; then
      verdict 1 "$name" "no tool was started: $(head -c 300 "$tmp/out")"
      return
    fi
    started=$(cat "$tool")
    end "$signal" && [ $(($(date +%s) - since)) -lt "$seconds" ] && break
    try=late
  done
  [ $try != late ]
  verdict $? "${name}_after_SIG$signal" "the tool $started did not end in $seconds s"
}

tools() {
  mkdir "$tmp/near"
  cp "$zp" "$tmp/near/zeroproof"
  fake "$tmp/near/zeroproof-cuda"
  fake "$tmp/plot/gnuplot"
  fake "$tmp/tools/nvcc" deaf # `env` starts it in a pipeline
  path=$PATH
  for s in KILL TERM INT HUP; do
    begin fuzz --seconds 1e6 --jobs 3
    await has_children 3 || verdict 1 fuzz_starts_its_workers "$(head -c 300 "$tmp/out")"
    started=$(children $parent)
    ends $s workers_of_fuzz_end
    PATH=$tmp/tools:$path
    hangs a_tool_of_env_that_ignores_SIGTERM_ends $s 20 env
    PATH=$tmp/plot:$path
    # shellcheck disable=SC2086
    hangs gnuplot_ends $s $limit train $small --steps 1 --plot "$tmp/loss.svg"
    PATH=$tmp/near:$path
    real=$zp
    zp=$tmp/near/zeroproof
    hangs the_program_that_looks_for_a_device_ends $s 60 train --engine cuda
    zp=$real
    PATH=$path
  done
}

# ---- launch --------------------------------------------------------------------------------------

ranks_of() { # the pids of the ranks of $parent
  for p in $(children "$(children "$parent")"); do
    [ "$(readlink "/proc/$p/exe")" = "$(realpath "$zp")" ] && echo "$p"
  done
}
steps() { grep -qE '^ *[3-9] ' "$tmp/out"; }
# shellcheck disable=SC2086
train() { # a job of two ranks that trains, and would for days
  begin launch -n 2 train $small --steps 1000000 --dp 2
  await steps
  started="$(children "$parent") $(ranks_of)"
  [ "$(echo "$started" | wc -w)" -eq 3 ]
  verdict $? launch_starts_mpirun_and_two_ranks "$started: $(head -c 300 "$tmp/out")"
}
signals() { # signals SIGNAL...
  for s; do
    train
    ends $s ranks_of_launch_end
    [ $s = KILL ] && continue
    [ $code -eq 3 ] && grep -q "^zeroproof launch: signal .* has cancelled the job" "$tmp/out"
    verdict $? "launch_reports_SIG$s" "exit code $code: $(tail -n 2 "$tmp/out")"
  done
}
stopped() {
  train
  kill -STOP "$(ranks_of | tail -n 1)"
  ends INT a_stopped_rank_of_launch_ends
}

# end_of NAME PATTERN: launch reports this line, and ends with 3. On a busy machine mpirun may have
# ended others before they could report.
end_of() {
  await gone "$parent"
  wait "$parent"
  [ $? -eq 3 ] && grep -qE "^zeroproof launch: $2(; also without a report: .*)?\$" "$tmp/out"
  verdict $? "$1" "$(tail -n 3 "$tmp/out")"
}
crashes() {
  train
  victim=$(ranks_of | tail -n 1)
  number=$(tr '\0' '\n' <"/proc/$victim/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
  kill -SEGV "$victim"
  end_of a_rank_that_a_signal_ends_is_named \
    "rank $number \\(pid $victim\\) was ended by signal 11 \\(Segmentation fault\\)"
}
ends_early() {
  for k in 0 1 2; do
    for point in END_EARLY END_IN_INIT; do
      # shellcheck disable=SC2086
      env LD_PRELOAD="$all/end_early.so" $point=$k "$zp" launch -n 3 train $small --steps 1 --dp 3 \
        >"$tmp/out" 2>&1 </dev/null &
      parent=$!
      pid="pid [0-9]+"
      [ $point = END_IN_INIT ] || pid="it had not reported yet"
      end_of "rank_${k}_that_ends_at_${point}_is_named" \
        "(rank . \\(it had not reported yet\\) or )*rank $k \\($pid\\)( or rank . \\(it had not \
reported yet\\))* was ended by signal 9 \\(Killed\\) before it joined MPI"
    done
  done
}

# An mpirun that does not notice that its ranks have ended.
stuck() {
  mkdir "$tmp/stuck"
  printf '#!/bin/sh\nOMPI_COMM_WORLD_RANK=1 %s train --help\nexec sleep 100000\n' \
    "$(realpath "$zp")" >"$tmp/stuck/mpirun"
  chmod +x "$tmp/stuck/mpirun"
  PATH=$tmp/stuck:$path
  begin launch -n 2 train
  PATH=$path
  end_of an_mpirun_that_hangs_is_ended ".*rank 1 \\(pid [0-9]+\\) has ended without a report \
before it joined MPI, and mpirun did not notice"
}

"${CC:-gcc}" -shared -fPIC -o "$tmp/end_early.so" tests/drivers/mpi/end_early.c ||
  verdict 1 end_early_is_built
all=$tmp
stream first tools stuck "signals KILL TERM INT"
first=$!
stream second "signals HUP" stopped crashes ends_early
wait $first || bad=1
cat "$tmp/first.verdicts"
wait $! || bad=1
cat "$tmp/second.verdicts"
finish
