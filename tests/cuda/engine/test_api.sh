# The public engine on CUDA: programs written for it, unchanged, as all ranks of one simulation,
# have the bits of the reference, and errors name every misuse. For devices, the programs are
# compiled and their symbols resolved. spec: STEP-2, STEP-3, STEP-9, RED-3, RED-5, RED-6, RED-7,
# STRM-4, STRM-11, STEP-11, LEDG-1, PIPE-6, CKPT-3, CKPT-6, CKPT-8, CKPT-10, OPT-7, STAT-6
# inputs: @make tests/fixtures/checkpoint_v1
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}
example=$build/tests/drivers/cuda/api_example
driver=$build/tests/drivers/cuda/api_driver
why=
complain() { why="$why${why:+; }$*"; }
law() { # law NAME: whether anything was found since the one before
  [ -z "$why" ]
  verdict $? "$1" "$(printf '%s' "$why" | head -c 1000 | tr '\n' ' ')"
  why=
}

# The reference's, of one process.
unset RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
reference() { # reference SOURCE: what it prints
  ${CC:-gcc} -std=c11 -I"$build/include" -I. "$1" -o "$tmp/ref" \
    ${SAN:+$([ "$SAN" = 1 ] && echo -fsanitize=address,undefined)} "$build/libzeroproof_mpi.a" \
    "$build/libzeroproof.a" $(pkg-config --libs ompi-c jansson libxxhash) -pthread -lm \
    >"$tmp/out" 2>&1 && ASAN_OPTIONS=detect_leaks=0 "$tmp/ref" 2>"$tmp/out"
}
reference ref/example/train.c | sort >"$tmp/want"
[ "$(wc -l <"$tmp/want")" -eq 105 ]
verdict $? example_runs_on_the_reference "$(head -5 "$tmp/out")"
grep -q "^EXAMPLE = \"$(LC_ALL=C sort "$tmp/want" | sha256sum | cut -d' ' -f1)\"\$" \
  cuda/gpu/nccl_ranks.py
verdict $? example_s_lines_are_those_that_gpu_check_waits_for "$(sha256sum <"$tmp/want")"
for run in 1 2 4 "2 pp" "4 pp"; do
  for seed in 0 1 2 3; do
    # shellcheck disable=SC2086
    set -- $run
    "$example" "$1" $seed ${2:-} 2>"$tmp/out" | sort | cmp -s - "$tmp/want" ||
      complain "seed $seed: $(head -c 500 "$tmp/out")"
  done
  law "example_has_the_reference_s_bits_with_$(echo "$run" | tr ' ' _)_processes"
done

# The caller's own loop: streams alone order the work. Each wait and record that the engine issues
# there is needed: without it some order gives another result, and ThreadSanitizer reports the
# first.
streams=$build/tests/drivers/cuda/api_streams
export TSAN_OPTIONS=symbolize=0
reference tests/drivers/cuda/api_streams.c >"$tmp/want"
[ "$(wc -l <"$tmp/want")" -eq 49 ] || complain "the reference: $(head -5 "$tmp/out")"
for run in "1 0" "1 1" "2 2" "2 3" "4 0" "4 5"; do
  # shellcheck disable=SC2086
  "$streams" $run 2>"$tmp/out" | cmp -s - "$tmp/want" || complain "$run: $(head -c 500 "$tmp/out")"
done
law own_loop_on_streams_has_the_reference_s_bits
for run in "1 0" "2 1"; do
  # shellcheck disable=SC2086
  "${streams}_tsan" $run 2>"$tmp/out" | cmp -s - "$tmp/want" ||
    complain "$run: $(head -c 500 "$tmp/out")"
done
law own_loop_on_streams_has_no_race
right() { "$streams" 1 "$1" 2>/dev/null | cmp -s - "$tmp/want"; } # right SEED:SITE
while read -r site seed; do # the seed of an order with another result; if it has none now, any
  if right $seed:$site; then
    seed=0
    while [ $seed -lt 2000 ] && right $seed:$site; do seed=$((seed + 1)); done
  fi
  [ $seed -lt 2000 ] || complain "no order gives another result"
  law "own_loop_without_${site}_has_a_wrong_result"
  "${streams}_tsan" 1 0:$site >/dev/null 2>"$tmp/out" && complain "nothing was reported"
  grep -q '^race: two accesses that nothing orders' "$tmp/out" ||
    complain "$(head -c 300 "$tmp/out")"
  law "own_loop_without_${site}_is_a_race"
