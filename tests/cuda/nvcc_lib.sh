# Sourced by test_nvcc*.sh, after tests/cli/lib.sh: nvcc, or the end of the test; and looks at what it
# made of $source.

nvcc=$(sh cuda/kernels/nvcc.sh 2>"$tmp/why") || {
  echo "not run: no nvcc: $(tail -1 "$tmp/why")"
  exit 0
}
if ! command -v g++ >/dev/null 2>&1; then
  echo "not run: no g++, with which nvcc compiles its host part"
  exit 0
fi
flags=$(sh cuda/kernels/nvcc.sh --flags)

# faults FILE: floating-point instructions that are no single rounding to nearest even, subnormals
# kept; and atomics that are not of integers.
faults() {
  sed 's/^[ \t]*\(@!\{0,1\}%p[0-9]* \)\{0,1\}//; s/[ \t].*//; s/;$//' "$1" |
    grep -E '\.(b?f16|bf16|tf32|f32|f64)(x2)?(\.|$)|^(fma|mad)\.|approx|ftz' |
    grep -vE '^(add|sub|mul|div|sqrt)\.rn\.f(32|64)$' |
    grep -vE '^cvt\.(rn\.f32\.f64|rn\.f64\.s64|f64\.f32|f32\.f16|rn\.f16\.f32)$' |
    grep -vE '^(ld|st)(\.(global|shared|local|param))?(\.nc)?(\.v[24])?\.f(32|64)$' |
    grep -vE '^(mov|selp|neg|abs|min|max|setp\.[a-z]+)\.f(32|64)$' |
    grep -vE '^mad\.(lo|hi|wide)\.[su](16|32|64)$'
}

compute() { # compute NAME FLAG...: PTX in $tmp/NAME
  name=$1
  shift
  "$nvcc" $flags "$@" -arch=compute_80 -ptx $source -o "$tmp/$name" >"$tmp/out" 2>&1
}

# What ptxas made of it. Dividing and taking roots are fused operations and corrections in machine
# code; where PTX has neither, nothing may be fused, nor flushed to zero. 0 * 0 + X in half precision
# is how ptxas loads a constant.
fused() { # fused PTX SASS: each such operation with its kernel; on stderr, how many were looked at
  awk 'FNR == NR {
      if (match($0, /\.entry [a-z_0-9]+/)) name = substr($0, RSTART + 7, RLENGTH - 7)
      if (/[ \t](div|sqrt)\.rn\./) divides[name] = 1
      next
    }
    /^\.text\.zp_/ { name = substr($1, 7); sub(/:.*/, "", name); if (!divides[name]) looked++ }
    /HFMA2[.A-Z]* R[0-9]+, -RZ, RZ, / { next }
    !divides[name] && match($0, /[ \t]([FDH]FMA|(FADD|FMUL)\.FTZ)[^ ]*/) {
      print name substr($0, RSTART, RLENGTH)
    }
    END { print looked + 0 > "/dev/stderr" }' "$1" "$2"
}
