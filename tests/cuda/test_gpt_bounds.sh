# gpt on the device: ref's bits with ref's product, within the bounds with others, outside of them
# without one term; and each fault planted in a kernel or in a bound is found: the source is copied,
# changed in one place by sed, compiled and run.
# spec: ERR-1 … ERR-6
. tests/cli/lib.sh
build=${ZP_BUILD:-build}
cc=${CC:-gcc}

"$build/tests/cuda/gpt_bounds" >"$tmp/out" 2>&1
got=$?
grep -E '^(ok|not ok|#) ' "$tmp/out"
[ $got -eq 0 ] && [ "$(grep -c '^ok ' "$tmp/out")" -ge 650 ]
verdict $? gpt_bounds_ran_to_its_end "exit code $got: $(tail -1 "$tmp/out")"
for product in qkv scores mix proj fc out head; do
  for way in '' _left _right; do
    grep -q "^ok bf16_without_one_term_of_product_[0-9]*_$product$way\$" "$tmp/out" &&
      grep -q "^ok fp32_without_one_term_of_product_[0-9]*_$product$way\$" "$tmp/out"
    verdict $? "each_product_has_lacked_a_term:$product$way"
  done
done

# ---- cuBLASLt, or who stands in for it: what it is told makes ref's bits, so it was told all
"$build/tests/cuda/gpt_bounds_lt" orders >"$tmp/out" 2>&1
got=$?
grep -E '^(ok|not ok) .*(cublaslt|_the_products_|ref_s_own|no_other_shape|is_told|library)' "$tmp/out"
[ $got -eq 0 ] && [ "$(grep -c '^ok .*_cublaslts_products_are_refs' "$tmp/out")" -ge 7 ]
verdict $? products_by_cublaslt_ran_to_their_end "exit code $got: $(tail -1 "$tmp/out")"
grep -q '^# .*: cuBLASLt 13.0.2, fp32 sums in an order of its own' "$tmp/out"
verdict $? cublaslt_says_its_version "$(grep '^# ' "$tmp/out" | tail -1)"

# ---- Faults. Under sanitizers only the plain tests run: this is what they look at.
if [ "${SAN:-0}" = 1 ]; then finish; fi
mkdir "$tmp/cuda" && cp -r cuda/model cuda/kernels cuda/simdev cuda/engine "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"
others="$build/tests/cuda/product_cases.o $build/tests/cuda/product_orders.o"
headers=$(${MAKE:-make} -s --no-print-directory cuda-flags)

compiled() { # compiled SOURCE...: makes $tmp/test with these of cuda/model instead of the library's
  objects=
  for source in "$@"; do
    # shellcheck disable=SC2086
    "$cc" -std=c11 -O1 -w -ffp-contract=off -fno-strict-aliasing $headers -c \
      "$tmp/cuda/model/$source.c" -o "$tmp/$source.o" || return 1
    objects="$objects $tmp/$source.o"
  done
  # shellcheck disable=SC2086
  "$cc" -o "$tmp/test" "$build/tests/cuda/gpt_bounds.o" $others $objects "$build/libzptrial.a" "$build/libzpcuda.a" "$build/libsimdev.a" \
    "$build/libzeroproof.a" -pthread -ljansson -lxxhash -lm
}

fault() { # fault NAME SOURCE FILE WHAT SED: sed must change FILE, and a verdict like WHAT must fail
  cp "cuda/model/$3" "$tmp/kept"
  sed "$5" "$tmp/kept" >"$tmp/cuda/model/$3"
  if cmp -s "$tmp/kept" "$tmp/cuda/model/$3"; then
    verdict 1 "fault:$1" "sed changed nothing in $3"
  elif ! compiled "$2" 2>"$tmp/why"; then
    verdict 1 "fault:$1" "does not compile: $(head -2 "$tmp/why")"
  else
    timeout 60 "$tmp/test" orders >"$tmp/out" 2>&1
    grep -q "^not ok .*$4" "$tmp/out"
    verdict $? "fault:$1" "nothing found: $(tail -1 "$tmp/out")"
  fi
  cp "$tmp/kept" "$tmp/cuda/model/$3"
}

compiled layers bound bound_layers form 2>"$tmp/why" && "$tmp/test" orders >"$tmp/out" 2>&1
verdict $? without_a_fault_all_is_well "$(head -2 "$tmp/why") $(grep '^not' "$tmp/out" | head -1)"