done <<'X1'
caller_loss.record 561
caller_loss.wait 721
caller.record 69
finished.wait 45
resumed.wait 7
X1
for run in "4 0 dp=4 seed=5" "4 0 pp=2 dp=2 tied=1 seed=5 stage=1 state=1" \
  "2 2 dp=2 seed=5 offload=1 state=1" "3 1 dp=3 seed=4 stage=1 mb=3" \
  "4 2 pp=2 dp=2 mb=3 dynamic=1 seed=11" "3 1 dp=3 seed=5 partial=1 steps=6"; do
  # shellcheck disable=SC2086
  "${driver}_tsan" $run >"$tmp/out" 2>&1 || complain "$run: exit code $?: $(head -c 500 "$tmp/out")"
done
law public_functions_have_no_race

while read -r name ranks arguments; do
  for seed in 0 1 2 3; do
    # shellcheck disable=SC2086
    "$driver" "$ranks" $seed $arguments >"$tmp/out" 2>&1 ||
      complain "seed $seed: exit code $?: $(head -c 500 "$tmp/out")"
  done
  law "bits_of_comm_sim_$name"
done <<'X2'
alone 1 seed=1 mb=3
alone_with_callbacks 1 seed=2 callbacks=1 stage=1 reduce=0
unused_declared_in_forward 1 seed=2 callbacks=2 mb=4
unused_declared_in_forward_of_two_stages 4 pp=2 dp=2 mb=4 callbacks=2 seed=3
alone_in_the_caller_s_loop_stage_0 1 seed=3 stage=0 precision=2
four_replicas_in_the_caller_s_loop 4 dp=4 seed=5 reduce=0
three_replicas_in_the_caller_s_loop_stage_1 3 dp=3 seed=4 stage=1
four_replicas_in_fp32_with_callbacks 4 dp=4 seed=6 callbacks=1 precision=0
three_stages_of_two 6 pp=3 dp=2 tied=1 mb=4 seed=7
two_stages_ordered 4 pp=2 dp=2 stage=1 reduce=0 precision=2 seed=8
tensor_parallel_and_experts 4 dp=2 tp=2 ep=2 seed=9
three_stages_with_dynamic_shapes 3 pp=3 mb=5 seed=10 dynamic=1
two_stages_of_two_with_dynamic_shapes 4 pp=2 dp=2 mb=3 seed=11 dynamic=1 stage=1
two_blocks_of_two 4 dp=4 replicas=2 seed=15 stage=1
a_schedule_with_steps_in_flight 4 dp=4 stage=1 schedule=1 get=0 steps=6 seed=2
a_schedule_offloaded 2 dp=2 schedule=1 get=0 steps=6 seed=2 offload=1
a_schedule_in_two_stages 4 pp=2 dp=2 schedule=1 steps=6 seed=8 callbacks=1
state_of_entries_alone 1 seed=1 mb=3 state=1
state_of_entries_at_stage_0_in_fp32 3 dp=3 stage=0 seed=4 precision=0 state=1 mb=1
state_of_entries_at_stage_1_offloaded 2 dp=2 stage=1 seed=4 state=1 offload=1 get=0
state_of_entries_in_order_offloaded 4 pp=2 dp=2 reduce=0 seed=4 state=1 offload=1 tied=1
state_of_tied_and_frozen_entries 6 pp=3 dp=2 tied=1 mb=4 seed=6 state=1
state_of_tied_entries_of_one_stage 3 dp=3 tied=1 seed=6 state=1 bucket=6
state_of_replicas 4 dp=4 replicas=2 seed=14 stage=1 state=1 steps=5
state_of_experts_and_tp_ranks 4 dp=2 tp=2 ep=2 seed=8 state=1
state_after_a_skipped_step 2 dp=2 seed=5 steps=6 state=1
two_blocks_with_stages_and_tied_parameters 4 pp=2 dp=2 replicas=2 tied=1 seed=16
three_blocks_ordered 3 dp=3 replicas=3 reduce=0 precision=0 seed=17 callbacks=1
two_replicas_natively 2 dp=2 mb=1 reduce=0 native=1 seed=12
two_stages_where_losses_are_not_finite 4 pp=2 dp=2 seed=10 badloss=5
one_stage_where_losses_are_not_finite 2 dp=2 seed=4 badloss=2 reduce=0
gathers_apart_in_the_caller_s_loop 4 dp=4 seed=5 partial=1 steps=6 get=0
gathers_apart_at_stage_1_in_fp32 3 dp=3 seed=4 stage=1 precision=0 partial=1 reduce=0 steps=5
gathers_apart_in_two_stages_of_two 4 pp=2 dp=2 tied=1 seed=8 partial=1 state=1
gathers_apart_offloaded 2 dp=2 stage=1 seed=4 partial=1 offload=1 steps=6 get=0
X2
# by default NCCL adds, in an order of its own: with four replicas some seed has other bits
differing=0
for seed in 0 1 2 3; do
  "$driver" 4 $seed dp=4 mb=2 reduce=0 native=1 seed=13 precision=0 >"$tmp/out" 2>&1
  code=$?
  [ $code -le 1 ] || complain "seed $seed: exit code $code: $(head -c 300 "$tmp/out")"
  differing=$((differing + code))
