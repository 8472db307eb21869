# gpt on the device: ref's bits with ref's product, within the bounds with others, outside without
# one term. Each fault that sed injects into a copy of a kernel or bound must be found.
# spec: ERR-1 … ERR-6
# inputs: build/tests/drivers/cuda/gpt_bounds* build/tests/drivers/cuda/*.o build/fake_cublas
# inputs: build/*.a tests/fixtures/lib.sh tests/fixtures/fake_cublas tests/drivers/cuda/*.[ch]
# inputs: cuda/gpt cuda/kernels cuda/engine cuda/simdev ref spec/acsl
. tests/fixtures/lib.sh
build=${ZP_BUILD:-build}
cc=${CC:-gcc}

"$build/tests/drivers/cuda/gpt_bounds" >"$tmp/out" 2>&1
got=$?
grep -E '^(ok|not ok|#) ' "$tmp/out"
[ $got -eq 0 ] && [ "$(grep -c '^ok ' "$tmp/out")" -ge 650 ]
verdict $? gpt_bounds_ends "exit code $got: $(tail -1 "$tmp/out")"
for product in qkv scores mix proj fc out head; do
  for way in '' _left _right; do
    grep -q "^ok bf16_without_one_term_of_product_[0-9]*_$product$way\$" "$tmp/out" &&
      grep -q "^ok fp32_without_one_term_of_product_[0-9]*_$product$way\$" "$tmp/out"
    verdict $? "each_product_lacks_a_term_once:$product$way"
  done
done

# ---- cuBLASLt's stand-in: equal bits show that its arguments are complete
"$build/tests/drivers/cuda/gpt_bounds_lt" orders >"$tmp/out" 2>&1
got=$?
names='cublaslt|_the_products_|ref_s_own|no_other_shape|is_reported|library'
grep -E "^(ok|not ok) .*($names)" "$tmp/out"
[ $got -eq 0 ] && [ "$(grep -c '^ok .*_cublaslts_products_are_refs' "$tmp/out")" -ge 7 ]
verdict $? gpt_bounds_with_cublaslt_ends "exit code $got: $(tail -1 "$tmp/out")"
grep -q '^# .*: cuBLASLt 13.0.2, fp32 sums in an order of its own' "$tmp/out"
verdict $? cublaslt_prints_its_version "$(grep '^# ' "$tmp/out" | tail -1)"

# ---- Faults; not under sanitizers
if [ "${SAN:-0}" = 1 ]; then finish; fi
mkdir "$tmp/cuda" && cp -r cuda/gpt cuda/kernels cuda/simdev cuda/engine "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"
others="$build/tests/drivers/cuda/product_cases.o $build/tests/drivers/cuda/product_orders.o"
headers=${ZP_CUDA_FLAGS:-$(make -s cuda-flags)}

compiled() { # compiled SOURCE...: makes $tmp/test with these of cuda/gpt instead of the library's
  objects=
  for source in "$@"; do
    # shellcheck disable=SC2086
    "$cc" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing $headers -c \
      "$tmp/cuda/gpt/$source.c" -o "$tmp/$source.o" || return 1
    objects="$objects $tmp/$source.o"
  done
  # shellcheck disable=SC2086
  "$cc" -o "$tmp/test" "$build/tests/drivers/cuda/gpt_bounds.o" $others $objects \
    "$build/libzpcuda_verify.a" "$build/libzpcuda.a" "$build/libsimdev.a" \
    "$build/libzeroproof.a" -pthread -ljansson -lxxhash -lm
}

# fault NAME SOURCE FILE VERDICT SED: sed must change FILE, and a verdict like VERDICT must fail
fault() {
  cp "cuda/gpt/$3" "$tmp/kept"
  sed "$5" "$tmp/kept" >"$tmp/cuda/gpt/$3"
  if cmp -s "$tmp/kept" "$tmp/cuda/gpt/$3"; then
    verdict 1 "fault:$1" "sed changed nothing in $3"
  elif ! compiled "$2" 2>"$tmp/why"; then
    verdict 1 "fault:$1" "does not compile: $(head -2 "$tmp/why")"
  else
    # the first such verdict ends grep, and so the others
    limited stdbuf -oL "$tmp/test" orders 2>&1 | tee "$tmp/out" | grep -q "^not ok .*$4"
    verdict $? "fault:$1" "nothing found: $(tail -1 "$tmp/out")"
  fi
  cp "$tmp/kept" "$tmp/cuda/gpt/$3"
}

compiled layers bound bound_layers affine 2>"$tmp/why" && "$tmp/test" orders >"$tmp/out" 2>&1
verdict $? without_a_fault_all_pass "$(head -2 "$tmp/why") $(grep '^not' "$tmp/out" | head -1)"

bits=give_refs_bits
fault products_in_descending_order layers product_kernels.h $bits \
  '/^    for (int64_t k = 0; k < p->K; k++) sum += /s/, k)/, p->K - 1 - k)/'
