# nvcc compiles the kernels for both architectures, and what it makes of them rounds as the
# definitions say. The floating-point operations are looked for in PTX, where each names its
# rounding and ptxas may fuse none that does. spec: OPT-3, NUM-2
. tests/cli/lib.sh

nvcc=$(sh cuda/kernels/nvcc.sh 2>"$tmp/why") || {
  echo "not run: no nvcc: $(tail -1 "$tmp/why")"
  exit 0
}
if ! command -v g++ >/dev/null 2>&1; then
  echo "not run: no g++, with which nvcc compiles its host part"
  exit 0
fi
flags=$(sh cuda/kernels/nvcc.sh --flags)
source=cuda/kernels/kernels.cu

for arch in 80 90; do
  "$nvcc" $flags -gencode "arch=compute_$arch,code=sm_$arch" -c $source -o "$tmp/sm_$arch.o" \
    >"$tmp/out" 2>&1
  verdict $? "nvcc_and_ptxas_accept_the_kernels_for_sm_$arch" "$(head -3 "$tmp/out")"
done

# The object gives the handles that the header names, and nothing that the library has as well.
sed -n 's/^extern const void \*const \(zp_kernel_[a-z_]*\);/\1/p' cuda/kernels/kernels.h |
  sort >"$tmp/named"
nm "$tmp/sm_90.o" | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | grep zp_ | sort >"$tmp/defined"
grep '^zp_kernel_' "$tmp/defined" | diff - "$tmp/named" >"$tmp/out"
verdict $? nvcc_s_object_has_every_handle "$(cat "$tmp/out")"
grep -vE '^zp_kernel_|zp_[a-z_]*_entry' "$tmp/defined" >"$tmp/more"
[ ! -s "$tmp/more" ]
verdict $? nvcc_s_object_has_no_name_of_the_library "$(head -3 "$tmp/more")"
nm "$tmp/sm_90.o" | awk '$1 == "U" { print $2 }' | grep zp_ >"$tmp/missing"
[ ! -s "$tmp/missing" ]
verdict $? nvcc_s_object_needs_nothing_of_the_library "$(head -3 "$tmp/missing")"

# faults FILE: floating-point instructions that are no single rounding to nearest even, subnormals
# kept; and atomics that are not of integers.
faults() {
  sed 's/^[ \t]*\(@!\{0,1\}%p[0-9]* \)\{0,1\}//; s/[ \t].*//; s/;$//' "$1" |
    grep -E '\.(b?f16|bf16|tf32|f32|f64)(x2)?(\.|$)|^(fma|mad)\.|approx|ftz' |
    grep -vE '^(add|sub|mul|div|sqrt)\.rn\.f(32|64)$' |
    grep -vE '^cvt\.(rn\.f32\.f64|rn\.f64\.s64|f64\.f32)$' |
    grep -vE '^(ld|st)(\.(global|shared|local|param))?(\.nc)?(\.v[24])?\.f(32|64)$' |
    grep -vE '^(mov|selp|neg|abs|min|max|setp\.[a-z]+)\.f(32|64)$' |
    grep -vE '^mad\.(lo|hi|wide)\.[su](16|32|64)$'
}

compute() { # compute NAME FLAG...: PTX in $tmp/NAME
  name=$1
  shift
  "$nvcc" $flags "$@" -arch=compute_80 -ptx $source -o "$tmp/$name" >"$tmp/out" 2>&1
}

compute good
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

# What ptxas made of it, where a disassembler is: no fused operation where nothing is divided.
if command -v cuobjdump >/dev/null 2>&1; then
  for kernel in gather_ordered add_ordered squares; do
    cuobjdump -sass -fun "zp_${kernel}_entry" "$tmp/sm_90.o" >"$tmp/sass" 2>&1 &&
      ! grep -E '\b[FDH]FMA' "$tmp/sass" >"$tmp/out"
    verdict $? "no_fused_operation_in_sass:$kernel" "$(head -3 "$tmp/out")"
  done
else
  echo "not run: no cuobjdump to look into the machine code with"
fi
finish