done
[ $differing -gt 0 ] || complain "the spec's order"
law native_is_the_default

# A checkpoint of either engine is the other's, under any split.
ref="${build}/tests/drivers/mpi/engine_driver"
"$driver" 4 1 dp=4 mb=1 seed=12 "save=$tmp/ck" >"$tmp/out" 2>&1 || complain "$(cat "$tmp/out")"
"$driver" 4 2 pp=2 dp=2 mb=2 stage=0 bucket=30 seed=12 "load=$tmp/ck" >"$tmp/out" 2>&1 ||
  complain "in stages: $(head -c 500 "$tmp/out")"
"$ref" mb=4 seed=12 "load=$tmp/ck" >"$tmp/out" 2>&1 || complain "by ref: $(head -c 500 "$tmp/out")"
"$ref" mb=4 seed=12 "save=$tmp/ck.ref" >"$tmp/out" 2>&1 || complain "$(cat "$tmp/out")"
"$driver" 2 3 dp=2 mb=2 seed=12 "load=$tmp/ck.ref" >"$tmp/out" 2>&1 ||
  complain "of ref: $(head -c 500 "$tmp/out")"
"$driver" 4 1 dp=4 mb=1 seed=12 state=1 "save=$tmp/ck.state" >"$tmp/out" 2>&1 ||
  complain "written state: $(cat "$tmp/out")"
"$driver" 4 2 pp=2 dp=2 mb=2 bucket=30 seed=12 state=1 offload=1 "load=$tmp/ck.state" \
  >"$tmp/out" 2>&1 || complain "of written state: $(cat "$tmp/out")"
"$driver" 4 1 dp=4 mb=1 seed=12 schedule=1 "save=$tmp/ck.hyper" >"$tmp/out" 2>&1 ||
  complain "a schedule: $(cat "$tmp/out")"
"$driver" 2 2 dp=2 mb=2 seed=12 schedule=1 "load=$tmp/ck.hyper" >"$tmp/out" 2>&1 ||
  complain "its checkpoint: $(head -c 500 "$tmp/out")"
"$ref" mb=4 seed=12 schedule=1 "load=$tmp/ck.hyper" >"$tmp/out" 2>&1 ||
  complain "its checkpoint by ref: $(head -c 500 "$tmp/out")"
"$driver" 1 3 mb=2 seed=12 load=tests/fixtures/checkpoint_v1 >"$tmp/out" 2>&1 ||
  complain "the format without hyperparameters: $(head -c 500 "$tmp/out")"
law a_checkpoint_of_one_engine_continues_in_the_other
left='; the training state and the checkpoint before are unchanged'
for seed in 0 1; do
  "$driver" 4 $seed dp=4 mb=1 seed=12 "save=$tmp/ck.$seed" fault=unsaved rank=2 >"$tmp/out" 2>&1 ||
    complain "exit code $?: $(head -c 500 "$tmp/out")"
  grep -qE "^rank 2 .*saving after step .*/dev/null.*$left" "$tmp/out" || complain "no reason"
  others=$(grep -cE "^rank [013] .* the checkpoint failed on 1 other rank\(s\)$left" "$tmp/out")
  [ "$others" -eq 3 ] || complain "not all say it: $(cat "$tmp/out")"
  "$ref" mb=4 seed=12 "load=$tmp/ck.$seed" >"$tmp/out" 2>&1 || complain "by ref: $(cat "$tmp/out")"
done
law a_save_that_fails_on_one_rank_fails_on_all_and_the_run_continues
for seed in 0 1; do
  "$driver" 4 $seed dp=4 mb=1 seed=12 "save=$tmp/behind.$seed" fault=behind >"$tmp/out" 2>&1 ||
    complain "exit code $?: $(head -c 500 "$tmp/out")"
  "$ref" mb=4 seed=12 "load=$tmp/behind.$seed" >"$tmp/out" 2>&1 || complain "$(cat "$tmp/out")"
