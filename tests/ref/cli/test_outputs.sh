# Every option that writes, and standard output: a full disk, a limit of the file's size and a name
# with special characters are errors with the file's name and exit code 3, or data; the old file
# stays. The options are those of --help. spec: CKPT-2, CKPT-7
# inputs: build/zeroproof build/zeroproof-simdev build/tests/drivers/trace/trace_gen_driver
# inputs: tests/fixtures/lib.sh LICENSE spec/*.md conformance/judge/* conformance/schema/*
. tests/fixtures/lib.sh

small="--layers 1 --d-model 8 --heads 1 --context 8 --batch 1 --steps 1 --sample 0 --dp 1 --pp 1"
small="$small --micro-batches 1 --data $tmp/text"
head -c 3000 LICENSE >"$tmp/text"
case="pp=1,dp=1,M=1,stage=0,bucket=4,steps=1,list=5@0.0"
command -v gnuplot >/dev/null && plot=train:--plot || plot=
[ -n "$plot" ] || echo "not run: gnuplot is not installed, so train --plot is not tested"

# ---- The table: what each option with a file or a folder is for. One that is missing fails.
cuda="sim:--svg sim:--trace fuzz:--svg fuzz:--trace"
writes="$plot train:--save plan:--svg plan:--trace $cuda trace:--out"
# in none of these commands does the option write: refused, or without effect
silent="train:--svg train:--trace adapter:--svg adapter:--trace"
# tests/conformance/outputs_test.py, reports_test.py
judge="check:--out check:--log report:--out"
# tests/ref/comm/hosts: a second place for what standard error has
log="launch:--log"
reads="train:--data train:--load train:--config plan:--config plan:--machine sim:--config
  counters:--config launch:--hosts elastic:--hosts
  check:--quick check:--known check:--support report:--known report:--python"
for command in $("$zp" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^help$'); do
  "$zp" "$command" --help >"$tmp/help" 2>&1
  grep -oE -e '--[a-z-]+(\[=|=)(FILE|DIR|PATH|OUT)' "$tmp/help" | sed 's/\[*=.*//' | sort -u |
    sed "s/^/$command:/"
done >"$tmp/found"
for one in $(cat "$tmp/found"); do
  case " $(echo $writes $silent $judge $log $reads train:--plot) " in
  *" $one "*) ;;
  *) verdict 1 "every_option_with_a_file_is_in_the_table" "$one: add it to $0" ;;
  esac
done
for one in $writes $silent $judge $log $reads; do
  grep -qx -e "$one" "$tmp/found"
  verdict $? "help_has_$one" "the table in $0 has an option that --help lacks"
done

# ---- Runs of them
if [ "${SAN:-0}" = 1 ]; then # the sanitized build has no zeroproof-simdev
  cuda=
  writes="$plot train:--save plan:--svg plan:--trace trace:--out"
fi
mkdir "$tmp/run" "$tmp/disk" "$tmp/files"
build/tests/drivers/trace/trace_gen_driver "$tmp/run" 3 1 403 || exit 3
printf 'ulimit -f 1; exec "$@"\n' >"$tmp/limited" # blocks of 512 bytes
cat >"$tmp/full" <<END
exec unshare -rm sh -c 'mount -t tmpfs -o size=64k none $tmp/disk || exit 99
  cp -r $tmp/files/. $tmp/disk; head -c 70000 /dev/zero >$tmp/disk/filler
  "\$@"; code=\$?; rm $tmp/disk/filler; cp -r $tmp/disk/. $tmp/files; exit \$code' sh "\$@"
END

write_with() { # write_with WRAP COMMAND:OPTION FILE: exit code in $got, output in $tmp/out
  wrap=$1 option=${2#*:} file=$3
  case $2 in
  train:*) set -- train $small "$option" "$file" ;;
  plan:*) set -- plan --pp 2 "$option" "$file" ;;
  sim:*) set -- sim --engine cuda --case "$case" "$option" "$file" ;;
  fuzz:*) set -- fuzz --engine cuda --replay "$case" "$option" "$file" ;;
  trace:*) set -- trace view "$tmp/run" "$option" "$file" ;;
  esac
  # a pipe: the limit holds for the file of standard output as well
  { timeout 600 $wrap "$zp" "$@" 2>&1 </dev/null; echo $? >"$tmp/code"; } | cat >"$tmp/out"
  got=$(cat "$tmp/code")
}

