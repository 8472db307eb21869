#!/bin/sh
# zeroproof trace: each injected difference is reported for the right rank, and nothing else is.
# inputs: build/zeroproof build/tests/drivers/trace/trace_gen_driver tests/bench/trace_bench.py
cd "$(dirname "$0")/../../.." || exit 3
only='consistent \(order and shapes only\)$'
no_end='no end mark: still running, killed, or not closed$'
build=${ZP_BUILD:-build}
gen=$build/tests/drivers/trace/trace_gen_driver
zp=${ZEROPROOF:-$build/zeroproof}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

result() { # result NAME WHETHER: 0 is good
  if [ "$2" -eq 0 ]; then echo "ok $1"; else
    echo "not ok $1"
    sed 's/^/#  /' "$dir/out" | head -20
    bad=1
  fi
}

memory() { # memory KIB: a limit. AddressSanitizer reserves terabytes of addresses and has its own
  if [ "${SAN:-0}" = 1 ]; then
    export ASAN_OPTIONS="hard_rss_limit_mb=$(($1 / 1000))"
  else
    # shellcheck disable=SC3045 # dash has ulimit -v
    ulimit -v "$1"
  fi
}

make_run() {
  rm -rf "$dir/run"
  mkdir "$dir/run"
  "$gen" "$dir/run" "$@" || exit 3
}

judged() { # judged CODE PATTERN: the exit code, and the pattern in the first line, which names the
  # cause if there are errors, or in the first warning
  "$zp" trace check "$dir/run" >"$dir/out" 2>&1
  [ $? -eq "$1" ] &&
    grep -Eq '^[0-9]+ records of [0-9]+ ranks: ((in)?consistent|cannot be)' "$dir/out" &&
    if [ "$1" -eq 0 ]; then head -2 "$dir/out"; else head -1 "$dir/out"; fi | grep -Eq "$2"
}

findings() { # how many the last verdict lists after its causes
  sed '1,/ ranks: /d; /^(/,$d' "$dir/out" | wc -l
}

says() { # says NAME CODE PATTERN WORLD TP RECORDS FAULT...
  name=$1 code=$2 pattern=$3
  shift 3
  make_run "$@"
  judged "$code" "$pattern"
  result "$name" $?
}

for world in 1 2 3 5 8; do
  says "a correct run of $world ranks" 0 ": $only" $world 1 403
done
says "a correct run with tp" 0 ": $only" 12 3 1000
says "a correct run with tp, asynchronous" 0 ": $only" 12 3 1000 none 0 0 async
says "one skips a collective" 1 \
  "^step 51, gradient: rank 5 skipped all_reduce sum of 4096 bf16 .train.py:10. in 'tp' .3–5.;" \
  12 3 800 skip 5 408
says "one enters another op" 1 \
  '^step 51, gradient: rank 5 entered broadcast .* at its record 408, with another op than ranks' \
  12 3 800 op 5 408
says "one has another count" 1 \
  '^step 51, gradient: rank 5 entered all_reduce sum of 4095 .* at its record 408, with .* count' \
  12 3 800 count 5 408
says "one has another operator" 1 \
  '^step 51, gradient: rank 5 entered all_reduce max of 4096 .*, with another reduction than' \
  12 3 800 redop 5 408
says "the first of a group differs, and the others are right" 1 \
  '^step 51, gradient: rank 3 entered broadcast' 12 3 800 op 3 408
says "of two that differ, the one that does not repeat its earlier steps is named first" 1 \
  '^step 51, gradient: either rank 5 entered broadcast .* with another op than rank 4' \
  8 2 800 op 5 408
says "another order among groups, blocking" 1 \
  '^step 50: rank 5 entered all_reduce .* before reduce_scatter .* in another order' \
  12 3 800 swap 5 400
says "another order among groups, asynchronous" 0 '^warning: a cycle of 2 ranks.*rank 5' \
  12 3 800 swap 5 400 async
says "a trace is missing" 1 '^rank 7 has no trace' 12 3 800 miss 7
says "a trace is truncated" 1 \
  '^step 50: rank 7 has a trace that stops after 401 records; ranks 1, 4, 10 wait for it' \
  12 3 800 stop 7 401
grep -q 'unless the job still runs' "$dir/out"
result "a trace that ended early is an error, whatever runs" $((!$?))
says "one rank lags by 10000 records when all are killed" 1 \
  '^step 250: rank 7 has a trace that stops after 2000 records; ranks 1, 4, 10 wait' \
  12 3 12000 late 7 2000
