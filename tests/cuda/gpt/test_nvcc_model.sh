# nvcc compiles the model's kernels to code that rounds as ref does. spec: ERR-1, OPT-3
# inputs: @make
. tests/fixtures/lib.sh
. tests/fixtures/nvcc_lib.sh

source=cuda/gpt/layers.cu

for arch in 80 90; do
  for file in $source tests/drivers/cuda/product_orders.cu; do
    "$nvcc" $flags -gencode "arch=compute_$arch,code=sm_$arch" -c $file -o "$tmp/sm_$arch.o" \
      >"$tmp/out" 2>&1
    verdict $? "nvcc_and_ptxas_accept_$(basename $file)_for_sm_$arch" "$(head -3 "$tmp/out")"
    [ $file != $source ] || mv "$tmp/sm_$arch.o" "$tmp/layers_$arch.o"
  done
done

cc -E -P ${ZP_CUDA_FLAGS:-$(make -s cuda-flags)} cuda/gpt/layers.h | tr ';' '\n' |
  sed -n 's/^ *extern const void \*const \(zp_kernel_[a-z_]*\)$/\1/p' | sort -u >"$tmp/named"
nm "$tmp/layers_90.o" | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | grep zp_ | sort >"$tmp/defined"
# layers.h includes the engine's kernels.h
grep '^zp_kernel_' "$tmp/defined" | comm -23 - "$tmp/named" >"$tmp/out"
[ ! -s "$tmp/out" ] && [ "$(grep -c '^zp_kernel_' "$tmp/defined")" -ge 19 ]
verdict $? nvccs_object_has_the_models_handles "$(cat "$tmp/out")"
grep -vE '^zp_kernel_|zp_[a-z_]*_entry' "$tmp/defined" >"$tmp/more"
nm "$tmp/layers_90.o" | awk '$1 == "U" { print $2 }' | grep zp_ >>"$tmp/more"
[ ! -s "$tmp/more" ]
verdict $? nvccs_object_has_no_symbols_of_the_library "$(head -3 "$tmp/more")"

compute good
# 1/x is rcp.rn, rounded once as div.rn is, and its machine code is fused as that one's: one name.
cp "$tmp/good" "$tmp/good.ptx"
sed 's/rcp\.rn\./div.rn./' "$tmp/good.ptx" >"$tmp/good"
[ "$(grep -cE '\.rn\.f(32|64)' "$tmp/good")" -ge 100 ]
verdict $? ptx_has_the_models_operations "$(grep -cE '\.rn\.f(32|64)' "$tmp/good")"
wrong=$(faults "$tmp/good" | sort | uniq -c | head -5)
[ -z "$wrong" ]
verdict $? every_operation_in_ptx_is_one_rounding "$wrong"
for flag in -fmad=true -ftz=true -prec-div=false -prec-sqrt=false; do
  compute bad $flag && [ -n "$(faults "$tmp/bad")" ]
  verdict $? "found_without_it:$flag" "nothing found"
done

if look=$(sh cuda/kernels/nvcc.sh --nvdisasm 2>"$tmp/why"); then
  "$nvcc" -arch=sm_90 -cubin "$tmp/good.ptx" -o "$tmp/cubin" >"$tmp/out" 2>&1 &&
    "$look" "$tmp/cubin" >"$tmp/sass" 2>"$tmp/out"
  verdict $? machine_code_is_read "$(head -3 "$tmp/out")"
  wrong=$(fused "$tmp/good" "$tmp/sass" 2>"$tmp/looked" | sort | uniq -c | head -5)
  [ -z "$wrong" ] && [ "$(cat "$tmp/looked")" -ge 8 ]
  verdict $? nothing_is_fused_in_machine_code "$wrong ($(cat "$tmp/looked") kernels)"
else
  echo "not run: no disassembler: $(tail -1 "$tmp/why")"
fi

# ---- Programs for a device: linked without one