failed_with() { # failed_with NAME WORD: exit code 3 and an error with the word
  [ "$got" -eq 3 ] && grep -qF -e "$2" "$tmp/out"
  verdict $? "$1" "exit code $got, '$2' expected in: $(tail -c 300 "$tmp/out" | tr '\n' ' ')"
}

untouched() { # untouched NAME: the old file stays, and nothing else is there
  [ "$(cat "$tmp/files/target" 2>&1)" = old ] && [ "$(ls -A "$tmp/files")" = target ]
  verdict $? "$1" "$(ls -lA "$tmp/files" | tr '\n' ' ')"
}

longest=$(printf '%255s' "" | tr ' ' n)
for one in $writes; do
  name=$(echo "$one" | tr ':-' '__' | tr -s _)
  rm -rf "$tmp/files" && mkdir "$tmp/files"
  if [ "$one" != train:--save ]; then
    write_with "" "$one" /dev/full
    failed_with "${name}_to_a_full_device" /dev/full
    echo old >"$tmp/files/target"
    write_with "sh $tmp/limited" "$one" "$tmp/files/target"
    failed_with "${name}_beyond_the_size_limit" "$tmp/files/target: File too large"
    untouched "${name}_beyond_the_size_limit_keeps_the_old_file"
  else
    write_with "sh $tmp/limited" "$one" "$tmp/files/target"
    failed_with "${name}_beyond_the_size_limit" "File too large"
  fi
  rm -rf "$tmp/files" && mkdir "$tmp/files"
  [ "$one" = train:--save ] || echo old >"$tmp/files/target"
  write_with "sh $tmp/full" "$one" "$tmp/disk/target"
  if [ "$got" -eq 99 ] || grep -q 'unshare: ' "$tmp/out"; then
    echo "not run: mounting is not permitted, so ${name} was not tested on a full disk"
  elif [ "$one" = train:--save ]; then
    failed_with "${name}_on_a_full_disk" "No space left on device"
  else
    failed_with "${name}_on_a_full_disk" "$tmp/disk/target: No space left on device"
    untouched "${name}_on_a_full_disk_keeps_the_old_file"
  fi
  # names are data: for a shell, for gnuplot and for printf
  for odd in "it's" '|touch pwned' 'a b
c' '`touch pwned`' '$(touch pwned)' '"; system(\"touch pwned\"); "' '%s%n' '-x' 'ü'; do
    rm -rf "$tmp/files" && mkdir "$tmp/files"
    write_with "" "$one" "$tmp/files/$odd"
    [ "$got" -eq 0 ] && [ "$(ls -A "$tmp/files" | tr '\n' ' ')" = "$(printf '%s' "$odd" |
      tr '\n' ' ') " ] && [ ! -e pwned ]
    verdict $? "${name}_with_a_name_that_is_data" \
      "$odd: exit code $got, $(ls -A "$tmp/files" | tr '\n' ' ') $(head -c 200 "$tmp/out")"
  done
  # the longest name that the file system takes, for a new file and for one that is replaced
  rm -rf "$tmp/files" && mkdir "$tmp/files"
  for time in new replaced; do
    write_with "" "$one" "$tmp/files/$longest"
    [ "$got" -eq 0 ] && [ "$(ls -A "$tmp/files")" = "$longest" ]
    verdict $? "${name}_with_a_name_of_255_bytes_$time" "exit code $got: $(tail -c 200 "$tmp/out")"
  done
