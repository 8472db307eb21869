# Every option that writes, and standard output: a full disk, a limit of the file's size and a name
# with special characters are errors with the file's name and exit code 3, or data; the old file
# stays. The options are those of --help. spec: CKPT-2, CKPT-7
# inputs: build/zeroproof build/zeroproof-simdev build/tests/drivers/trace/trace_gen_driver
# inputs: tests/fixtures/lib.sh LICENSE spec/*.md conformance/judge/*
. tests/fixtures/lib.sh

small="--layers 1 --d-model 8 --heads 1 --context 8 --batch 1 --steps 1 --sample 0 --dp 1 --pp 1"
small="$small --micro-batches 1 --data $tmp/text"
head -c 3000 LICENSE >"$tmp/text"
case="pp=1,dp=1,M=1,stage=0,bucket=4,steps=1,list=5@0.0"
command -v gnuplot >/dev/null && plot=train:--plot || plot=
[ -n "$plot" ] || echo "not run: gnuplot is not installed, so train --plot is not tested"

# ---- The table: what each option with a file or a folder is for. One that is missing fails.
writes="$plot train:--save plan:--svg plan:--trace sim:--svg sim:--trace fuzz:--svg fuzz:--trace
  trace:--out"
# in none of these commands does the option write: refused, or without effect
silent="train:--svg train:--trace adapter:--svg adapter:--trace"
judge="check:--out check:--log" # tests/conformance/judge
reads="train:--data train:--load train:--config plan:--config sim:--config check:--quick
  check:--known check:--support"
for command in $("$zp" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^help$'); do
  "$zp" "$command" --help >"$tmp/help" 2>&1
  grep -oE -e '--[a-z-]+(\[=|=)(FILE|DIR|PATH|OUT)' "$tmp/help" | sed 's/\[*=.*//' | sort -u |
    sed "s/^/$command:/"
done >"$tmp/found"
for one in $(cat "$tmp/found"); do
  case " $(echo $writes $silent $judge $reads train:--plot) " in
  *" $one "*) ;;
  *) verdict 1 "every_option_with_a_file_is_in_the_table" "$one: add it to $0" ;;
  esac
done
for one in $writes $silent $judge $reads; do
  grep -qx -e "$one" "$tmp/found"
  verdict $? "help_has_$one" "the table in $0 has an option that --help lacks"
done

# ---- Runs of them
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
  [ "$command" = check ] && continue # the judge's own test
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
