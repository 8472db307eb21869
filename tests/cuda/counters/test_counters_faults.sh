# Each fault that sed puts into a copy of the sources is found: in the counter of accesses by its
# own tests, in the kernels and the engine by other counts, or by exit code 1.
# spec: STEP-1
# inputs: build/libsimdev_tsan.a build/tsan/libzpcuda_verify.a build/tsan/cuda/cli/counters_main.o
# inputs: build/tsan/cuda/counters/*.o build/tsan/cuda/simdev/accesses/*.o
# inputs: build/tsan/cuda/simdev/sanitizer/*.o build/tsan/tests/cuda/counters/*.o
# inputs: tests/fixtures/lib.sh cuda ref spec/acsl
. tests/fixtures/lib.sh

# Not under sanitizers: this checks the tests.
[ "${SAN:-0}" = 1 ] && exit 0
tsan=${ZP_BUILD:-build}/tsan
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
flags="-std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing -pthread $headers"
watch="-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset"
accesses=$tsan/cuda/simdev/accesses/accesses.o
names=$tsan/cuda/simdev/sanitizer/names.o
mkdir "$tmp/tree"
cp -r cuda "$tmp/tree"
ln -s "$PWD/ref" "$PWD/spec" "$tmp/tree"

changed() { # changed FILE SED: 0 if sed changes the copy of the file
  sed "$2" "$1" >"$tmp/tree/$1"
  ! cmp -s "$1" "$tmp/tree/$1"
}
restored() { cp "$1" "$tmp/tree/$1"; }

# ---- The counter

fault_in_counter() { # fault_in_counter NAME SED
  file=cuda/simdev/accesses/accesses.c
  if ! changed $file "$2"; then
    verdict 1 "fault:$1" "sed changed nothing in $file"
  elif ! gcc $flags -DSIMDEV_TSAN -c "$tmp/tree/$file" -o "$tmp/accesses.o" 2>"$tmp/out" ||
    ! gcc -o "$tmp/test" "$tsan/tests/cuda/counters/test_accesses.o" "$tmp/accesses.o" "$names" \
      "$tsan/../libsimdev_tsan.a" -pthread $watch -lcriterion -lm 2>"$tmp/out"; then
    verdict 1 "fault:$1" "does not compile: $(head -2 "$tmp/out")"
  else
    limited "$tmp/test" >"$tmp/out" 2>&1
    [ $? -eq 1 ] && grep -q 'Failing: [1-9]' "$tmp/out"
    verdict $? "fault:$1" "the tests pass: $(tail -1 "$tmp/out")"
  fi
}
fault_in_counter bits_are_kept 's/    m->word\[m->touched\[i\]\] = 0;//'
fault_in_counter accesses_are_added 's/__builtin_popcountll(m->word\[m->touched\[i\]\])/64/'
fault_in_counter word_boundaries_are_ignored \
  's/n < WORD_BYTES - first ? n : WORD_BYTES - first/n/'
fault_in_counter reads_count_as_writes 's/write ? SIMDEV_WRITTEN : SIMDEV_READ/SIMDEV_WRITTEN/'
fault_in_counter pinned_memory_counts_as_device_memory \
  's/kind == SD_DEVICE ? SIMDEV_IN_DEVICE : SIMDEV_IN_PINNED/SIMDEV_IN_DEVICE/'
fault_in_counter the_last_run_counts_too 's/the.of\[i\] = (simdev_access_bytes){0};/;/'
fault_in_counter an_item_ends_with_its_first_function \
  's/if (the.item) the.depth++;/if (the.item) ;/'
fault_in_counter the_end_of_a_communication_replaces_its_begin 's/\] += counted/] = counted/'

# ---- Kernels and engine