done
law a_save_in_the_background_has_the_state_of_its_step
for seed in 0 1; do
  "$driver" 4 $seed dp=4 mb=1 seed=12 "save=$tmp/full.$seed" fault=full rank=0 >"$tmp/out" 2>&1 ||
    complain "exit code $?: $(head -c 500 "$tmp/out")"
  grep -qE "^rank 0 .*saving after step .*rank-0.bin: File too large$left" "$tmp/out" ||
    complain "no reason: $(cat "$tmp/out")"
  "$ref" mb=4 seed=12 "load=$tmp/full.$seed" >"$tmp/out" 2>&1 || complain "$(cat "$tmp/out")"
done
law an_error_of_the_thread_fails_the_save_on_all_ranks_and_the_run_continues
"$driver" 4 0 dp=4 mb=1 seed=12 "load=$tmp/ck" fault=unloaded rank=2 >"$tmp/out" 2>&1
[ $? -eq 3 ] || complain "an exit code other than 3"
grep -q '^rank 2 .*/dev/null/no' "$tmp/out" || complain "no reason: $(cat "$tmp/out")"
others=$(grep -c 'the checkpoint failed on 1 other rank(s); what was being loaded' "$tmp/out")
[ "$others" -eq 3 ] || complain "not all say it: $(head -c 900 "$tmp/out")"
law a_load_that_fails_on_one_rank_ends_all

alone="$driver 1 0"
. tests/fixtures/wrong.sh
wrong calls 'options.transport: the CUDA engine communicates by NCCL; leave it NULL'
at='rank 0 \(stage 0, dp 0, tp 0\), step 1, program position [0-9]+'
wrong dtype "$at .*: the dtype of entry 4's gradient: got fp16, expected the entry's, bf16"
wrong short "$at .*: the gradient of entry 2: got a count of 24, expected 25, the entry.s elements"
wrong long "$at .*: the gradient of entry 4: got a count of 1, expected 0, the entry.s elements"
wrong short "$at .*: the gradient of entry 2: got a count of 24, expected 25" callbacks=1
wrong null "$at .*: the address of entry 2's gradient is NULL"
wrong entry "$at .*: entry 99 was announced for micro-batch 0: it is not a trained entry"
wrong frozen "$at .*: entry 1 was announced for micro-batch 0: it is not a trained entry"
wrong twice "$at .*: entry 2 was announced twice in micro-batch 0"
wrong twice "$at .*: entry 2 was announced twice in micro-batch 0" callbacks=1
wrong ahead "$at .*: entry 4 .* micro-batch 1, expected micro-batch 0, .* lacks 1 of .* entry 4's"
wrong early-ready "$at .*: entry 2 was announced twice in micro-batch 0" callbacks=1
wrong early-twice "$at .*: entry 2 was announced twice in micro-batch 0" callbacks=1
wrong early-ahead "$at .*: entry 2 .* micro-batch 1: no backward .*unused from its forward on" \
  callbacks=1
wrong past "$at .*: entry 4 .* micro-batch 7, expected micro-batch 0"
wrong forget "$at .*: the loss of micro-batch 1 was passed, expected that of micro-batch 0"
wrong forget "$at .*: 4 of 5 gradients .* micro-batch 0; the first one missing is entry 4" mb=1
wrong forget "$at .*: 4 of 5 gradients .* micro-batch 0; the first one .* is entry 4" callbacks=1
wrong step "$at .*: 4 of 5 gradients .* micro-batch 0; the first one missing is entry 4"
wrong late "$at .*: entry 0 .*: all micro-batches are complete; end the step first"
wrong late "$at.*: entry 0 .*: no backward is running; announce from within it" callbacks=1
wrong forward "$at .*: the model's forward failed" callbacks=1

