# gcc and clang give the same bits: losses, norms, parameters, masters, moments. spec: NUM-2, OPT-3
. tests/cli/lib.sh

if [ "${SAN:-0}" = 1 ]; then
  echo "ok compilers_are_compared_without_sanitizers"
  exit 0
fi
case ${CC:-gcc} in
*clang*) other=gcc ;;
*) other=clang ;;
esac
${MAKE:-make} --no-print-directory -j"${JOBS:-1}" CC=$other SAN=0 \
  BUILD=build-$other all >"$tmp/out" 2>&1
verdict $? "builds_with_$other" "$(grep -m3 -E 'error' "$tmp/out")"

head -c 20000 tests/cli/test_options.sh >"$tmp/text"
for precision in fp32 bf16 fp16; do
  for reduce in ordered exact; do
    set -- train --data "$tmp/text" --steps 4 --json --precision $precision --reduce $reduce
    a=$("$zp" "$@" | jq -r .bits)
    b=$("build-$other/zeroproof" "$@" | jq -r .bits)
    [ -n "$a" ] && [ "$a" = "$b" ]
    verdict $? "same_bits_${precision}_$reduce" "$a and $b"
  done
done
finish
