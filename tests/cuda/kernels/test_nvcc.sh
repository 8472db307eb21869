# nvcc compiles the kernels for both architectures to code that rounds as the definitions say. The
# test reads the floating-point operations in PTX: ptxas may not fuse operations that name their
# rounding. spec: OPT-3, NUM-2
# inputs: tests/fixtures/lib.sh tests/fixtures/nvcc_lib.sh tests/fixtures/wheel.sh cuda/wheel.sh
# inputs: conformance/locks cuda/kernels cuda/simdev ref spec/acsl
. tests/fixtures/lib.sh
. tests/fixtures/nvcc_lib.sh
. tests/fixtures/wheel.sh

source=cuda/kernels/kernels.cu

for arch in 80 90; do
  "$nvcc" $flags -gencode "arch=compute_$arch,code=sm_$arch" -c $source -o "$tmp/sm_$arch.o" \
    >"$tmp/out" 2>&1
  verdict $? "nvcc_and_ptxas_accept_the_kernels_for_sm_$arch" "$(head -3 "$tmp/out")"
done

# The object gives the handles that the header names, and nothing that the library has as well.
cc -E -P cuda/kernels/kernels.h | tr ';' '\n' |
  sed -n 's/^ *extern const void \*const \(zp_kernel_[a-z_]*\)$/\1/p' | sort >"$tmp/named"
nm "$tmp/sm_90.o" | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | grep zp_ | sort >"$tmp/defined"
grep '^zp_kernel_' "$tmp/defined" | diff - "$tmp/named" >"$tmp/out" && [ -s "$tmp/named" ]
verdict $? nvcc_s_object_has_every_handle "$(cat "$tmp/out")"
grep -vE '^zp_kernel_|zp_[a-z_]*_entry' "$tmp/defined" >"$tmp/more"
[ ! -s "$tmp/more" ]
verdict $? nvcc_s_object_has_no_name_of_the_library "$(head -3 "$tmp/more")"
nm "$tmp/sm_90.o" | awk '$1 == "U" { print $2 }' | grep zp_ >"$tmp/missing"
[ ! -s "$tmp/missing" ]
verdict $? nvcc_s_object_needs_nothing_of_the_library "$(head -3 "$tmp/missing")"

compute good
cp "$tmp/good" "$tmp/good.ptx"
verdict $? nvcc_writes_ptx "$(head -3 "$tmp/out")"
[ "$(grep -cE '\.rn\.f(32|64)' "$tmp/good")" -ge 40 ]
verdict $? ptx_has_the_operations_of_the_update "$(grep -cE '\.rn\.f(32|64)' "$tmp/good")"
wrong=$(faults "$tmp/good" | sort | uniq -c | head -5)
[ -z "$wrong" ]
verdict $? every_operation_in_ptx_is_one_rounding "$wrong"

# The same look finds each flag's absence.
for flag in -fmad=true -ftz=true -prec-div=false -prec-sqrt=false; do
  compute bad $flag && [ -n "$(faults "$tmp/bad")" ]
  verdict $? "found_without_it:$flag" "nothing found"
done
sed 's/atom\.global\.add\.u64/atom.global.add.f32/' "$tmp/good" >"$tmp/bad"
[ -n "$(faults "$tmp/bad")" ]
verdict $? found:floating_point_atomics "nothing found"

