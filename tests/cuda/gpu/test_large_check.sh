# large_check, by which gpu-check runs the kernels on more elements than a grid has tiles for and
# than 32 bits count, finds kernels that are wrong only there. The device is simdev, where a small
# grid walks over small arrays; its kernels are compiled from sources that were changed in one
# place. spec: PART-9
# inputs: build/*.a build/large_check build/cuda/gpu/*.o build/cuda/kernels/*.o
# inputs: tests/fixtures/lib.sh cuda/kernels cuda/simdev ref spec/acsl
. tests/fixtures/lib.sh

# Under sanitizers only the plain tests run.
[ "${SAN:-0}" = 1 ] && exit 0
build=${ZP_BUILD:-build}
gpu=$build/cuda/gpu
sizes="100003 20003 9001 700 3"
mkdir "$tmp/cuda" && cp -r cuda/kernels cuda/simdev "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"

# shellcheck disable=SC2086 # sizes are five words
timeout 600 "$build/large_check" $sizes >"$tmp/out" 2>"$tmp/err" &&
  jq -e '.kernels == 15 and .equal' "$tmp/out" >/dev/null
verdict $? large_arrays_equal_small_ones "$(head -3 "$tmp/err")"

found() { # found NAME KERNEL FILE SED: the kernel is wrong after the change
  cp "cuda/kernels/$3" "$tmp/kept"
  sed "$4" "$tmp/kept" >"$tmp/cuda/kernels/$3"
  # shellcheck disable=SC2086
  ! cmp -s "$tmp/kept" "$tmp/cuda/kernels/$3" &&
    "${CC:-gcc}" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing \
      -c "$tmp/cuda/kernels/kernels.c" -o "$tmp/kernels.o" 2>"$tmp/out" &&
    "${CC:-gcc}" -o "$tmp/check" "$gpu/main_sim.o" "$gpu/large_check.o" "$gpu/probe.o" \
      "$gpu/states.o" "$build/cuda/kernels/launch.o" "$tmp/kernels.o" "$build/libsimdev.a" \
      "$build/libzeroproof.a" -pthread -ljansson -lxxhash -lm 2>"$tmp/out" && {
    timeout 600 "$tmp/check" $sizes >"$tmp/out" 2>&1
    [ $? -eq 1 ] && grep -q "^large_check: $2 of" "$tmp/out"
  }
  verdict $? "found:$1" "$(head -3 "$tmp/out")"
  cp "$tmp/kept" "$tmp/cuda/kernels/$3"
}

found blocks_that_end_after_one_tile gather_copy vector.h \
  's/w.end = runs->tiles \* (b + 1) \/ grid/w.end = w.tile + 1/'
found blocks_that_add_one_tile add_ordered parts.h 's/tile += t.gridDim\[0\]/tile += p->n/'
found blocks_that_end_after_one_slab gather_exact stage.h \
  's/p.end = all \* (b + 1) \/ grid/p.end = p.begin + 1/'
found an_index_of_too_few_bits gather_exact stage.h \
  's/p.first = at \* ZP_SLAB/p.first = at * ZP_SLAB \& 0x3fff/'
found a_tile_that_no_block_has gather_copy vector.h \
  's/w.tile = runs->tiles \* b \/ grid/w.tile = runs->tiles * b \/ grid + (b == 2 \&\& grid == 3)/'
found a_sum_at_another_element add_packed packed.h \
  's/zp_add_one_packed(p, sum, term, \(.*\));/zp_add_one_packed(p, sum, term, (\1) % 9000);/'
found a_mean_of_another_element mean_packed packed.h \
  's/n, from + slab.first + x/n, from % 700 + slab.first + x/'
found limbs_of_another_element unpack_sums packed.h \
  's/else zp_unpack_one(limb, p->packed, p->f16, p->n, run->at/& % 700/'
finish
