# train: equal to serial and to other topologies, its document, its refusals. spec: RED-4, RED-5
# inputs: build/zeroproof build/tests/drivers/cli/wrong_train_driver tests/fixtures/lib.sh LICENSE
# inputs: spec/*.md
. tests/fixtures/lib.sh

small="--layers 2 --d-model 16 --heads 2 --context 16 --batch 1 --steps 4 --sample 20"
head -c 3000 LICENSE >"$tmp/text"
for reduce in ordered exact; do
  for precision in fp32 bf16 fp16; do
    for stage in 0 1 2; do
      json "verify_${precision}_${reduce}_stage_$stage" '.verify.ok and .verify.runs[0].equal' \
        train --data "$tmp/text" $small --verify --json --reduce $reduce --precision $precision \
        --stage $stage --dp 3 --pp 2 --bucket 300
    done
  done
done
json fp32_norms_beside_bf16 '.verify | .ok and .topologies_equal >= 6 and .runs[0].equal' \
  train --data "$tmp/text" $small --verify --json --precision bf16 --fp32-norms
# A checkpoint's file has fp32 masters. It loads under other dtypes, which a note names. Under its
# own, in another topology, it continues the uninterrupted run.
norms="train --data $tmp/text $small --precision bf16 --stage 2"
final() { "$zp" $norms "$@" 2>"$tmp/err" | grep '^hash of the final state'; }
whole=$(final --fp32-norms --dp 2 --micro-batches 6)
final --fp32-norms --dp 2 --micro-batches 6 --steps 2 --save "$tmp/norms" >"$tmp/half"
rest=$(final --fp32-norms --dp 3 --micro-batches 4 --pp 2 --steps 2 --load "$tmp/norms")
[ -n "$whole" ] && [ "$whole" = "$rest" ]
verdict $? fp32_norms_continue_from_a_file "$whole, $rest, $(cat "$tmp/err")"
# No result depends on where entries start in flat groups, nor does a checkpoint. spec: PART-2
for align in 1 3 4096; do
  whole_here=$(final --fp32-norms --dp 2 --micro-batches 6 --entry-align $align)
  rest=$(final --fp32-norms --dp 2 --micro-batches 6 --steps 2 --load "$tmp/norms" \
    --entry-align $align)
  [ -n "$whole" ] && [ "$whole" = "$whole_here" ] && [ "$whole" = "$rest" ]
  verdict $? "entry_alignment_changes_no_bit_$align" "$whole, $whole_here, $rest"
done
expect 0 'note: fp32_norms is false and was true' fp32_norms_load_as_bf16 $norms --steps 1 \
  --load "$tmp/norms"
json six_other_topologies '.verify.topologies_equal >= 6 and .verify.ledgers_agree' \
  train --data "$tmp/text" $small --verify --json
for batch in "7 3" "1 1" "1 2" "2 1" "1 23" "5 1"; do # dp and micro-batches
  set -- $batch
  json "six_others_whatever_the_batch_${1}_$2" "(.verify | .ok and .topologies_equal >= 6
    and .dp_varies == ($1 * $2 > 1) and (.dp_varies == any(.runs[]; .dp != $1)))
    and ([.verify.runs[1:][] | [.dp, .pp, .stage, .bucket]] | length == (unique | length)
         and all(.[]; . != [$1, 2, 2, 4096] and $1 * $2 % .[0] == 0))" \
    train --data "$tmp/text" $small --steps 1 --verify --json --dp "$1" --micro-batches "$2"
done
expect 0 '7 other configurations of the same global batch; 7 of 7 are equal' \
  the_verdict_says_what_was_compared \
  train --data "$tmp/text" $small --steps 1 --verify --dp 1 --micro-batches 1
expect 0 'dp does not vary: a global batch of 1 micro-batch' the_verdict_says_what_was_not \
  train --data "$tmp/text" $small --steps 1 --verify --dp 1 --micro-batches 1
json two_replicas_of_two '.verify | .ok and .replicas_equal and .topologies_equal >= 6' \
  train --data "$tmp/text" $small --verify --json --pp 1 --dp 4 --replicas 2
json two_replicas_in_order '.verify | .ok and .replicas_equal' train --data "$tmp/text" $small \
  --verify --json --pp 2 --dp 2 --replicas 2 --stage 1 --reduce ordered
json shapes_that_vary '.verify.ok' \
  train --data "$tmp/text" $small --verify --json --vary-shapes --tuple --pp 3