# others R TEXT: of four ranks rank R says TEXT, and the others that it has failed
others() {
  [ "$code" -eq 3 ] || complain "exit code $code"
  grep -qE -e "^rank $1 .*$2" "$tmp/out" || complain "no '$2' in $(head -c 600 "$tmp/out")"
  for r in 0 1 2 3; do
    [ $r -eq "$1" ] || grep -qE "^rank $r .*rank $1 " "$tmp/out" ||
      complain "rank $r does not say it: $(head -c 2000 "$tmp/out")"
  done
}
"$ref" mb=4 seed=14 "save=$tmp/ck.other" >"$tmp/out" 2>&1 || complain "$(cat "$tmp/out")"
for seed in 0 1 2 3; do
  "$driver" 4 $seed dp=4 mb=1 seed=12 "load=$tmp/ck" fault=another rank=2 >"$tmp/out" 2>&1
  code=$?
  others 2 'finds another checkpoint than rank 0'
  for sum in "$(sed -n 's/^current step-2 //p' "$tmp/ck/LATEST")" \
    "$(sed -n 's/^current step-2 //p' "$tmp/ck.other/LATEST")"; do
    [ "$(grep -c "step 2 (checksum ${sum:-none})" "$tmp/out")" -eq 4 ] ||
      complain "not all ranks name $sum: $(head -c 900 "$tmp/out")"
  done
done
law another_checkpoint_on_one_rank_is_named_by_all
for seed in 0 1 2 3; do
  "$driver" 4 $seed dp=4 fault=twice rank=2 >"$tmp/out" 2>&1
  code=$?
  others 2 'was announced twice in micro-batch 0'
  law "a_misuse_of_rank_2_ends_all_ranks_seed_$seed"
  "$driver" 4 $seed dp=4 stage=1 partial=1 fault=unawaited rank=2 >"$tmp/out" 2>&1
  code=$?
  others 2 'nothing waited for entry 5 in this step'
  law "a_wait_that_rank_2_left_out_ends_all_ranks_seed_$seed"
  "$driver" 4 $seed dp=4 fault=config rank=3 >"$tmp/out" 2>&1
  code=$?
  grep -q '^  bucket: 17 here, 16 on rank 0' \
    "$tmp/out" ||
    complain "$(head -c 500 "$tmp/out")"
  law "another_configuration_on_one_rank_is_named_seed_$seed"
done

# Each rank names the rank that differs, by itself or with the text of a rank that noticed earlier.
while read -r name rank arguments; do
  for seed in 0 1 2 3; do
    # shellcheck disable=SC2086
    "$driver" 4 $seed $arguments schedule=1 seed=12 fault=hyper rank="$rank" >"$tmp/out" 2>&1
    [ $? -eq 3 ] || complain "seed $seed: an exit code other than 3"
    text="step 1: nothing was updated, as hyperparameters differ: rank $rank's from those of all"
    for r in 0 1 2 3; do
      grep -qE "^rank $r .*$text" "$tmp/out" ||
        complain "seed $seed: rank $r does not say it: $(head -c 900 "$tmp/out")"
    done
    changed=$(grep -m1 'differs from' "$tmp/out") && complain "seed $seed: $changed"
  done
  law "other_hyperparameters_on_one_rank_end_all_before_the_update_$name"
done <<'X3'
at_the_next_call 2 dp=4
with_two_steps_in_flight 2 dp=4 get=0 steps=6
when_rank_0_alone_waits_for_each_step 2 dp=4 get=2 steps=6
at_the_last_step 3 dp=4 get=0 steps=2
at_the_engine_s_end 2 dp=4 get=-1 steps=2
offloaded 1 dp=4 offload=1 get=0 steps=6
in_two_stages 0 pp=2 dp=2 callbacks=1 stage=1
X3

# For devices.
if ! sh cuda/kernels/nvcc.sh >"$tmp/nvcc" 2>"$tmp/why" || ! command -v g++ >/dev/null 2>&1; then
  echo "not run: no nvcc or no g++: $(tail -1 "$tmp/why")"
  finish
fi
# test_nvcc.sh compiles for the other architecture as well.
${MAKE:-make} --no-print-directory install-cuda SAN="${SAN:-0}" BUILD="$build" CC="${CC:-gcc}" \
  ARCHS=80 PREFIX="$tmp/usr" >"$tmp/out" 2>&1
verdict $? library_for_devices_is_installed "$(tail -3 "$tmp/out")"
export PKG_CONFIG_PATH="$tmp/usr/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
pkg-config --libs zeroproof-cuda | grep -q -- '-lzeroproof_cuda -lcudart -lzeroproof' &&
  pkg-config --static --libs zeroproof-cuda |
  grep -q -- '-lzeroproof_cuda -lcudart -lnccl -lcuda -lstdc++ .*-lzeroproof .*-ljansson'