build=${ZP_BUILD:-build}
if [ "${SAN:-0}" != 1 ]; then
  "${MAKE:-make}" --no-print-directory BUILD="$build" ARCHS=90 CC="${CC:-gcc}" gpu-programs-gpu \
    step-bench-library-gpu gpt-bounds-device >"$tmp/out" 2>&1
  verdict $? programs_for_a_device_are_linked "$(tail -3 "$tmp/out")"
  # checks and measurements of kernels need no package: neither libraries nor NCCL's header
  "${MAKE:-make}" -n --no-print-directory BUILD="$tmp/bare" ARCHS=90 CC="${CC:-gcc}" \
    NCCL_INC=/nonexistent "$tmp/bare/gpu/kernel_check" "$tmp/bare/gpu/kernel_bench" \
    "$tmp/bare/gpu/large_check" >"$tmp/out" 2>&1 &&
    grep -q 'bare/gpu/kernel_bench\.[^ ]* .*cudart' "$tmp/out" &&
    ! grep -E 'jansson|xxhash|fetch_headers|libzeroproof|ref/cli/' "$tmp/out" >"$tmp/why"
  verdict $? checks_of_kernels_require_no_package "$(tail -3 "$tmp/out"; head -3 "$tmp/why")"
  # the stub is what they are linked with where no driver is
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:$build/gpu"
  [ "$("$build/zeroproof-cuda" --products 2>&1)" = "ref's own, in ref's order" ]
  verdict $? train_for_a_device_multiplies_in_refs_order
  "$build/zeroproof-cuda" train --engine cuda --data LICENSE --layers 1 --d-model 8 --heads 1 \
    --context 8 --batch 1 --sample 0 --steps 2 --dp 2 >"$tmp/out" 2>&1
  got=$?
  if [ $got -eq 0 ]; then grep -q 'equal to ref bit for bit' "$tmp/out"
  else [ $got -eq 3 ] && grep -q 'there is no device, or' "$tmp/out"; fi
  verdict $? it_trains_or_reports_that_there_is_no_device "exit code $got: $(tail -1 "$tmp/out")"
  "$build/gpu/kernel_check" 1 1 >"$tmp/out" 2>&1
  got=$?
  [ $got -eq 0 ] ||
    { [ $got -eq 3 ] && grep -q '^opening: cudaSetDevice: error [0-9]* of CUDA' "$tmp/out"; }
  verdict $? kernels_are_checked_or_cudas_error_is_printed "exit code $got: $(head -1 "$tmp/out")"
  # as gpu-check builds it with the machine's cuBLASLt, a stand-in here; nothing of that is kept
  headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
  bounds=$build/tests/drivers/cuda/gpt_bounds_device_lt
  mkdir "$tmp/lt" && cp tests/fixtures/fake_cublas/cublasLt.h "$tmp/lt"
  # shellcheck disable=SC2086
  "${CC:-gcc}" -shared -fPIC $headers -DZP_FAKE_CUBLAS tests/fixtures/fake_cublas/cublaslt.c \
    -o "$tmp/lt/libcublasLt.so.13" >"$tmp/out" 2>&1 &&
    "${MAKE:-make}" --no-print-directory BUILD="$build" ARCHS=90 CC="${CC:-gcc}" \
      CUBLAS_INC="$tmp/lt" CUBLAS_LIB="$tmp/lt" gpu-command gpt-bounds-device >"$tmp/out" 2>&1 &&
    ldd "$bounds" | grep -q "libcublasLt.so.13 => $tmp/lt/"
  verdict $? the_check_of_gpts_bounds_is_linked_with_cublaslt "$(tail -3 "$tmp/out")"
  [ "$("$build/zeroproof-cuda" --products 2>&1)" = \
    'cuBLASLt 13.0.2, fp32 sums in an order of its own' ]
  verdict $? train_is_linked_with_cublaslt "$("$build/zeroproof-cuda" --products 2>&1)"
  rm -f "$bounds" "$build/cuda/gpt/product_cublaslt.o" "$build/libzeroproof_gpt_cublaslt.a"
  "${MAKE:-make}" --no-print-directory BUILD="$build" ARCHS=90 CC="${CC:-gcc}" gpu-command \
    >"$tmp/out" 2>&1
  [ "$("$build/zeroproof-cuda" --products 2>&1)" = "ref's own, in ref's order" ]
  verdict $? without_cublaslt_train_multiplies_in_refs_order_again "$(tail -3 "$tmp/out")"
  # a handle is nvcc's: a simulated kernel is data, and would be launched as nothing on a device
  nm "$build/zeroproof-cuda" | grep -cE ' [BbDd] zp_kernel_(product|gather_ordered)$' |
    grep -qx 2 && ! nm "$build/zeroproof-cuda" | grep -q 'product_body'
  verdict $? trains_kernels_are_nvccs "$(nm "$build/zeroproof-cuda" | grep zp_kernel_product)"
fi

# ---- cuBLASLt's own header, where there is one ---------------------------------------------------

headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}
for folder in ${CUBLAS_INC:-} $(echo "$headers" | tr ' ' '\n' | grep ^/); do
  [ -e "$folder/cublasLt.h" ] && lt=$folder && break
done
if [ -n "${lt:-}" ]; then
  # shellcheck disable=SC2086
  "${CC:-gcc}" -std=c11 -O1 -Wall -Wextra -Werror -isystem "$lt" $headers -c \
    cuda/gpt/product_cublaslt.c -o "$tmp/lt.o" >"$tmp/out" 2>&1
  verdict $? the_products_compile_with_cublaslts_header "$(head -3 "$tmp/out")"
else
  echo "not run: no cublasLt.h (CUBLAS_INC names its folder): its products were compiled with a" \
    "stand-in's alone"
fi
finish