json skips_and_growth \
  '.verify.ok and ([.steps[].skipped] | any) and ([.steps[].log2_scale] | max > min)' \
  train --data "$tmp/text" --layers 1 --d-model 8 --heads 1 --context 8 --batch 1 --steps 12 \
  --sample 0 --verify --json --precision fp16 --loss-scale dynamic:init=16777216,window=2
json static_scale '[.steps[].log2_scale] | unique == [3]' \
  train --data "$tmp/text" $small --json --loss-scale 8
json bits_do_not_depend_on_files '.bits' train --data "$tmp/text" $small --json
expect 0 '^hash of the run' text_output train --data "$tmp/text" $small

expect 2 'sim' tp_is_refused train --tp 2
expect 2 'sim' ep_is_refused train --ep 2 --dp 2
expect 2 'No such file' data_missing train --data "$tmp/none"
expect 2 'directory' data_directory train --data /
expect 2 'readable' data_device train --data /dev/zero
mkfifo "$tmp/fifo"
expect 2 'not a regular file' data_fifo_is_refused_at_once train --data "$tmp/fifo"
printf 'abc' >"$tmp/short"
expect 2 'too few' data_too_short train --data "$tmp/short"
: >"$tmp/empty"
expect 2 'too few' data_empty train --data "$tmp/empty"
head -c 5000 /dev/urandom >"$tmp/noise"
expect 0 '^hash of the run' data_binary train --data "$tmp/noise" $small
expect 2 'after --data' stray_argument train stray
expect 2 'layers' layers_zero train --layers 0
expect 2 'heads' heads_do_not_divide train --d-model 10 --heads 3
expect 2 'cut into' pp_too_large train --pp 99
expect 2 'memory' absurd_model train --layers 128 --d-model 2048 --batch 256 --context 2048
expect 2 'memory' absurd_ranks train --dp 1000 --micro-batches 1048576
for schedule in cos:1,2 linear:1 linear:1,2,x linear:1,2,-1 cosine:1,2,nan linear:,2; do
  expect 2 'is not a schedule; write .*cosine:100,2000,0.1' "no_schedule_$schedule" \
    train --schedule "$schedule"
done
expect 2 'TOTAL is out of range; allowed is 1 to 1000000000' schedule_total_zero \
  train --schedule linear:0,0
expect 2 'TOTAL is out of range' schedule_total_too_large train --schedule linear:0,1000000001
expect 2 'WARMUP .*allowed is 0 to 4' schedule_all_warm_up train --schedule cosine:5,5
expect 2 'FLOOR is a fraction' schedule_floor_above_one train --schedule cosine:1,5,1.5
expect 2 'FLOOR is a fraction' schedule_floor_too_small train --schedule cosine:1,5,1e-10
expect 2 'save' save_every_alone train --save-every 2
printf '{"params":[{"numel":1}]}' >"$tmp/c.json"
expect 2 'own parameter list' config_params train --config "$tmp/c.json"

if command -v gnuplot >/dev/null; then
  expect 0 'wrote' plot train --data "$tmp/text" $small --plot "$tmp/it's.svg"
  grep -q '</svg>' "$tmp/it's.svg"
  verdict $? plot_is_svg
fi
expect 3 'No such file' plot_unwritable train --data "$tmp/text" $small --plot "$tmp/none/p.svg"

mkdir "$tmp/bin" # a PATH without gnuplot
for t in sh timeout grep; do ln -s "$(command -v $t)" "$tmp/bin/$t"; done
PATH=$tmp/bin "$zp" train --data "$tmp/text" $small --plot "$tmp/p.svg" >"$tmp/out" 2>&1
got=$?
[ $got -eq 3 ] && grep -q 'gnuplot-nox' "$tmp/out"
verdict $? plot_without_gnuplot "exit code $got"

