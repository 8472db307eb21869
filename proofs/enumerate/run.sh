#!/bin/sh
# Checks the contracts of the C code independently of WP, by exhaustive enumeration up to stated
# bounds, against definitions that count.
# proofs/enumerate/run.sh BUILD [half|memory|rest|unplanted]
#
# half: only the program that takes all 2^32 inputs; memory: the others under MemorySanitizer, which
# reports each read of memory that has no value; rest: everything else.
# The programs are linked with BUILD/libzeroproof.a. Then faults are injected into copies of the
# sources; each must be found, unless "unplanted" is given. (Debian 12 and PyPI package no bounded
# model checker of C: PyPI's "cbmc" is another program.)
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
out=$build/enumerate
wrong=0
compile="${CC:-gcc} -std=c11 -O2 -ffp-contract=off -Wall -Wextra -Werror -pthread"
mkdir -p "$out"
library=$(realpath "$build")/libzeroproof.a

# All 2^32 inputs take half a minute, with sanitizers three. So this program always runs without
# them, in parallel with the others.
if [ "${2:-}" != rest ]; then
  # shellcheck disable=SC2086
  $compile proofs/enumerate/half.c ref/num/half.c -lm -o "$out/half"
  [ "${2:-}" != half ] || exec "$out/half"
  "$out/half" >"$out/half.txt" &
  half=$!
fi

# WP 25 does not check that what a function reads has a value; the gate requires one of each
# variable, and this checks what is behind pointers. A planted read must be found.
memory() {
  if ! command -v clang >/dev/null; then
    echo "enumerate: clang is missing: apt-get install clang libclang-rt-dev" >&2
    wrong=1
    return 0
  fi
  with="clang -std=c11 -O1 -g -fsanitize=memory -fno-sanitize-recover -pthread -I."
  for name in partition pipeline exact program; do
    # shellcheck disable=SC2086
    $with proofs/enumerate/$name.c ref/plan/*.c ref/num/*.c -lm -o "$out/memory" &&
      "$out/memory" || wrong=1
  done
  copy=$out/unwritten
  rm -rf "$copy"
  mkdir -p "$copy/proofs" "$copy/ref" "$copy/spec"
  cp -r spec/acsl "$copy/spec"
  cp -r ref/plan ref/num "$copy/ref"
  cp -r proofs/enumerate "$copy/proofs"
  sed 's/zp_op op = {0};/zp_op op;/; /op.bucket = -1;/d' ref/plan/op.h \
    >"$copy/ref/plan/op.h"
  # shellcheck disable=SC2086
  if (cd "$copy" && $with proofs/enumerate/program.c ref/plan/*.c ref/num/*.c -lm -o p) &&
    ! "$copy/p" >"$copy/out" 2>&1 &&
    grep -q 'MemorySanitizer: use-of-uninitialized-value' "$copy/out"; then
    echo "  memory    every value that is read was written; a bucket without a value is found"
  else
    echo "  memory    an op whose bucket has no value: NOT FOUND"
    wrong=1
  fi
  rm -rf "$copy" "$out/memory"
}
if [ "${2:-}" = memory ]; then
  memory
  exit $wrong
fi
[ "${SAN:-0}" = 0 ] || compile="$compile -fsanitize=address,undefined"

for name in partition pipeline exact program; do
  # shellcheck disable=SC2086
  $compile "proofs/enumerate/$name.c" "$build/libzeroproof.a" -lm -o "$out/$name"
  "$out/$name" || wrong=1
done
if [ "${2:-}" != rest ]; then
  wait $half || wrong=1
  cat "$out/half.txt"
  [ "${2:-}" = unplanted ] || memory
fi
[ "${2:-}" != unplanted ] || exit $wrong

# planted PROGRAM FOLDER FROM TO NAME: replaces FROM by TO in ref/FOLDER; PROGRAM must exit with 1
planted() {
  copy=$out/planted
  rm -rf "$copy"
  mkdir -p "$copy/ref" "$copy/spec" "$copy/proofs"
  cp -r ref/plan ref/num "$copy/ref"
  cp -r spec/acsl "$copy/spec"
  cp -r proofs/enumerate "$copy/proofs"
  files=$(cd "$copy" && grep -lF -e "$3" ref/"$2"/*.c) || {
    echo "  injected fault: ref/$2 no longer contains '$3': update this fault" >&2
    wrong=1
    return 0
  }
  for f in $files; do
    FROM=$3 TO=$4 awk 'BEGIN { from = ENVIRON["FROM"]; to = ENVIRON["TO"] }
      { i = index($0, from)
        if (i) $0 = substr($0, 1, i - 1) to substr($0, i + length(from))
        print }' "$f" >"$copy/$f"
  done
  verdict=found
  code=0
  # shellcheck disable=SC2086
  if ! (cd "$copy" && $compile -O1 -Wno-unused -Wno-unused-parameter "proofs/enumerate/$1.c" \
    $files "$library" -lm -o p) >"$copy/out" 2>&1; then
    cat "$copy/out"
    verdict="NOT BUILT"
    wrong=1
  else
    # shellcheck disable=SC3045 # dash has ulimit -t
    (ulimit -t 60 && cd "$copy" && exec ./p) >"$copy/out" 2>&1 || code=$?
    [ $code = 1 ] || verdict="NOT FOUND (exit code $code)"
    [ $code = 1 ] || wrong=1
  fi
  printf '  injected  %-56s %s\n' "$5" "$verdict"
}

planted partition plan 'return zp_bucket_padded(f, b) / f->members' \
  'return zp_bucket_numel(f, b) / f->members' "a part omits the padding"
planted partition plan 'f.capacity = zp_round_up(cfg->bucket, members * cfg->align)' \
  'f.capacity = zp_round_up(cfg->bucket, cfg->align)' "the capacity is not a multiple of D"
planted partition plan 'if (p->tied >= 0) return lay->n_flats;' '' \
  "a tied entry joins another flat group"
planted partition plan 'm.dp = mix(i, cfg->ep, at.dp % cfg->ep)' \
  'm.dp = mix(i, cfg->ep, at.dp / cfg->ep)' "edp and ep swapped in one index"
planted pipeline plan 'return S - s < M ? S - s : M;' 'return S - s + 1 < M ? S - s + 1 : M;' \
  "one activation too many"
planted pipeline plan 't + s + 1 - 2 * S' 't + s + 3 - 2 * S' "a backward two slots too early"
planted program plan 'mb == cfg->micro_batches - 1' 'mb == 0' "reduced after the first micro-batch"
planted program plan 'key * TIED_STRIDE + b' 'k * TIED_STRIDE + b' \
  "the clock of a tied sum depends on the stage"
planted exact num '== 255u' '== 254u' "the largest binade counts as non-finite"
planted exact num 'int32_t i = 0; i < n - 1; i++' 'int32_t i = 0; i < n - 2; i++' \
  "a carry stops one limb early"
planted half num 'lost > 4096u' 'lost >= 4096u' "a tie is not rounded to even"
rm -rf "$out/planted"
[ $wrong = 0 ] && echo "enumerate: all contracts hold within bounds, all injected faults found"
exit $wrong
