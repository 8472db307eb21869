#!/bin/sh
# The fingerprint of device memory, on simdev, is that of host memory; faults in it are found.
# inputs: build/libzeroproof.so.* build/libzeroproof_norm_simdev.so build/libzeroproof.a
# inputs: build/libsimdev.a build/cuda/norm/*.o build/cuda/kernels/*.o cuda/norm cuda/kernels
# inputs: cuda/simdev ref spec/acsl tests/fixtures/lib.sh tests/cuda/kernels/fingerprint_test.py
cd "$(dirname "$0")/../../.." || exit 3
. tests/fixtures/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
build=$(dirname "$zp")
library=$(find "$build" -maxdepth 1 -name 'libzeroproof.so.*' | head -n 1)

limited python3 -B tests/cuda/kernels/fingerprint_test.py "$library" \
  "$build/libzeroproof_norm_simdev.so" >"$tmp/out" 2>&1
verdict $? the_kernel_computes_the_same_fingerprint "$(tail -n 3 "$tmp/out")"
grep -q '^compared 55, 0 differ' "$tmp/out"
verdict $? all_alignments_were_compared "$(tail -n 3 "$tmp/out")"

mkdir "$tmp/cuda" && cp -r cuda/kernels cuda/simdev cuda/norm "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
compare() { # compare NAME: the copied kernel, with two blocks of threads for up to five chunks
  for name in kernels simulated; do
    # shellcheck disable=SC2086 # several flags
    "${CC:-gcc}" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing -fPIC $headers -c \
      -DZP_NORM_PRINT_GRID=2 "$tmp/cuda/norm/$name.c" -o "$tmp/$name.o" || exit 3
  done
  "${CC:-gcc}" -shared -o "$tmp/$1_simdev.so" "$tmp/kernels.o" "$tmp/simulated.o" \
    "$build/cuda/kernels/kernels.o" "$build/cuda/kernels/launch.o" "$build/libsimdev.a" \
    "$build/libzeroproof.a" -pthread -lm || exit 3
  limited python3 -B tests/cuda/kernels/fingerprint_test.py "$library" "$tmp/$1_simdev.so" \
    >"$tmp/out" 2>&1
}
fault() { # fault NAME SED: the comparison must fail; sed must have changed something
  sed "$2" cuda/norm/fingerprint.h >"$tmp/cuda/norm/fingerprint.h"
  ! cmp -s cuda/norm/fingerprint.h "$tmp/cuda/norm/fingerprint.h"
  verdict $? "fault:$1 changes the kernel"
  ! compare "$1" && grep -q ' differ' "$tmp/out"
  verdict $? "fault:$1" "$(tail -n 3 "$tmp/out")"
}
compare few
verdict $? a_block_of_threads_may_process_several_chunks "$(tail -n 3 "$tmp/out")"
fault next_chunk 's/(phase - 1) \/ 2) \* t.gridDim/(phase - 1) \/ 2) * 0 * t.gridDim/'
fault first_word 's/k < p->at \/ 4 ||/k <= p->at \/ 4 ||/'
fault one_lane 's/of_block1 += word \* s->key\[1\]/of_block1 += word * s->key[0]/'
exit $bad