# gnuplot that fails: the verdict of --verify is printed before it runs, and the exit code of a
# failed verification wins.
wrong=${zp%/*}/tests/drivers/cli/wrong_train_driver
plot_with() { # plot_with GNUPLOT PROGRAM ARGS...: gnuplot is a shell script; exit code in $got
  printf '#!/bin/sh\n%s\n' "$1" >"$tmp/fake/gnuplot"
  chmod +x "$tmp/fake/gnuplot"
  shift
  PATH=$tmp/fake:$PATH timeout 600 "$@" train --engine "$engine" --data "$tmp/text" $small \
    --verify --plot "$tmp/fake/p.svg" $json >"$tmp/out" 2>"$tmp/err" </dev/null
  got=$?
}
mkdir "$tmp/fake"
for json in "" --json; do
  engine=ref
  plot_with 'exit 1' "$zp"
  [ $got -eq 3 ] && grep -qE '^Verified|"ok": true' "$tmp/out" &&
    grep -q 'gnuplot failed' "$tmp/err"
  verdict $? "a_failed_plot_hides_no_verdict${json:+_json}" \
    "exit code $got: $(tail -n 3 "$tmp/out" "$tmp/err")"
  engine=cuda
  plot_with 'exit 1' "$wrong"
  [ $got -eq 1 ] && grep -qE '^FAILED|"ok": false' "$tmp/out" &&
    grep -q 'gnuplot failed' "$tmp/err"
  verdict $? "a_failed_plot_hides_no_failed_verification${json:+_json}" \
    "exit code $got: $(tail -n 3 "$tmp/out" "$tmp/err")"
  # the stand-in for gnuplot copies what has been printed when it runs
  engine=ref
  plot_with "cat '$tmp/out' >'$tmp/before'; exit 1" "$zp"
  cmp -s "$tmp/out" "$tmp/before" && grep -qE '^Verified|"ok": true' "$tmp/before"
  verdict $? "the_verdict_is_printed_before_the_plot${json:+_json}" "$(tail -n 3 "$tmp/before")"
done

# Checkpoints: save, load under another topology, stage and bucket size, continue.
whole=$("$zp" train --data "$tmp/text" $small --steps 6 --json | jq -r .end_bits)
expect 0 'continues at step 3' save train --data "$tmp/text" $small --steps 3 --save "$tmp/ck"
continued() { # continued CHECKPOINT NAME: other topologies end in the bits of $whole
  for shape in "1 1 0" "3 2 1" "4 3 2"; do
    checkpoint=$1 name=$2
    set -- $shape
    part=$("$zp" train --data "$tmp/text" $small --steps 3 --load "$checkpoint" --dp "$1" \
      --pp "$2" --stage "$3" --bucket 111 --json | jq -r .end_bits)
    [ -n "$whole" ] && [ "$whole" = "$part" ]
    verdict $? "${name}_under_$1_$2_$3" "$whole and $part"
    set -- "$checkpoint" "$name"
  done
}
continued "$tmp/ck" ends_in_the_uninterrupted_bits
json continued_equals_serial '.verify.ok' \
  train --data "$tmp/text" $small --steps 3 --load "$tmp/ck" --verify --json
expect 2 'another model' load_other_model \
  train --data "$tmp/text" $small --layers 3 --load "$tmp/ck"
expect 0 'not the uninterrupted run' load_other_seed \
  train --data "$tmp/text" $small --seed 9 --load "$tmp/ck"
for change in "seed:--seed 9" "precision:--precision fp32" "reduce:--reduce ordered" \
  "optimizer:--lr 0.5" "clip:--clip 0.25" "micro_batches:--micro-batches 3"; do
  expect 0 "note: (.*, )?${change%%:*} is .* and was .*not the uninterrupted run" \
    "load_remarks_upon_another_${change%%:*}" \
    train --data "$tmp/text" $small --load "$tmp/ck" ${change#*:}
done
expect 0 'note: --loss-scale has no effect with --load: .*dynamic, now 2\^16' \
  load_says_that_the_scaler_is_the_checkpoints \
  train --data "$tmp/text" $small --load "$tmp/ck" --loss-scale 8
expect 0 '^ +4 .* 65536 ' the_scaler_of_the_checkpoint_continues \
  train --data "$tmp/text" $small --load "$tmp/ck" --loss-scale 8
"$zp" train --data "$tmp/text" $small --load "$tmp/ck" >"$tmp/out" 2>&1
! grep -q 'note:' "$tmp/out"
verdict $? load_of_the_same_run_has_no_remark "$(grep -m1 note: "$tmp/out")"
# Learning rates that follow a schedule; a checkpoint has it, with the other hyperparameters.
for schedule in cosine:2,6,0.1 linear:0,5; do
  kind=${schedule%%:*}
  json "${kind}_equals_serial_and_other_topologies" \
    '.verify | .ok and .runs[0].equal and .topologies_equal >= 6' \
    train --data "$tmp/text" $small --steps 6 --verify --json --schedule $schedule
done
json the_rates_are_those_of_the_schedule \
  '[.steps[].lr[0]] == [0, 0.5, 1, 0.75, 0.5, 0.25, 0, 0] and all(.steps[].lr; length == 3)' \
  train --data "$tmp/text" $small --steps 8 --lr 1 --json --schedule linear:2,6
printf '{"optimizer": [{"kind": "sgd", "lr": 0.5, "momentum": 0.75}, {"lr": 0.25}],
  "clip": 0.5, "clip_eps": 0.001}' >"$tmp/h.json"
json each_optimizer_has_its_own_peak '[.steps[].lr] == [[0, 0], [0.5, 0.25], [0.25, 0.125]]' \
  train --data "$tmp/text" $small --steps 3 --json --config "$tmp/h.json" --schedule linear:1,3
expect 0 '^ +1 .* 5\.00000e-01$' the_table_has_the_rate \
  train --data "$tmp/text" $small --lr 1 --schedule linear:2,6
hyper="--config $tmp/h.json --schedule cosine:1,5,0.25"
whole=$("$zp" train --data "$tmp/text" $small --steps 6 $hyper --json | jq -r .end_bits)
expect 0 'continues at step 3' save_with_hyperparameters \
  train --data "$tmp/text" $small --steps 3 $hyper --save "$tmp/hyper"
continued "$tmp/hyper" hyperparameters_continue
json continued_schedule_equals_serial '.verify.ok' \
  train --data "$tmp/text" $small --steps 3 --load "$tmp/hyper" --verify --json
for change in "optimizer:--lr 0.125" "clip:--clip 0.25" "schedule:--schedule constant"; do
  expect 0 "note: ${change%%:*} is .* and was .*; so this is not the uninterrupted run" \
    "an_option_replaces_the_saved_${change%%:*}" \
    train --data "$tmp/text" $small --load "$tmp/hyper" ${change#*:}
done
json an_option_changes_no_other_hyperparameter '.steps[0].lr == [0.078125, 0.078125]' \
  train --data "$tmp/text" $small --steps 1 --load "$tmp/hyper" --lr 0.125 --json
# A place that cannot be written is found before the first step, and nothing is left behind.
# not_trained NAME: nothing of a run is in the output of the last `expect`.
not_trained() {
  ! grep -qE 'parameters|skipped|hash of' "$tmp/out"
  verdict $? "$1" "it trained: $(head -c 200 "$tmp/out" | tr '\n' ' ')"
}
expect 2 'none' load_missing train --data "$tmp/text" $small --load "$tmp/none"
not_trained load_missing_is_all_that_is_reported
expect 3 '--save .*No such file.*Nothing was trained' save_nowhere \
  train --data "$tmp/text" $small --save "$tmp/none/deeper"
not_trained save_nowhere_is_found_first
expect 3 '--save .*Not a directory' save_into_a_file \
  train --data "$tmp/text" $small --save "$tmp/text"
not_trained save_into_a_file_is_found_first
expect 3 '--plot .*No such file' plot_nowhere \
  train --data "$tmp/text" $small --save "$tmp/fresh" --plot "$tmp/none/p.svg"
not_trained plot_nowhere_is_found_first
[ ! -e "$tmp/fresh" ]
verdict $? a_refused_plot_leaves_no_file
expect 3 '--save' plot_is_fine_and_save_is_not \
  train --data "$tmp/text" $small --plot "$tmp/fresh.svg" --save "$tmp/none/deeper"
[ ! -e "$tmp/fresh.svg" ]
verdict $? a_refused_save_leaves_no_file
for f in LATEST step-3/manifest.json step-3/rank-0.bin; do
  cp -r "$tmp/ck" "$tmp/cut"
  head -c $(($(wc -c <"$tmp/ck/$f") / 2)) "$tmp/ck/$f" >"$tmp/cut/$f"
  expect 2 '.' "load_truncated_$(basename $f)" train --data "$tmp/text" $small --load "$tmp/cut"
  not_trained "load_truncated_$(basename $f)_is_all_that_is_reported"
  rm -rf "$tmp/cut"
  cp -r "$tmp/ck" "$tmp/cut"
  printf 'X' | dd of="$tmp/cut/$f" bs=1 seek=20 conv=notrunc 2>/dev/null
  expect 2 '.' "load_altered_$(basename $f)" train --data "$tmp/text" $small --load "$tmp/cut"
  not_trained "load_altered_$(basename $f)_is_all_that_is_reported"
  rm -rf "$tmp/cut"
done

json env_json '.build.zeroproof and .system.kernel and .libraries.jansson' env --json
expect 0 'cpu features' env_text env
finish