verdict $? pkg_config_knows_it "$(pkg-config --static --libs zeroproof-cuda 2>&1)"
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
# shellcheck disable=SC2046,SC2086
${CC:-gcc} -std=c11 -Wall -Wextra -Werror -DCUDA $headers $(pkg-config --cflags zeroproof-cuda) \
  -c ref/example/train.c -o "$tmp/train.o" >"$tmp/out" 2>&1
verdict $? example_for_devices_compiles "$(head -3 "$tmp/out")"
# undefined symbols are CUDA's, NCCL's, C's, or C++'s
nm "$tmp/train.o" "$tmp/usr/lib/libzeroproof_cuda.a" "$tmp/usr/lib/libzeroproof.a" 2>/dev/null |
  awk '$1 == "U" { u[$2] = 1 } $2 ~ /^[TDBRVW]$/ { d[$3] = 1 }
    END { for (x in u) if (!d[x]) print x }' |
  grep -E '^(zp_|simdev_)' >"$tmp/missing"
[ ! -s "$tmp/missing" ]
verdict $? example_for_devices_has_every_symbol_of_ours "$(head -3 "$tmp/missing")"
# The shared library: what engine.h declares and libzeroproof.so lacks, and nothing else.
so=$tmp/usr/lib/libzeroproof_cuda.so
nm -D --defined-only "$tmp/usr/lib/libzeroproof.so" | awk '{ print $3 }' | sort >"$tmp/base"
grep -oE '\bzp_engine_[a-z0-9_]+\(' ref/engine/engine.h | tr -d '(' | sort -u |
  comm -23 - "$tmp/base" >"$tmp/declared"
nm -D --defined-only "$so" | awk '{ print $3 }' | sort >"$tmp/exported"
[ "$(wc -l <"$tmp/declared")" -ge 16 ] && cmp -s "$tmp/declared" "$tmp/exported"
verdict $? shared_library_exports_the_public_functions \
  "$(diff "$tmp/declared" "$tmp/exported" | head -5)"
[ "$(readlink "$so")" = libzeroproof_cuda.so.0 ] &&
  readelf -d "$so" | grep -q 'SONAME.*\[libzeroproof_cuda.so.0\]' &&
  ! readelf -d "$so" | grep -qE 'RPATH|RUNPATH'
verdict $? shared_library_has_a_soname_and_no_path "$(readelf -d "$so" | grep -E 'SONAME|PATH')"
needs=$(readelf -d "$so" | sed -nE 's/.*NEEDED.*\[(lib[a-z]+)\.so.*/\1/p' | sort | tr '\n' ' ')
for need in libcuda libcudart libnccl libzeroproof; do
  case " $needs" in *" $need "*) ;; *) complain "not $need" ;; esac
done
law shared_library_names_the_libraries_that_it_needs
# As on a machine without a device: the libraries of the driver and of NCCL are the stubs.
cudart=$(make -s cuda-runtime)
stubs=$(cd "$build/cuda/stubs" && pwd)
# shellcheck disable=SC2046
${CC:-gcc} ${SAN:+$([ "$SAN" = 1 ] && echo -fsanitize=address,undefined)} "$tmp/train.o" \
  -o "$tmp/train" -L"$cudart" $(pkg-config --libs zeroproof-cuda) -Wl,-rpath-link,"$stubs" \
  >"$tmp/out" 2>&1 &&
  LD_LIBRARY_PATH=$tmp/usr/lib:$stubs:$cudart "$tmp/train" >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -qE '^rank 0 .*CUDA error [0-9]+ \(.*\) from cuda' "$tmp/out"
verdict $? without_a_device_the_error_is_cuda_s "$(head -3 "$tmp/out")"
mkdir "$tmp/empty_nccl"
cp "$stubs/libcuda.so.1" "$tmp/empty_nccl"
LD_LIBRARY_PATH=$tmp/usr/lib:$tmp/empty_nccl:$cudart "$tmp/train" >"$tmp/out" 2>&1
code=$?
{ [ $code -eq 127 ] && grep -q 'libnccl.so.2: cannot open shared object file' "$tmp/out"; } ||
  ldconfig -p 2>/dev/null | grep -q libnccl.so.2
verdict $? without_nccl_the_loader_names_it "exit code $code: $(head -3 "$tmp/out")"
${MAKE:-make} --no-print-directory uninstall PREFIX="$tmp/usr" >"$tmp/out" 2>&1
left=$(find "$tmp/usr" -type f -o -type l)
[ -z "$left" ]
verdict $? uninstall_leaves_no_file_of_the_cuda_engine "$left"
finish