grep -q '^[0-9]* records of 12 ranks: inconsistent, unless the job still runs: ' "$dir/out"
result "of a job that still runs, a rank may yet enter what others wait for" $?
says "all are killed at the same place" 0 "^warning: 12 ranks .* have $no_end" 12 3 800 hung
says "junk after the records" 1 "^rank 7's trace is damaged after its record 799" 12 3 800 junk 7
says "a hole after the records" 0 "^warning: rank 7 has $no_end" \
  12 3 800 hole 7
for source in any anylate anynever; do
  says "receives from any source, $source" 0 \
    "^warning: .* their source or destination|: $only" 12 3 1000 none 0 0 $source
done
grep -q '^warning: 1500 records' "$dir/out"
result "receives without a recorded source are counted" $?
says "receives from any source are matched when their source is recorded" 0 \
  "^12000 .*: $only" 12 3 1000 none 0 0 anylate
for source in any anylate; do
  says "another count is sent to a receive from any source, $source" 1 \
    'enters recv of 512 bf16 from group rank 5 .*send of 511 .*by rank 5|rank 5 enters send of 51' \
    12 3 800 sent 5 411 $source
  says "a skipped send to a receive from any source, $source" 1 'rank 5' 12 3 800 skip 5 411 $source
  says "a source that sent nothing, $source" 1 '^step [01](, gradient)?: rank 5 ' \
    12 3 800 source 5 0 $source
  says "one rank lags by 10000 records, all receive from any source, $source" 1 \
    '^step 250: rank 7 has a trace that stops after 2000 records' 12 3 12000 late 7 2000 $source
  says "another order among groups, all receive from any source, $source" 1 \
    '^step 50: rank 5 entered all_reduce .* before reduce_scatter' 12 3 800 swap 5 400 $source
done
says "one skips a collective, all receive from any source without a recorded source" 1 \
  '^step 51, gradient: rank 5 skipped all_reduce' 12 3 800 skip 5 408 anynever

# The majority of a group is right: a rank that enters more than the majority is reported.
extra() { # extra NAME PATTERN WORLD TP RECORDS AT MODE RANK...: these ranks enter one more
  name=$1 pattern=$2 world=$3 tp=$4 records=$5 at=$6 mode=$7
  shift 7
  make_run "$world" "$tp" "$records" none 0 0 "$mode"
  for rank; do
    rm -rf "$dir/one"
    mkdir "$dir/one"
    "$gen" "$dir/one" "$world" "$tp" "$records" extra "$rank" "$at" "$mode" || exit 3
    mv "$dir/one/rank-$rank.zpt" "$dir/run"
  done
  judged 1 "$pattern"
  result "$name" $?
}

more='entered an extra all_reduce'
others='ranks 0, 2–4 do not enter it$'
extra "one enters one more at the end" "rank 1 $more .*$others" 5 1 400 400 blocking 1
[ "$(findings)" = 1 ]
result "no other rank is named" $?
extra "one enters one more within" "rank 1 $more .*$others" 5 1 400 204 blocking 1
extra "one enters one more within, with tp" "rank 5 $more" 12 3 800 404 async 5
extra "one enters one more, and all are killed" "rank 1 $more .*$others" 5 1 400 400 killed 1
extra "two of five enter one more" "ranks 1, 3 $more .*ranks 0, 2, 4 do not" \
  5 1 400 400 blocking 1 3
extra "three of five enter one more: the other two one fewer" \
  'ranks 0, 4 ended after 400 records; ranks 1–3 wait for them in all_reduce' \
  5 1 400 400 blocking 1 2 3
extra "two of four enter one more: the others and the waiting ranks are named" \
  'either ranks 1, 3 entered an extra' 4 1 400 400 blocking 1 3
grep -Eq '^or ranks 0, 2 ended after 400 records; ranks 1, 3 wait for them' "$dir/out"
result "both explanations of two against two are named" $?
# truncated traces are no majority
make_run 5 1 400
for rank in 0 2 4; do
  head -c 951 "$dir/run/rank-$rank.zpt" >"$dir/cut" && mv "$dir/cut" "$dir/run/rank-$rank.zpt"
done
judged 1 'ranks 0, 2, 4 have traces that stop after 173 records; ranks 1, 3 wait for them' &&
  ! grep -Eq '^rank [13] ' "$dir/out"
result "three of five traces are cut: they are named" $?