linked() { # linked OBJECT...: $tmp/zeroproof, with these in place of the library's
  gcc -o "$tmp/zeroproof" "$@" "$tsan/cuda/cli/counters_main.o" "$tsan"/cuda/counters/*.o \
    "$accesses" "$names" "$tsan/libzpcuda_verify.a" "$tsan/../libsimdev_tsan.a" -pthread $watch \
    $(pkg-config --libs jansson libxxhash) $(pkg-config --libs ompi-c 2>/dev/null) -lm 2>"$tmp/out"
}
compiled() { # compiled FILE.c: $tmp/o.o, instrumented
  gcc $flags -fsanitize=thread -c "$tmp/tree/$1" -o "$tmp/o.o" 2>"$tmp/out"
}
counted() { limited "$tmp/zeroproof" counters --dp 2 --json >"$tmp/json" 2>"$tmp/err"; }

linked && counted
verdict $? without_a_fault_the_command_succeeds "$(head -c 300 "$tmp/out" "$tmp/err")"
cp "$tmp/json" "$tmp/good.json"

fault() { # fault NAME HEADER_OR_C C SED CODE FILTER: of $good and the fault's counts
  changed "$2" "$4" || verdict 1 "fault:$1" "sed changed nothing in $2"
  if ! compiled "$3" || ! linked "$tmp/o.o"; then
    verdict 1 "fault:$1" "does not compile: $(head -2 "$tmp/out")"
  else
    counted
    code=$?
    [ $code -eq "$5" ] && jq -en --slurpfile good "$tmp/good.json" --slurpfile got "$tmp/json" \
      "\$good[0][0] as \$good | \$got[0][0] as \$got | ($6)" >"$tmp/jq" 2>&1
    verdict $? "fault:$1" "exit code $code; $(head -c 200 "$tmp/jq" "$tmp/err" | tr '\n' ' ')"
  fi
  restored "$2"
}

bytes='[.device_read, .device_written] | add'
after='p->grad + p->runs.here[0].at + p->runs.here[0].count'
event='cudaEvent_t x; cudaEventCreate(\&x); cudaEventDestroy(x);'
moment='cudaMalloc(\&p, 1 << 20); cudaFree(p);'
fault one_byte_after_the_run_is_read cuda/kernels/update.h cuda/kernels/kernels.c \
  "s/  (void)shared, (void)phase;/  (void)*(const volatile char *)($after); &/" \
  0 '[$good, $got | .traffic.by_use.update.device_read] | .[1] - .[0] == 2 * $good.buckets'
fault a_memset_is_added_to_the_decision cuda/engine/executor/statistics.c \
  cuda/engine/executor/statistics.c \
  's/^  memcpy(p.optim, .*/&\n  cudaMemsetAsync(o->memory->stats, 0, 8, o->r->reduce);/' \
  0 "\$got.launches.by_use.decide.memsets == 1 and \$got.launches.own == \$good.launches.own + 1 and
    ([\$good, \$got | .traffic.by_use.decide | $bytes] | .[1] - .[0] == 16)"
fault an_announcement_takes_the_lock_twice cuda/engine/announce.c cuda/engine/announce.c \
  '/^static int on_device(zp_cuda \*e/,/^}/ s/  zp_cuda_enter(e);/&\n  zp_cuda_leave(e);\n&/' \
  0 '$got.host.announcement_most.locks == 2'
fault an_event_is_created_in_each_step cuda/engine/executor/step.c cuda/engine/executor/step.c \
  "/^int zp_cuda_begin_step/,/^}/ s/  zp_cuda_rank \*r = rank_of(s);/&\n$event/" \
  1 '$got.host.created_after_first_step == 4'
fault an_array_is_larger_than_planned cuda/engine/state/buffers.c cuda/engine/state/buffers.c \
  's/&use->state, &s->moment2, extent, 4/\&use->state, \&s->moment2, extent + 1, 4/' \
  1 '$got.memory.agrees == false and $got.memory.by_use["masters and moments"].allocated -
    $got.memory.by_use["masters and moments"].planned == 8'
fault more_is_staged_than_the_option_says cuda/engine/executor/gradients.c \
  cuda/engine/executor/gradients.c 's/&g->ring, g->early.bytes, 1)/\&g->ring, g->early.bytes, 4)/' \
  1 '$got.memory.agrees == false and $good.memory.goal.verdict == "within" and
    $got.memory.goal.verdict == "exceeds"'
fault memory_is_not_counted cuda/engine/device/memory.c cuda/engine/device/memory.c \
  '/^int zp_cuda_allocate(/,/^}/ s/  \*use += count \* bytes;/  if (count != 1) &/' \
  1 '$got.memory.agrees == false and $got.memory.device == $good.memory.device'
fault memory_is_allocated_for_a_moment cuda/engine/device/memory.c cuda/engine/device/memory.c \
  "/^int zp_cuda_allocate(/,/^}/ s/  ZP_TRY(make_room(a));/&\n$moment/" \
  1 '$got.memory.device == $good.memory.device and $got.memory.device_peak > $got.memory.device'
finish