done
# A case that fails stays failed whatever cannot be drawn, and the error is reported as well.
faulty="pp=1,dp=2,M=2,stage=1,bucket=4,steps=2,list=5@0.0+9@0.0"
for one in $cuda; do
  command=${one%:*} option=${one#*:}
  [ "$command" = sim ] && way=--case || way=--replay
  for json in "" --json; do
    timeout 600 "$zp" "$command" --engine cuda "$way" "$faulty" --fault forgotten $json \
      "$option" /dev/full >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ $got -eq 1 ] && grep -qE 'failed: STEP-3|"failed"' "$tmp/out" &&
      grep -q '1 of 2 gradients were announced' "$tmp/out" &&
      grep -q "^zeroproof $command: the timeline: /dev/full: No space" "$tmp/err"
    verdict $? "a_failure_of_${command}_${option#--}_stays_on_a_full_device${json:+_json}" \
      "exit code $got: $(head -c 200 "$tmp/out" | tr '\n' ' ') $(cat "$tmp/err")"
  done
done
for option in --svg --trace; do
  expect 3 'all invariants hold' "plan_check_before_${option#--}_on_a_full_device" plan --pp 2 \
    --dp 2 --tp 2 --bucket 1Mi --micro-batches 2 --check "$option" /dev/full
  expect 2 'is for --engine cuda' "sim_on_ref_draws_no_${option#--}" sim --case "$case" \
    "$option" "$tmp/none"
done
mkfifo "$tmp/fifo"
cat "$tmp/fifo" >"$tmp/piped" &
"$zp" plan --pp 2 --svg "$tmp/fifo" >"$tmp/out" 2>&1
got=$?
wait
[ $got -eq 0 ] && grep -q '</svg>' "$tmp/piped"
verdict $? a_pipe_is_written_directly "exit code $got"
mkdir "$tmp/real" && echo old >"$tmp/real/p.svg" && chmod 640 "$tmp/real/p.svg"
ln -s real/p.svg "$tmp/p.svg"
"$zp" plan --pp 2 --svg "$tmp/p.svg" >"$tmp/out" 2>&1
[ -L "$tmp/p.svg" ] && grep -q '</svg>' "$tmp/real/p.svg" &&
  [ "$(stat -c %a "$tmp/real/p.svg")" = 640 ]
verdict $? a_link_and_the_mode_of_its_file_stay "$(ls -l "$tmp/real")"

# ---- No output overwrites an input, under any of its names
spared() { # spared NAME INPUT ARGS...: refused with exit code 2, and the input is what it was
  name=$1 input=$2
  shift 2
  before=$(sha256sum <"$input")
  timeout 600 "$zp" "$@" >"$tmp/out" 2>&1 </dev/null
  got=$?
  [ "$got" -eq 2 ] && grep -q 'would overwrite the input' "$tmp/out" &&
    [ "$before" = "$(sha256sum <"$input")" ]
  verdict $? "spares_$name" "exit code $got: $(head -c 300 "$tmp/out" | tr '\n' ' ')"
}
rm -rf "$tmp/in" && mkdir "$tmp/in" && cp "$tmp/text" "$tmp/in/data"
echo '{"pp": 2}' >"$tmp/in/config"
"$zp" train $small --save "$tmp/in/saved" >"$tmp/out" 2>&1
for file in data config; do
  ln "$tmp/in/$file" "$tmp/in/$file.hard"
  ln -s "$file" "$tmp/in/$file.soft"
done
cp -r "$tmp/run" "$tmp/in/run"
for way in "" .hard .soft; do
  spared "data_from_plot$way" "$tmp/in/data" train $small --data "$tmp/in/data" \
    --plot "$tmp/in/data$way"
  spared "config_from_plot$way" "$tmp/in/config" train $small --config "$tmp/in/config" \
    --plot "$tmp/in/config$way"
  for to in svg trace; do
    spared "config_from_plan_$to$way" "$tmp/in/config" plan --config "$tmp/in/config" \
      "--$to" "$tmp/in/config$way"
    [ -z "$cuda" ] || spared "config_from_sim_$to$way" "$tmp/in/config" sim --engine cuda \
      --config "$tmp/in/config" "--$to" "$tmp/in/config$way"
  done