# a folder with ranks of a larger run in it
make_run 4 1 400
"$gen" "$dir/run" 2 1 800 || exit 3
mixed='^rank-0.zpt belongs to a run of 2 ranks \(2 files\), but rank-2.zpt belongs to a run of 4'
judged 1 "$mixed .*empty it"
result "traces of two runs in one folder" $?
[ "$(findings)" = 0 ]
result "no rank is named for the records of another run" $?
make_run 4 1 400
rm "$dir/run/rank-3.zpt"
: >"$dir/run/rank-2.zpt"
judged 1 '^rank 3 has no trace'
result "the last trace is missing, and the one before it empty" $?
for rank in 0 2; do rm -f "$dir/run/rank-$rank.zpt"; done
judged 1 '^3 ranks \(0, 2, 3\) have no trace'
result "several traces are missing" $?
"$zp" trace check --json "$dir/run" | jq -c '.findings[0] | [.rank, .ranks]' >"$dir/out" 2>&1
[ "$(cat "$dir/out")" = '[0,[0,2,3]]' ]
result "all ranks of a finding are in the JSON" $?

# a recorder without the world size writes 0: the sizes of the groups count
for r in 0 1; do
  group="\\001\\001\\001g\\003\\00$((r + 1))\\000"
  printf "ZPTRACE\\001\\00$r\\000$group"'\012\001\002\010\005\001\000\000\000\011' >"$dir/rank-$r"
done
rm -rf "$dir/run"
mkdir "$dir/run"
for r in 0 1; do mv "$dir/rank-$r" "$dir/run/rank-$r.zpt"; done
judged 1 "^rank 0 waits at its record 0 for group rank 2 in 'g', which no rank has joined"
result "a rank is missing from a run of unknown world size" $?

