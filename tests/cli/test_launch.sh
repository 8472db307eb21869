# train as MPI processes: the bits of the simulation, refusals on every process. spec: RED-4, RED-5
. tests/cli/lib.sh
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" # Open MPI's own, at exit

small="--layers 2 --d-model 16 --heads 2 --context 16 --batch 1 --steps 3 --sample 0"
head -c 3000 Makefile >"$tmp/text"
bits() { timeout 120 "$zp" "$@" --json 2>"$tmp/err" | jq -r .bits; }
for shape in "3 2 2 exact bf16" "2 3 1 ordered fp16" "6 1 0 exact fp32"; do
  set -- $shape
  set -- train --data "$tmp/text" $small --dp "$1" --pp "$2" --stage "$3" --reduce "$4" \
    --precision "$5" --bucket 500
  a=$(bits "$@")
  b=$(bits launch -n 6 "$@")
  [ -n "$a" ] && [ "$a" = "$b" ]
  verdict $? "six_processes_give_the_bits_of_the_simulation_$(echo "$shape" | tr ' ' _)" \
    "$a and $b $(head -c 200 "$tmp/err")"
done
json verify_under_mpi '.verify.ok' \
  launch -n 4 train --data "$tmp/text" $small --dp 2 --pp 2 --verify --json
expect 2 'this MPI job has 3 processes' wrong_number_of_processes \
  launch -n 3 train --data "$tmp/text" $small --dp 2 --pp 2
expect 0 'continues at step 3' save_under_mpi \
  launch -n 4 train --data "$tmp/text" $small --dp 2 --pp 2 --save "$tmp/ck"
a=$(bits train --data "$tmp/text" $small --dp 1 --pp 1 --load "$tmp/ck")
b=$(bits launch -n 6 train --data "$tmp/text" $small --dp 3 --pp 2 --load "$tmp/ck")
[ -n "$a" ] && [ "$a" = "$b" ]
verdict $? mpi_continues_what_mpi_saved "$a and $b"
expect 3 'no checkpoint' load_missing_under_mpi \
  launch -n 2 train --data "$tmp/text" $small --dp 2 --pp 1 --load "$tmp/none"
expect 2 '--tp 2' refusal_under_mpi launch -n 2 train --tp 2
finish