bits=give_refs_bits
fault products_from_behind layers forward.h $bits 's/sum += e.a\[k \* p->ak\] \* e.b\[k \* p->bk\]/sum += e.a[(p->K - 1 - k) * p->ak] * e.b[(p->K - 1 - k) * p->bk]/'
fault bias_last layers forward.h $bits 's/float sum = p->bias ? p->bias\[e.n\] : 0.0f;/float sum = 0.0f;/; s/\*e.c = sum;/*e.c = sum + (p->bias ? p->bias[e.n] : 0.0f);/'
fault no_rounding_between_layers layers forward.h $bits 's/= zp_rounded_to(p->dtype, p->x\[i\] + p->y\[i\])/= p->x[i] + p->y[i]/'
fault other_epsilon layers forward.h $bits 's/1e-5f/1e-6f/'
fault future_seen layers forward.h $bits 's/const int64_t last = row % p->T;/const int64_t last = p->T - 1;/'
fault largest_not_subtracted layers forward.h $bits 's/zp_exp_shifted(s, top, last + 1)/zp_exp_shifted(s, 0.0f, last + 1)/'
fault rows_of_a_byte_mixed layers backward.h $bits 's/p->token\[n\] == which/p->token[n] >= which/'
fault scale_forgotten layers backward.h $bits 's/ \* p->mean \* scale/ * p->mean/'
fault column_too_few layers backward.h $bits 's/for (int64_t n = 0; n < p->N; n++) sum += p->x/for (int64_t n = 1; n < p->N; n++) sum += p->x/'

# What cuBLASLt is told, mistaken.
lt=$build/fake_cublas
fault_lt() { # fault_lt NAME SED
  sed "$2" cuda/model/product_cublaslt.c >"$tmp/cuda/model/product_cublaslt.c"
  cmp -s cuda/model/product_cublaslt.c "$tmp/cuda/model/product_cublaslt.c"
  changed=$?
  # shellcheck disable=SC2086
  "$cc" -std=c11 -O1 -w -Itests/cuda/fake_cublas $headers -c "$tmp/cuda/model/product_cublaslt.c" \
    -o "$tmp/lt.o" 2>"$tmp/why" &&
    "$cc" -o "$tmp/test" "$lt/tests/cuda/gpt_bounds.o" "$lt/tests/cuda/fake_cublas/cublaslt.o" \
      "$lt/tests/cuda/cublaslt_cases.o" $others "$tmp/lt.o" "$build/libzptrial.a" \
      "$build/libzpcuda.a" "$build/libsimdev.a" "$build/libzeroproof.a" -pthread \
      -ljansson -lxxhash -lm 2>"$tmp/why"
  compiled=$?
  timeout 60 "$tmp/test" orders >"$tmp/out" 2>&1
  got=$?
  [ $changed -eq 1 ] && [ $compiled -eq 0 ] && [ $got -ne 0 ] && grep -q '^not ok' "$tmp/out"
  verdict $? "fault:$1" "changed $changed, compiled $compiled, exit code $got: $(head -1 "$tmp/why")"
}
fault_lt alignment_not_told 's/    if (i == OF_C)/    if (0)/'
fault_lt matrix_not_turned 's/p->ak != 1, p->a/0, p->a/'
fault_lt all_batches_the_first 's/k->step\[which\] = step.inner/k->step[which] = 0/'
fault_lt bias_not_told 's|  if (p->bias)$|  if (0)|'
fault_lt a_refusal_fails 's/if (n == 0 || \(.*\)) return 1/if (n == 0 || \1) return -1/'
fault_lt all_left_to_refs_own 's/if (n == 0 ||/if (1 ||/'
fault_lt refused_and_not_told 's/if (result > 0) give_up(k, p)/if (result > 0) k->none = 1/'
fault_lt loaded_in_a_step 's/products->loads = 1/products->loads = 0/'
fault_lt tf32_allowed 's/COMPUTE_32F_PEDANTIC/COMPUTE_32F/'

range=is_within_the_bounds
fault products_without_error bound_layers bound_layers.c $range 's/gamma_of(terms) \* size/0 * size/'
fault fewer_terms bound_layers bound_layers.c $range 's/gamma_of(terms) \* size/gamma_of(1) * size \/ 64/'
fault half_a_unit_halved form form.c $range 's/0x1p-8 : 0x1p-11/0x1p-12 : 0x1p-15/'
fault gelus_slope bound_layers bound_layers.c $range 's/0.134145f/0.13f/'
fault means_not_subtracted bound_layers bound_layers.c $range 's/zp_form_sum(s, t, -1, mean_e)/zp_form_sum(s, t, 0, mean_e)/'
finish