fault bias_last layers product_kernels.h $bits 's/float sum = p->bias ? .*;/float sum = 0.0f;/
  s/\*e.c = sum;/*e.c = sum + (p->bias ? p->bias[e.n] : 0.0f);/'
fault no_rounding_between_layers layers forward.h $bits \
  's/= zp_rounded_to(p->dtype, p->x\[i\] + p->y\[i\])/= p->x[i] + p->y[i]/'
fault other_epsilon layers forward.h $bits 's/1e-5f/1e-6f/'
fault causal_mask_missing layers forward.h $bits \
  's/const int64_t last = row.n % p->T;/const int64_t last = p->T - 1;/'
fault maximum_not_subtracted layers forward.h $bits \
  's/zp_exp_shifted(s + u, row.kept\[0\], 1)/zp_exp_shifted(s + u, 0.0f, 1)/'
fault rows_of_other_bytes_added layers backward.h $bits \
  's/p->token\[n\] == which/p->token[n] >= which/'
fault loss_scale_missing layers backward.h $bits 's/ \* p->mean \* scale/ * p->mean/'
fault first_row_missing layers backward.h $bits \
  's/for (int64_t n = 0; n < p->N; n++) sum += p->x/for (int64_t n = 1; n < p->N; n++) sum += p->x/'

# Wrong arguments for cuBLASLt.
lt=$build/fake_cublas
fault_lt() { # fault_lt NAME SED
  sed "$2" cuda/gpt/product_cublaslt.c >"$tmp/cuda/gpt/product_cublaslt.c"
  cmp -s cuda/gpt/product_cublaslt.c "$tmp/cuda/gpt/product_cublaslt.c"
  changed=$?
  # shellcheck disable=SC2086
  "$cc" -std=c11 -O1 -w -Itests/fixtures/fake_cublas $headers \
    -c "$tmp/cuda/gpt/product_cublaslt.c" -o "$tmp/lt.o" 2>"$tmp/why" &&
    "$cc" -o "$tmp/test" "$lt/tests/drivers/cuda/gpt_bounds.o" \
      "$lt/tests/fixtures/fake_cublas/cublaslt.o" "$lt/tests/drivers/cuda/cublaslt_cases.o" \
      $others "$tmp/lt.o" "$build/libzpcuda_verify.a" "$build/libzpcuda.a" "$build/libsimdev.a" \
      "$build/libzeroproof.a" -pthread -ljansson -lxxhash -lm 2>"$tmp/why"
  compiled=$?
  limited "$tmp/test" orders >"$tmp/out" 2>&1
  got=$?
  [ $changed -eq 1 ] && [ $compiled -eq 0 ] && [ $got -ne 0 ] && grep -q '^not ok' "$tmp/out"
  verdict $? "fault:$1" \
    "changed $changed, compiled $compiled, exit code $got: $(head -1 "$tmp/why")"
}
fault_lt alignment_not_set 's/    if (i == OF_C)/    if (0)/'
fault_lt matrix_not_transposed 's/p->ak != 1, p->a/0, p->a/'
fault_lt all_batches_are_the_first 's/k->step\[which\] = step.inner/k->step[which] = 0/'
fault_lt bias_not_set 's|  if (p->bias)$|  if (0)|'
fault_lt a_refusal_fails 's/if (n == 0 || \(.*\)) return 1/if (n == 0 || \1) return -1/'
fault_lt all_products_are_refs 's/if (n == 0 ||/if (1 ||/'
fault_lt refusals_not_reported 's/if (result > 0) refuse(k, p)/if (result > 0) k->none = 1/'
fault_lt kernels_loaded_in_a_step 's/products->loads = 1/products->loads = 0/'
fault_lt tf32_allowed 's/COMPUTE_32F_PEDANTIC/COMPUTE_32F/'
fault_lt bf16_batches_are_the_first \
  's/(zp_product_stride){p->inner \* .*}/(zp_product_stride){0, 0}/'
fault_lt bf16_lines_are_not_padded 's/q.length_out = \*apart/q.length_out = length, *apart/'
fault_lt bf16_operands_are_not_rounded 's/p->operands == ZP_BF16 \&\& p->K > 0/0/'

range=is_within_the_bounds
fault products_without_error bound_layers bound_layers.c $range \
  's/gamma_of(terms) \* size/0 * size/'
fault fewer_terms bound_layers bound_layers.c $range \
  's/gamma_of(terms) \* size/gamma_of(1) * size \/ 64/'
fault rounding_error_too_small affine affine.c $range 's/0x1p-8 : 0x1p-11/0x1p-12 : 0x1p-15/'
fault slope_of_gelu_too_small bound_layers bound_layers.c $range 's/0.134145f/0.13f/'
fault mean_not_subtracted bound_layers bound_layers.c $range \
  's/zp_affine_sum(s, t, -1, mean_e)/zp_affine_sum(s, t, 0, mean_e)/'
finish