done
spared trace_from_out "$tmp/in/run/rank-0.zpt" trace view "$tmp/in/run" --out \
  "$tmp/in/run/rank-0.zpt"
spared trace_from_out_by_another_name "$tmp/in/run/rank-1.zpt" trace view "$tmp/in/run" --out \
  "$tmp/in/../in/run//rank-1.zpt"
for file in LATEST LOCK.job step-1/manifest.json step-1/rank-0.bin; do
  spared "checkpoint_from_plot_$file" "$tmp/in/saved/$file" train $small \
    --load "$tmp/in/saved" --plot "$tmp/in/saved/$file"
done
cp "$tmp/text" "$tmp/in/saved/LATEST"
spared data_from_save "$tmp/in/saved/LATEST" train $small --data "$tmp/in/saved/LATEST" \
  --save "$tmp/in/saved"
for again in 1 2; do # an output of its own in the input's folder
  expect 0 'wrote' "trace_view_beside_the_traces_$again" trace view "$tmp/in/run" --out \
    "$tmp/in/run/view.json"
done

# ---- No output overwrites another one
"$zp" train $small --save "$tmp/in/own" >"$tmp/out" 2>&1
ln -s own "$tmp/in/own.soft"
for name in LATEST LATEST.tmp LOCK.job rank-0.json step-2 step-1/manifest.json; do
  expect 2 'checkpoints in .*/own use this name; name another' "a_plot_is_no_checkpoint_$name" \
    train $small --save "$tmp/in/own" --plot "$tmp/in/own.soft/$name"
done
expect 0 'bits' "the_checkpoint_beside_a_refused_plot_loads" train $small --load "$tmp/in/own" \
  --json
expect 0 'bits' "a_plot_may_be_beside_the_checkpoint" train $small --save "$tmp/in/own" \
  --plot "$tmp/in/own/loss.svg" --json
for other in both ../in/both; do
  expect 2 '--trace .*both and --svg .*both are one file' "two_outputs_are_two_files_$other" \
    plan --pp 2 --trace "$tmp/in/both" --svg "$tmp/in/$other"
done
expect 0 . two_outputs_may_be_one_device plan --pp 2 --trace /dev/null --svg /dev/null

# ---- Texts from outside do not control the terminal or the page
esc=$(printf '\033') rtl=$(printf '\342\200\256') c1=$(printf '\302\233') byte=$(printf '\233')
bad_text="${esc}[2J$rtl$c1$byte"
harmless() { # harmless NAME FILE: no control or bidirectional character in it
  LC_ALL=C grep -qa "$esc\|$rtl\|$c1\|$byte" "$2"
  verdict $((! $?)) "$1" "$(LC_ALL=C grep -am1 "$esc\|$rtl\|$c1\|$byte" "$2" | head -c 200 | od -c)"
}
said() { # said NAME ARGS...: the text appears escaped, in both streams
  name=$1
  shift
  timeout 600 "$zp" "$@" >"$tmp/out" 2>&1 </dev/null
  harmless "terminal_$name" "$tmp/out"
  grep -qiF '\u001b[2J\u202e\u009b' "$tmp/out"
  verdict $? "escaped_$name" "$(head -c 300 "$tmp/out" | tr '\n' ' ')"
}
said option_value plan --pp "$bad_text"
said option plan "--$bad_text"
said command "$bad_text"
said data train --data "$tmp/$bad_text"
said load train $small --load "$tmp/$bad_text"
said plot train $small --plot "$tmp/none/$bad_text"
said svg plan --svg "$tmp/none/$bad_text"
said wrote plan --pp 2 --svg "$tmp/$bad_text"
said wrote_json plan --pp 2 --json --svg "$tmp/${esc}[2J$rtl$c1"
said trace trace check "$tmp/$bad_text"
said recipe cases "${esc}[2J$rtl$c1"
expect 2 'is not a field with a value' a_recipe_that_is_not_utf8 cases "$bad_text"
said fault sim --fault "$bad_text"
said engine_case sim --case "$bad_text=1"
said oracle oracle "$tmp/$bad_text"
printf '{"params": [{"name": "%s", "numel": 5, "stage": 9}]}' '\u001b[2J\u202e\u009b' \
  >"$tmp/config"
