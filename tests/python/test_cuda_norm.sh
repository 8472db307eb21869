#!/bin/sh
# zeroproof.torch with the kernels of libzeroproof_norm.so, on simdev: the laws of test_norm.sh, the
# host reads no value, and faults in the kernels are found.
# inputs: build/libzeroproof.so.* build/libzeroproof_norm_simdev.so build/libzeroproof.a
# inputs: build/libsimdev.a build/cuda/norm/*.o build/cuda/kernels/*.o cuda/norm cuda/kernels
# inputs: cuda/simdev ref spec/acsl python tests/fixtures/lib.sh tests/python conformance/locks
# inputs: @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
ZEROPROOF_CUDA_LIBRARY=$(cd "$build" && echo "$PWD/libzeroproof_norm_simdev.so")
export ZEROPROOF_CUDA_LIBRARY
"$python" -W ignore tests/python/norm_test.py
code=$?

mkdir "$tmp/cuda" && cp -r cuda/kernels cuda/simdev cuda/norm "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}

library() { # library NAME: of the copied sources
  for name in kernels simulated; do
    # shellcheck disable=SC2086 # several flags
    "${CC:-gcc}" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing -fPIC $headers -c \
      "$tmp/cuda/norm/$name.c" -o "$tmp/$name.o" || exit 3
  done
  "${CC:-gcc}" -shared -o "$tmp/$1_simdev.so" "$tmp/kernels.o" "$tmp/simulated.o" \
    "$build/cuda/kernels/kernels.o" "$build/cuda/kernels/launch.o" "$build/libsimdev.a" \
    "$build/libzeroproof.a" -pthread -lm || exit 3
}

fault() { # fault NAME FILE SED: the laws must fail; sed must have changed something
  sed "$3" "cuda/norm/$2" >"$tmp/cuda/norm/$2"
  if cmp -s "cuda/norm/$2" "$tmp/cuda/norm/$2"; then
    verdict 1 "fault:$1" "sed changed nothing in $2"
  else
    library "$1"
    faults="$faults $1"
  fi
  cp "cuda/norm/$2" "$tmp/cuda/norm/$2"
}

judged() { # judged NAME LIBRARY RESULT: of the laws with this library
  grep -q -F "/$2_simdev.so: $3" "$tmp/laws"
  verdict $? "$1" "$(tail -n 3 "$tmp/$2_simdev.so.out")"
}

faults=
library right
fault inf_counted_as_nan kernels_list.h 's/> 0x7f800000u/>= 0x7f800000u/'
fault nan_not_counted kernels_list.h 's/zp_count(p->nan, found)/(void)found/'
fault limbs_not_carried kernels_list.h 's/^  zp_limbs_normalise.*//'
fault norm_of_the_other_format kernels_list.h 's/p->bytes == 8 ? zp_norm_f64(w) : 0/zp_norm_f32(w)/'
fault lanes_of_the_first_run queue.h 's/zp_squares_lanes(run, n)/zp_squares_lanes(run, 1)/'
fault tiles_of_the_first_runs queue.h 's/run\[n - 1\].first_tile + /0 + /'
fault a_table_that_is_ignored queue.h 's/if (n > ZP_RUNS_HERE) p.runs.table/if (0) p.runs.table/'
fault no_wait_before_memory_is_freed simulated.c 's/^.*cudaStreamSynchronize.*$//'
"$python" -W ignore tests/python/norm_test.py --libraries "$tmp"/*_simdev.so >"$tmp/laws"
judged sources_without_a_fault_pass right lawful
for name in $faults; do
  judged "fault:$name" "$name" 'a check fails'
done

# For devices, as far as this machine can tell.
if nvcc=$(sh cuda/kernels/nvcc.sh 2>"$tmp/why"); then
  # shellcheck disable=SC2046 # several flags
  "$nvcc" $(sh cuda/kernels/nvcc.sh --flags) -arch=sm_90 -cubin cuda/norm/kernels.cu \
    -o "$tmp/cubin" >"$tmp/out" 2>&1
  verdict $? nvcc_compiles_the_kernels "$(head -3 "$tmp/out")"
else
  echo "not run: no nvcc: $(tail -n 1 "$tmp/why")"
fi
exit $((code | bad))
