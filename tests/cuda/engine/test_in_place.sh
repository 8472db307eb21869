# Gradients that are written where the engine adds them (zp_engine_grad_buffer): the bits of copied
# ones, on both engines; each wait that orders them is needed; misuse has an error; and a rule of
# the engine that is broken in a copy of its source is found. spec: PART-8, STRM-1, STRM-2
# inputs: @make build/tests/drivers/cuda/api_in_place* build/tests/drivers/cuda/api_run.o
# inputs: build/cuda/engine_cases/ranks.o
# inputs: cuda/engine ref tests/fixtures/lib.sh tests/drivers/cuda/api_in_place.c
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}
program=$build/tests/drivers/cuda/api_in_place
export TSAN_OPTIONS=symbolize=0
unset RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
cc=${CC:-gcc}

${cc} -std=c11 -I"$build/include" -I. tests/drivers/cuda/api_in_place.c -o "$tmp/ref" \
  ${SAN:+$([ "$SAN" = 1 ] && echo -fsanitize=address,undefined)} "$build/libzeroproof_mpi.a" \
  "$build/libzeroproof.a" $(pkg-config --libs ompi-c jansson libxxhash) -pthread -lm \
  >"$tmp/out" 2>&1
verdict $? the_program_links_with_the_reference "$(head -3 "$tmp/out")"
reference() { ASAN_OPTIONS=detect_leaks=0 "$tmp/ref" "$@"; }

# same NAME LENT RANKS SEED ARGUMENT...: copied gradients on the reference give the same bits as
# gradients in place on both, and so many of rank 0's were lent memory by the CUDA engine.
same() {
  name=$1 lent=$2 ranks=$3 seed=$4
  shift 4
  "$program" "$ranks" "$seed" "$@" >"$tmp/want" 2>"$tmp/out"
  [ "$(wc -l <"$tmp/want")" -eq 43 ] || lent=missing
  for seed in "$seed" $((seed + 1)) $((seed + 2)); do
    "$program" "$ranks" "$seed" ask=1 "$@" 2>"$tmp/err" | cmp - "$tmp/want" >>"$tmp/out" 2>&1 ||
      lent=other_bits
  done
  "${program}_tsan" "$ranks" "$seed" ask=1 "$@" 2>/dev/null | cmp - "$tmp/want" >>"$tmp/out" 2>&1 ||
    lent=other_bits_or_a_race
  if [ "$ranks" -eq 1 ]; then
    for ask in 0 1; do
      reference ask=$ask "$@" 2>/dev/null | cmp - "$tmp/want" >>"$tmp/out" 2>&1 ||
        lent=other_bits_on_the_reference
    done
  fi
  grep -q "^$lent were lent memory" "$tmp/err"
  verdict $? "$name" "$lent: $(cat "$tmp/out" "$tmp/err" | head -c 400 | tr '\n' ' ')"
}
same stage_0 '30 of 30' 1 0 stage=0
same stage_1 '30 of 30' 1 0 stage=1
same stage_1_with_four_micro_batches '60 of 60' 3 0 stage=1 mb=4
same stage_2_lends_where_an_entry_is_in_one_bucket '18 of 30' 1 0
same stage_2_with_four_micro_batches '36 of 60' 2 0 mb=4
same before_their_turn_at_stage_1 '30 of 30' 1 0 stage=1 ascending=1
same before_their_turn_at_stage_2_lends_where_the_slot_is_free '12 of 30' 1 0 ascending=1

same fp32_gradients_of_bf16_parameters_at_stage_1 '60 of 60' 1 0 stage=1 mb=4 bf16=1
same fp32_gradients_of_bf16_parameters_at_stage_2 '18 of 30' 1 0 bf16=1
same fp32_gradients_of_bf16_parameters_on_two_ranks '36 of 60' 2 0 mb=4 bf16=1
"$program" 1 0 bf16=2 >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q "got fp32, expected the entry's, bf16" "$tmp/out"
verdict $? another_dtype_is_refused "$(head -c 300 "$tmp/out" | tr '\n' ' ')"
reference bf16=2 >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q "the gradient is fp32, and the entry's dtype is bf16" "$tmp/out"
verdict $? another_dtype_is_refused_by_the_reference "$(head -c 300 "$tmp/out" | tr '\n' ' ')"

# Without one of these the program has a race.
race() { # race SITE ARGUMENT...
  site=$1
  shift
  "${program}_tsan" 1 "0:$site" ask=1 "$@" >/dev/null 2>"$tmp/out"
  grep -q '^race: two accesses that nothing orders' "$tmp/out"
  verdict $? "without_${site}_there_is_a_race" "$(head -c 300 "$tmp/out" | tr '\n' ' ')"
}
race copied.wait
race copied.record
race free.wait
race free.record