said name_in_json plan --config "$tmp/config"
printf '{"%s": 1}' '\u001b[2J\u202e\u009b' >"$tmp/config"
said key_in_json plan --config "$tmp/config"
printf '{"params": [{"name": "%s", "numel": 5}]}' '\u001b[2J\u202e\u009b' >"$tmp/config"
said name_in_output plan --config "$tmp/config" --rank 0 --shards
# the name of a group in a trace, in the findings and in the page
cp -r "$tmp/run" "$tmp/evil"
word=$(LC_ALL=C strings -n 3 "$tmp/run/rank-0.zpt" | grep -m1 -x '[a-z_]\{3,9\}' || echo none)
LC_ALL=C sed -i "s/$word/${esc}[2$rtl/" "$tmp/evil/rank-0.zpt"
for what in "check $tmp/evil" "check $tmp/evil --json" "view $tmp/evil --out $tmp/view.json"; do
  timeout 600 "$zp" trace $what >"$tmp/out" 2>&1
  harmless "terminal_trace_${what%% *}" "$tmp/out"
done
harmless page_trace_view "$tmp/view.json"

# ---- The adapter's ledgers
mkdir "$tmp/ledgers"
ln -s /dev/full "$tmp/ledgers/rank-1.jsonl"
"$zp" cases "dp=2,pp=1,M=1,steps=1,list=5@0.0" 2>"$tmp/out" |
  jq -c --arg to "$tmp/ledgers" '{do: "run", case: ., ledgers: $to}' >"$tmp/request"
"$zp" adapter <"$tmp/request" >"$tmp/answer"
jq -e '.status == "error" and (.message | contains("ledger"))' "$tmp/answer" >"$tmp/jq" 2>&1
verdict $? a_ledger_on_a_full_device_is_an_error "$(head -c 300 "$tmp/answer" "$tmp/out")"

# ---- Standard output
echo '{"do":"hello"}' >"$tmp/hello"
stdout_fails() { # stdout_fails NAME ARGS...: full, closed and limited
  name=$1
  shift
  timeout 600 "$zp" "$@" >/dev/full 2>"$tmp/out" <"$tmp/hello"
  got=$?
  failed_with "${name}_with_full_output" "standard output could not be written"
  timeout 600 "$zp" "$@" >&- 2>"$tmp/out" <"$tmp/hello"
  got=$?
  failed_with "${name}_with_closed_output" "standard output could not be written"
}
for command in $("$zp" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^help$'); do
  case $command in check | report | explain) continue ;; esac # the judge's own tests
  stdout_fails "help_of_$command" "$command" --help
done
stdout_fails help help
stdout_fails version --version
stdout_fails train train $small
stdout_fails plan plan --pp 2
stdout_fails plan_json plan --pp 2 --json
stdout_fails sim sim --case "$case"
stdout_fails sim_list sim --fault list
stdout_fails fuzz fuzz --cases 1
stdout_fails cases cases --random 1
stdout_fails adapter adapter
stdout_fails trace_check trace check "$tmp/run"
stdout_fails trace_view trace view "$tmp/run" --out "$tmp/view.json"
timeout 600 "$zp" check --help >&- 2>"$tmp/out"
got=$?
failed_with check_with_closed_output "standard output"
# a closed descriptor is not taken by a file that is opened later
for closed in '0<&-' '1>&-' '2>&-'; do
  rm -rf "$tmp/files" && mkdir "$tmp/files"
  eval "timeout 600 \"$zp\" train $small --save $tmp/files/c $closed" >"$tmp/out" 2>&1
  "$zp" train $small --load "$tmp/files/c" >"$tmp/out" 2>&1
  verdict $? "a_checkpoint_without_descriptor_${closed%%[<>]*}" "$(head -c 300 "$tmp/out")"
done
finish
