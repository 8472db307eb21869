# gcc and clang, wide vectors and plain code (what a CPU without AVX runs) give the same bits:
# losses, norms, parameters, masters, moments. spec: NUM-2, OPT-3
# inputs: Makefile cuda/*.mk cuda/*/*.mk conformance/recorder/*.mk tests/lint/lint.mk
# inputs: tests/ref/*.mk tests/ref/*/*.mk
# inputs: cuda/kernels/nvcc.sh CLAIMS.md LICENSE proofs/pack.sh build/zeroproof
# inputs: tests/fixtures/lib.sh
# inputs: ref spec conformance/cases conformance/adapters/zeroproof
. tests/fixtures/lib.sh

# Nothing to compare under sanitizers: the plain `make test` does it.
[ "${SAN:-0}" = 1 ] && exit 0
case ${CC:-gcc} in
*clang*) other=gcc ;;
*) other=clang ;;
esac
build() { # build FOLDER COMPILER CFLAGS
  ${MAKE:-make} --no-print-directory -j"${JOBS:-1}" CC="$2" SAN=0 BUILD="$1" CFLAGS="$3" \
    all >"$tmp/out" 2>&1
  verdict $? "builds_${1##*/}" "$(grep -m3 -E 'error' "$tmp/out")"
}
build "$tmp/$other" $other ""
build "$tmp/plain" "${CC:-gcc}" -DZP_GPT_PLAIN

cp LICENSE "$tmp/text"
for precision in fp32 bf16 fp16; do
  for reduce in ordered exact; do
    set -- train --data "$tmp/text" --steps 4 --json --precision $precision --reduce $reduce
    a=$("$zp" "$@" | jq -r .bits)
    for folder in $other plain; do
      b=$("$tmp/$folder/zeroproof" "$@" | jq -r .bits)
      [ -n "$a" ] && [ "$a" = "$b" ]
      verdict $? "same_bits_${folder}_${precision}_$reduce" "$a and $b"
    done
  done
done
finish