wrong() { # wrong FAULT PATTERN [OF_THE_REFERENCE]
  "$program" 1 0 ask=1 "fault=$1" >"$tmp/out" 2>&1
  [ $? -eq 3 ] && grep -q "$2" "$tmp/out"
  verdict $? "$1_is_refused" "$(head -c 400 "$tmp/out")"
  [ -n "${3:-}" ] || return
  reference ask=1 "fault=$1" >"$tmp/out" 2>&1
  [ $? -eq 3 ] && grep -q "$3" "$tmp/out"
  verdict $? "$1_is_refused_by_the_reference" "$(head -c 400 "$tmp/out")"
}
wrong elsewhere 'entry 4 was announced from elsewhere in micro-batch 1, after memory .* was lent'
wrong own 'entry 4 was announced from elsewhere in micro-batch 1, after memory .* was lent' \
  'entry 4 .* from elsewhere or as unused, after memory for its gradient was lent'
wrong stale "entry 4 in micro-batch 1 is in the engine's memory, which was not lent for it"
wrong twice 'entry 4 was announced twice in micro-batch 1' 'entry 4 .* that had been done before'
wrong entry 'entry 99 .* it is not a trained entry' 'entry 99 .* there is no such entry'
wrong unused 'entry 4 was declared unused in micro-batch 1, after memory .* was lent' \
  'entry 4 .* from elsewhere or as unused, after memory for its gradient was lent'

# Without room for all, gradients wait for no one: one that comes too early is an error.
"$program" 1 0 ascending=1 early=1 >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q "entry 1 in micro-batch 0 came too long before its turn" "$tmp/out" &&
  grep -q "that of entry 4 is awaited, and entry 0's is kept where it would go" "$tmp/out" &&
  grep -q 'early_bytes = 256' "$tmp/out"
verdict $? too_early "$(head -c 500 "$tmp/out")"
"$program" 1 0 early=-2 >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q 'options.early_bytes: -1, 0 or a number of bytes (it is -2)' "$tmp/out"
verdict $? a_size_below_minus_one_is_refused "$(head -c 500 "$tmp/out")"
"$program" 1 0 ascending=1 >"$tmp/want" 2>/dev/null
"$program" 1 0 ascending=1 early=1024 2>"$tmp/out" | cmp -s - "$tmp/want"
verdict $? room_for_four_of_five_suffices "$(head -c 500 "$tmp/out")"

# Not under sanitizers: this checks the tests.
[ "${SAN:-0}" = 1 ] && finish
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
broken() { # broken NAME SED ARGUMENT...: some seed has other bits, or an error
  name=$1
  sed "$2" cuda/engine/executor/gradients.c >"$tmp/gradients.c"
  shift 2
  if cmp -s cuda/engine/executor/gradients.c "$tmp/gradients.c"; then
    verdict 1 "broken:$name" "sed changed nothing"
    return
  fi
  # shellcheck disable=SC2086
  if ! "$cc" -std=c11 -O1 -w $headers -Icuda/engine/executor -c "$tmp/gradients.c" -o "$tmp/g.o" \
    2>"$tmp/out" ||
    ! "$cc" -fopenmp "$program.o" "$build/tests/drivers/cuda/api_run.o" \
      "$build/cuda/engine_cases/ranks.o" "$tmp/g.o" \
      "$build/libzpcuda.a" "$build/libsimdev.a" "$build/libzeroproof.a" \
      $(pkg-config --libs jansson libxxhash) -pthread -lm -o "$tmp/broken" 2>"$tmp/out"; then
    verdict 1 "broken:$name" "$(head -3 "$tmp/out")"
    return
  fi
  "$program" 1 0 "$@" >"$tmp/want" 2>/dev/null
  seed=0
  while [ $seed -lt 100 ] && "$tmp/broken" 1 $seed ask=1 "$@" 2>/dev/null | cmp -s - "$tmp/want"; do
    seed=$((seed + 1))
  done
  [ $seed -lt 100 ]
  verdict $? "broken:$name" "100 orders have the right bits"
}
broken a_slot_that_awaits_gradients_is_lent 's/ && !is_slot_taken(g, op)//' ascending=1
broken an_entry_in_two_buckets_is_lent_memory_in_one \
  's/op->count == zp_cuda_flat_size(plan_of(g), i) &&//'
broken the_stream_does_not_wait_for_the_slot \
  's/if (own_of(g, op) > 0) ZP_TRY(wait_for_bucket(g, op, stream));//'
finish
