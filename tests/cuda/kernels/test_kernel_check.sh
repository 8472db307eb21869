# kernel_check, which compares a GPU's kernels with the C compiler's: it accepts a device that gives
# other NaNs where an operation gives one, and nothing else that differs. The device is simdev, its
# kernels compiled from sources that were changed in one place. spec: NUM-4
# inputs: build/*.a build/gpu/host_kernels.o build/cuda/gpu/*.o build/cuda/kernels/*.o
# inputs: tests/fixtures/lib.sh cuda/kernels cuda/simdev ref spec/acsl
. tests/fixtures/lib.sh

# Under sanitizers only the plain tests run: this is about what kernel_check looks at.
[ "${SAN:-0}" = 1 ] && exit 0
build=${ZP_BUILD:-build}
cc=${CC:-gcc}
gpu=$build/cuda/gpu
mkdir "$tmp/cuda" && cp -r cuda/kernels cuda/simdev "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"

device() { # device FILE SED: kernel_check with it
  cp "cuda/kernels/$1" "$tmp/kept"
  sed "$2" "$tmp/kept" >"$tmp/cuda/kernels/$1"
  ! cmp -s "$tmp/kept" "$tmp/cuda/kernels/$1" &&
    "$cc" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing -c "$tmp/cuda/kernels/kernels.c" \
      -o "$tmp/kernels.o" &&
    "$cc" -o "$tmp/check" "$gpu/main_sim.o" "$gpu/kernel_check.o" "$gpu/check_main.o" \
      "$build/gpu/host_kernels.o" "$build/cuda/kernels/launch.o" "$tmp/kernels.o" \
      "$build/libsimdev.a" "$build/libzeroproof.a" -pthread -ljansson -lxxhash -lm
  made=$?
  cp "$tmp/kept" "$tmp/cuda/kernels/$1"
  return $made
}

nan() { # nan BITS: what quads of NaNs become
  device element.h "s/  memcpy(&bits, &x, sizeof bits);/& if (x != x) bits = $1;/"
}
nan 0x7fffffffu 2>"$tmp/out" && "$tmp/check" 60 4 >"$tmp/out" 2>&1
verdict $? a_gpu_s_nan_is_accepted "$(head -3 "$tmp/out")"

found() { # found NAME KERNELS CODE: the last device, made with CODE, is found in one of them
  if [ "$3" -ne 0 ]; then
    verdict 1 "found:$1" "$(head -3 "$tmp/out")"
    return
  fi
  "$tmp/check" 60 4 >"$tmp/out" 2>&1
  [ $? -eq 1 ] && grep -q "^\($2\), seed" "$tmp/out"
  verdict $? "found:$1" "$(head -3 "$tmp/out")"
}
nan 0x7f800001u 2>"$tmp/out"
found a_signalling_nan '[a-z]*_ordered\|update' $?
nan 0x7f800000u 2>"$tmp/out"
found infinity_for_a_nan '[a-z]*_ordered\|update' $?
word='((const uint32_t \*)in)\[i\]'
device gather.h "s/in ? $word/in ? ($word << 1 > 0xff800000u ? 0x7fffffffu : $word)/" 2>"$tmp/out"
found a_nan_that_was_moved_and_changed 'gather_copy\|scatter' $?
device update.h 's/if (at < real) zp_update_element/if (at + 1 < real) zp_update_element/' \
  2>"$tmp/out"
found an_element_that_was_not_updated update $?
finish