if look=$(sh cuda/kernels/nvcc.sh --nvdisasm 2>"$tmp/why"); then
  for arch in 80 90; do
    "$nvcc" "-arch=sm_$arch" -cubin "$tmp/good.ptx" -o "$tmp/cubin" >"$tmp/out" 2>&1 &&
      "$look" "$tmp/cubin" >"$tmp/sass" 2>"$tmp/out"
    verdict $? "machine_code_is_read_for_sm_$arch" "$(head -3 "$tmp/out")"
    wrong=$(fused "$tmp/good" "$tmp/sass" 2>"$tmp/looked" | sort | uniq -c | head -5)
    [ -z "$wrong" ] && [ "$(cat "$tmp/looked")" -ge 8 ]
    verdict $? "nothing_is_fused_in_machine_code_for_sm_$arch" \
      "$wrong ($(cat "$tmp/looked") kernels)"
  done

  # What the exact norm costs in a window: machine instructions an element, of the stretch without
  # a branch that has four additions in fp64 for each. All of the kernel may have 17 for bf16 and 34
  # for fp32 on an H200; loads, loops and full windows take 3 to 6 of them (cuda/README.md).
  awk '/^\.text\./ { inside = /zp_squares_entry/ } !inside { next }
    /^\.L|BRA|CALL|RET|EXIT/ {
      if (added >= 64) print all / (added / 4), added / 4, kept + 0
      all = added = kept = 0
      next
    }
    /\/\*[0-9a-f]+\*\// { all++; if (/DADD/) added++; if (/LDL|STL/) kept++ }' \
    "$tmp/sass" >"$tmp/costs"
  [ "$(wc -l <"$tmp/costs")" -ge 3 ] && awk '$1 > 12 { above = 1 } END { exit above }' "$tmp/costs"
  verdict $? "exact_norm_is_within_its_budget" "$(tr '\n' ';' <"$tmp/costs")"
  awk '$3 > 0 { some = 1 } END { exit some || NR == 0 }' "$tmp/costs"
  verdict $? "exact_norm_adds_without_local_memory" "$(tr '\n' ';' <"$tmp/costs")"
  grep -q 'LDG\.E\.128' "$tmp/sass"
  verdict $? "machine_code_loads_16_bytes_at_once" "no LDG.E.128"
  ! grep -E ' (LD|ST)\.E\.128' "$tmp/sass" >"$tmp/out"
  verdict $? "all_of_them_are_known_to_be_global_memory_s" "$(head -1 "$tmp/out")"

  # The same look finds one fused operation.
  ptx=$(grep -n '\.entry zp_add_ordered_entry' "$tmp/good" | cut -d: -f1)
  sed "$ptx,\$ s/add\.rn\.f32 \(.*\), \(.*\), \(.*\);/fma.rn.f32 \1, \2, \3, \3;/" \
    "$tmp/good" >"$tmp/bad.ptx"
  "$nvcc" -arch=sm_80 -cubin "$tmp/bad.ptx" -o "$tmp/cubin" >"$tmp/out" 2>&1 &&
    "$look" "$tmp/cubin" >"$tmp/sass" 2>>"$tmp/out" &&
    fused "$tmp/good" "$tmp/sass" 2>>"$tmp/out" | grep -q zp_add_ordered_entry
  verdict $? found:a_fused_addition_in_machine_code "$(head -3 "$tmp/out")"
else
  echo "not run: no disassembler: $(tail -1 "$tmp/why")"
fi

# ---- Where there is no nvcc ----------------------------------------------------------------------

unset ZP_NVCC
mkdir "$tmp/path"
printf '#!/bin/sh\nexit 1\n' >"$tmp/path/nvcc"
chmod +x "$tmp/path/nvcc"
absent="$tmp/path:$PATH"

PATH=$absent ZP_CACHE="$tmp/empty" ZP_FETCH=0 sh cuda/kernels/nvcc.sh >"$tmp/out" 2>&1
[ $? = 1 ] && grep -q 'nothing may be fetched' "$tmp/out" && [ ! -d "$tmp/empty/nvcc-13.0.88" ]
verdict $? no_nvcc_and_nothing_may_be_fetched "$(head -3 "$tmp/out")"

# An index that serves another file: it is not used, and nothing of it stays.
if python3 -m pip --version >/dev/null 2>&1; then
  make_wheel "$tmp" nvidia-cuda-nvcc 13.0.88 manylinux2014_x86_64 >/dev/null
  PATH=$absent ZP_CACHE="$tmp/empty" PIP_NO_INDEX=1 PIP_FIND_LINKS=$tmp sh cuda/kernels/nvcc.sh \
    >"$tmp/out" 2>&1
  [ $? = 1 ] && grep -q 'DO NOT MATCH THE HASHES' "$tmp/out" && [ -z "$(ls "$tmp/empty")" ]
  verdict $? a_wheel_with_another_digest_is_refused "$(head -3 "$tmp/out")"
else
  echo "not run: a_wheel_with_another_digest_is_refused (needs python3-pip)"
fi

# The wheels' nvcc makes the same machine code; fetched once, outside of the repository.
if nvcc=$(PATH=$absent sh cuda/kernels/nvcc.sh 2>"$tmp/why"); then
  [ "$(PATH=$absent ZP_FETCH=0 sh cuda/kernels/nvcc.sh 2>&1)" = "$nvcc" ]
  verdict $? nvcc_is_fetched_once "$nvcc"
  case $nvcc in "$PWD"/*) false ;; *) true ;; esac
  verdict $? nvcc_is_kept_outside_of_the_repository "$nvcc"
  "$nvcc" $flags -arch=sm_90 -cubin $source -o "$tmp/cubin" >"$tmp/out" 2>&1
  verdict $? nvcc_of_the_wheels_compiles_the_kernels "$(head -3 "$tmp/out")"
else
  echo "not run: no nvcc of PyPI's: $(tail -1 "$tmp/why")"
fi
finish