# two traces by hand, of groups x (1) and y (2); step 7 begins after the first operation
entered() { # entered OP GROUP: 4 elements fp32
  printf '\\012\\00%d\\002\\010\\005\\00%d\\000\\000\\000' "$1" "$2"
}
trace() { # trace RANK FIRST SECOND: what comes before the step and after it
  x="\\001\\001\\001x\\002\\00$(($1 + 1))\\000" y="\\001\\002\\001y\\002\\00$(($1 + 1))\\000"
  # shellcheck disable=SC2059 # the format has the bytes
  printf "ZPTRACE\\001\\00$1\\002$x$y$2\\004\\007$3" >"$dir/run/rank-$1.zpt"
}
ranks_in_json() {
  "$zp" trace check --json "$dir/run" | jq -r '.findings[] | "\(.kind) \(.ranks)"' >"$dir/out" 2>&1
}
trace 0 "$(entered 3 1)" "$(entered 2 1)"
trace 1 "$(entered 3 1)" "$(entered 3 1)"
judged 1 '^step 7: either rank [01] '
result "the step of a record is printed" $?
ranks_in_json
[ "$(cat "$dir/out")" = "mismatch [0,1]
unfinished [0,1]" ]
result "two ranks that differ, and all without an end mark, are in the JSON" $?
trace 0 "$(entered 2 1)" "$(entered 3 1)"
judged 1 '^either rank [01] entered .* at its record 0, with another op than'
result "a record before the first step has no step" $?
trace 0 '' "$(entered 3 1)$(entered 3 2)\\011"
trace 1 '' "$(entered 3 2)$(entered 3 1)\\011"
judged 1 '^step 7: either rank [01] entered all_gather .* before all_gather .* in another order' &&
  grep -Eq '^consequence: a cycle .*: rank 0 waits at its record 0 \(step 7\) in ' "$dir/out"
result "the step of a wait is printed" $?
ranks_in_json
[ "$(cat "$dir/out")" = "cycle [0,1]" ]
result "all ranks of a cycle are in the JSON" $?

# 10,000 ranks within 16 open files and 1 GB; under a sanitizer, whose tables are larger, 300
ranks=10000
[ "${SAN:-0}" = 1 ] && ranks=300
bench() {
  python3 -B tests/bench/trace_bench.py --ranks $ranks --records 40 --dir "$dir" >"$dir/out" 2>&1
}
if command -v python3 >/dev/null; then
  bench
  result "missing, truncated, behind: the right one of many ranks is named" $?
  # a command without output gives no verdict
  ZEROPROOF=true bench
  [ $? -eq 1 ] && [ "$(grep -c 'UNEXPECTED' "$dir/out")" = 4 ]
  result "a missing verdict is noticed" $?
else
  echo "not run: a trace of 10,000 ranks that is missing, truncated, behind (no python3)"
fi
make_run $ranks 10 40 count 211 16
judged 1 '^step 2, gradient: rank 211 entered all_reduce sum of 4095 .*, with another count than'
result "one has another count, of many ranks" $?
make_run $ranks 10 40 extra 211 40
judged 1 "^step 4: rank 211 $more .*; ranks 0–210, 212–$((ranks - 1)) do not enter it$" &&
  [ "$(findings)" = 1 ]
result "one enters one more, of many ranks, and nothing else is reported" $?

# wherever a file is cut, its rest is read, and no other rank is named. The file is short: the
# command runs once for each of its bytes.
cut() { # cut MODE
  make_run 6 2 24 short 0 0 "$1"
  cp "$dir/run/rank-4.zpt" "$dir/whole"
  size=$(wc -c <"$dir/whole")
  at=1
  while [ $at -lt "$size" ]; do
    head -c $at "$dir/whole" >"$dir/run/rank-4.zpt"
    "$zp" trace check --json "$dir/run" >"$dir/out" 2>&1
    code=$?
    if [ $code -gt 1 ] ||
      grep '"level": "error"' -A 1 "$dir/out" | grep '"rank"' | grep -vq '"rank": 4,'; then
      echo "# cut at byte $at: exit code $code"
      return 1
    fi
    at=$((at + 1))
  done
}
for mode in blocking anylate; do
  cut $mode
  result "a file cut at any byte, $mode" $?
done

make_run 12 3 800 skip 5 408
"$zp" trace check --json "$dir/run" >"$dir/out" 2>&1
test $? -eq 1 && jq -en 'input | .good == false
  and .findings[0].rank == 5 and .findings[0].kind == "short" and .findings[0].consequence
  and .cause == [{"cause": 0, "kind": "skip", "equally_likely": false,
    "likeliest": true, "rank": 5, "ranks": [5], "step": 51,
    "record": .cause[0].record, "op": "all_reduce sum of 4096 bf16", "group": "tp",
    "site": "train.py:10;trainer.py:88;main.py:7", "phase": "gradient",
    "value": null, "text": .cause[0].text}]' <"$dir/out" >/dev/null
result "findings as JSON" $?

"$zp" trace view "$dir/run" --out "$dir/view.json" --ranks 4-5 >"$dir/out" 2>&1 &&
  [ "$(jq '[.traceEvents[] | select(.ph == "X")] | length' "$dir/view.json")" = 1599 ] &&
  [ "$(jq -c '[.traceEvents[] | select(.ph == "X") | .pid] | unique' "$dir/view.json")" = '[4,5]' ]
result "a Perfetto trace has every record of the ranks asked for" $?

# a header or a file name cannot request more memory than a run needs
rm -rf "$dir/run"
mkdir "$dir/run"
printf 'ZPTRACE\001\000\377\377\377\377\007' >"$dir/run/rank-0.zpt"
(memory 4000000; "$zp" trace check "$dir/run" >"$dir/out" 2>&1)
[ $? -eq 1 ] && grep -q 'damaged' "$dir/out"
result "a header of 2^31 - 1 ranks is damage" $?
mv "$dir/run/rank-0.zpt" "$dir/run/rank-999999999.zpt"
(memory 4000000; "$zp" trace check "$dir/run" >"$dir/out" 2>&1)
[ $? -eq 2 ] && grep -q '131072 ranks' "$dir/out"
result "a file of rank 999999999 is refused" $?
# a group "g" of ranks 0 and 1, and in it a broadcast with root 99; or a wait for 2^60 records ago
group='\001\001\001g\002\000\001\000\002\002'
rm -rf "$dir/run"
mkdir "$dir/run"
for r in 0 1; do
  printf "ZPTRACE\\001\\00$r\\002$group"'\012\005\001\010\005\001\144\000\000\011' \
    >"$dir/run/rank-$r.zpt"
done
judged 1 'got root 99, expected 0 to 1'
result "a root that is not in its group" $?
for r in 0 1; do
  printf "ZPTRACE\\001\\00$r\\002$group"'\005\200\200\200\200\200\200\200\200\020\011' \
    >"$dir/run/rank-$r.zpt"
done
judged 1 'damaged'
result "a wait for an operation that was never entered" $?
for r in 0 1; do
  printf "ZPTRACE\\001\\00$r\\002$group"'\010\377\377\377\377\377\377\377\377\177\010\001\011' \
    >"$dir/run/rank-$r.zpt"
done
judged 1 'damaged'
result "times whose sum is 2^63 nanoseconds" $?

# one group of both, in which rank 1 communicates, and one of rank 0 alone, in which that does
rm -rf "$dir/run"
mkdir "$dir/run"
own='\001\002\001h\001\000\001\000\002\001'
printf "ZPTRACE\\001\\000\\002$group$own"'\012\001\002\010\005\002\000\000\000\011' \
  >"$dir/run/rank-0.zpt"
printf "ZPTRACE\\001\\001\\002$group"'\012\001\002\010\005\001\000\000\000\011' \
  >"$dir/run/rank-1.zpt"
judged 1 "^either rank 0 skipped all_reduce sum of 4 fp32 in 'g' .0, 1.; rank 1 is waiting" &&
  grep -q '^consequence: rank 0 finishes after 1 record, as many as the longest trace' "$dir/out"
result "the rank that is waited for has as many records as the longest trace" $?

# invalid definitions of groups
octal() { # octal NUMBER: as the format has it, for printf
  left=$1
  while [ "$left" -gt 127 ]; do
    printf '\\%03o' $((left % 128 + 128))
    left=$((left / 128))
  done
  printf '\\%03o' "$left"
}
groups() { # groups HOW_MANY WORLD SIZE RUNS: rank 0 joins so many
  rm -rf "$dir/run"
  mkdir "$dir/run"
  text="ZPTRACE\\001\\000$(octal "$2")" id=1
  while [ $id -le "$1" ]; do
    text="$text\\001$(octal $id)\\003$(printf %03d $id)$(octal "$3")\\001$4"
    id=$((id + 1))
  done
  printf "$text\\011" >"$dir/run/rank-0.zpt"
  # shellcheck disable=SC3045 # dash has ulimit -t
  (memory 1000000; ulimit -t 10; "$zp" trace check "$dir/run" >"$dir/out" 2>&1)
}
groups 40 2 16777216 '\000'
[ $? -eq 1 ] && grep -q "joins '001' with 16777216 members, expected at most 2" "$dir/out"
result "groups larger than the run" $?
groups 40 2 2 '\001\000\000\002'
[ $? -eq 1 ] && grep -q 'which lists rank 0 twice' "$dir/out"
result "a group that lists a rank twice" $?
groups 40 2 2 '\001\001\002\002'
[ $? -eq 1 ] && grep -q 'damaged' "$dir/out"
result "a member that the run does not have" $?
groups 40 131072 131072 '\001\000\002\200\200\010'
[ $? -eq 1 ] && ! grep -q 'no memory' "$dir/out"
result "40 groups of 131072 members" $?
groups 400 131072 131072 '\001\000\002\200\200\010'
[ $? -eq 1 ] && grep -q 'more members than files of [0-9]* bytes can define' "$dir/out"
result "400 of them, which one small file cannot have" $?

# a pipe with the name of a trace must not block the judge
make_run 2 1 80
rm "$dir/run/rank-1.zpt"
mkfifo "$dir/run/rank-1.zpt"
timeout 600 "$zp" trace check "$dir/run" >"$dir/out" 2>&1
[ $? -eq 2 ] && grep -q 'rank-1.zpt: not a regular file' "$dir/out"
result "a pipe is refused" $?
timeout 600 "$zp" trace view "$dir/run" --out "$dir/pipe.json" >"$dir/out" 2>&1
[ $? -eq 2 ] && grep -q 'rank-1.zpt: not a regular file' "$dir/out"
result "a pipe is not drawn" $?
rm "$dir/run/rank-1.zpt"
mkdir "$dir/run/rank-1.zpt"
timeout 600 "$zp" trace check "$dir/run" >"$dir/out" 2>&1
[ $? -eq 2 ] && grep -q 'rank-1.zpt: not a regular file' "$dir/out"
result "a folder of a trace's name is refused" $?

make_run 3 1 403
"$zp" trace view "$dir/run" --out "$dir/seen.json" --json >"$dir/out" 2>&1
[ $? -eq 0 ] && jq -e --arg file "$dir/seen.json" '.wrote == $file' "$dir/out" >/dev/null
result "with --json, view prints JSON" $?
mkdir "$dir/empty"
"$zp" trace check "$dir/empty" >"$dir/out" 2>&1
[ $? -eq 2 ] && grep -q 'no traces found' "$dir/out"
result "a folder without traces is refused" $?
"$zp" trace check "$dir/nowhere" >"$dir/out" 2>&1
[ $? -eq 2 ]
result "a folder that is not there is refused" $?
exit $bad
