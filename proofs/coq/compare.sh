#!/bin/sh
# Compares Plan.v's layouts and programs with the C planner's.
# proofs/coq/compare.sh BUILD [N [SEED]]
#
# For all small configurations and N random ones (default 100000, seed 1, so that the result does
# not depend on chance): the layout of each stage, and each op of the four programs of each rank in
# all 18 fields. Prints the first difference. Then faults are injected into copies of the C planner;
# a difference must be found for each. Links BUILD/libzeroproof.a. This samples assumption O-1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-build}
count=${2:-100000}
seed=${3:-1}
out=$build/coq/compare
bad() { echo "compare: $1" >&2; exit 1; }
compile="${CC:-gcc} -std=c11 -O2 -ffp-contract=off -Wall -Wextra -Werror -pthread"

for tool in coqc ocamlfind python3; do
  command -v $tool >/dev/null ||
    bad "$tool is missing: apt-get install coq libzarith-ocaml-dev python3"
done
ocamlfind query zarith >/dev/null 2>&1 ||
  bad "zarith is missing: apt-get install libzarith-ocaml-dev"
[ -f "$build/libzeroproof.a" ] || bad "$build/libzeroproof.a is missing: make $build/libzeroproof.a"
library=$(realpath "$build")/libzeroproof.a
rm -rf "$out"
mkdir -p "$out"
cp "$here"/Op.v "$here"/OpOf.v "$here"/Plan.v "$here"/number.ml "$here"/compare.ml "$out"
cd "$out"

# Extraction, with Z as zarith's integers. Trusted: Coq's extraction, its library for zarith, and
# these replacements of functions that would be computed bit by bit; Z.quot and Z.rem have Coq's
# results for a zero divisor too. nat stays unary.
cat >Extract.v <<'X'
Require Import List ZArith Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
Require Import ZP.Op ZP.OpOf ZP.Plan.
Extract Constant Z.quot =>
 "(fun a b -> if Big_int_Z.sign_big_int b = 0 then b else Number.quot a b)".
Extract Constant Z.rem =>
 "(fun a b -> if Big_int_Z.sign_big_int b = 0 then a else Number.rem a b)".
Extract Constant Z.leb => "Big_int_Z.le_big_int".
Extract Constant Z.ltb => "Big_int_Z.lt_big_int".
Extraction Inline if_ops.
Extraction "plan.ml" layout_of program ZP_OPS.
X
for f in Op OpOf Plan Extract; do
  coqc -q -Q . ZP $f.v >coqc.out 2>&1 || bad "$f.v: $(cat coqc.out)"
done
rm -f plan.mli
ocamlfind ocamlopt -package zarith -linkpkg number.ml plan.ml compare.ml -o compare \
  >ocaml.out 2>&1 || bad "$(cat ocaml.out)"
# shellcheck disable=SC2086
$compile -I"$root" "$here/compare.c" "$library" -lm -o dump || bad "compare.c does not compile"

echo "compare: all small configurations"
./dump small | ./compare all
echo "compare: $count random configurations, seed $seed"
./dump random "$count" "$seed" | ./compare all

# injected FROM TO NAME: replaces FROM by TO in ref/plan; a difference must be found.
wrong=0
injected() {
  copy=injected
  rm -rf $copy
  mkdir -p $copy/proofs/coq $copy/ref $copy/spec
  cp -r "$root/ref/plan" $copy/ref
  cp -r "$root/spec/acsl" $copy/spec
  cp "$here/compare.c" $copy/proofs/coq
  files=$(cd $copy && grep -lF -e "$1" ref/plan/*.c) || {
    echo "  injected fault: ref/plan no longer contains '$1': update this fault" >&2
    wrong=1
    return 0
  }
  for f in $files; do
    FROM=$1 TO=$2 awk 'BEGIN { from = ENVIRON["FROM"]; to = ENVIRON["TO"] }
      { i = index($0, from)
        if (i) $0 = substr($0, 1, i - 1) to substr($0, i + length(from))
        print }' "$root/$f" >"$copy/$f"
  done
  # shellcheck disable=SC2086
  if ! (cd $copy && $compile -Wno-unused -Wno-unused-parameter proofs/coq/compare.c $files \
    "$library" -lm -o dump) >injected.out 2>&1; then
    verdict="NOT BUILT: $(head -3 injected.out)"
    wrong=1
  elif code=0 && { $copy/dump random 3000 1 | ./compare >injected.out 2>&1 || code=$?; } &&
    [ $code = 1 ] && grep -q '^differs: ' injected.out; then
    verdict="found: $(sed -n 's/^differs: //p' injected.out)"
  else
    verdict="NOT FOUND (exit code $code)"
    wrong=1
  fi
  printf '  injected  %-52s %s\n' "$3" "$verdict"
}

injected 'op.bucket = b;' 'op.bucket = b + 1;' "wrong bucket"
injected '(b + 1) % 2 : b % 2' 'b % 2 : b % 2' "wrong bucket slot"
injected 'mb % zp_alive(S, M, s)' 'mb % S' "wrong activation slot"
injected 'op.mb = send;' 'op.mb = recv;' "swapped micro-batch"
injected 'if (a.send_mb < 0 && a.recv_mb < 0) return n;' \
  'if (a.send_mb < 0 || a.recv_mb < 0) return n;' "P2P of one direction is left out"
injected 'mb == cfg->micro_batches - 1' 'mb == 0' "reduced after the first micro-batch"
injected 'op.offset = from - a.from;' 'op.offset = 0;' "a run starts at the entry's first element"
injected 'a.reduce == ZP_EXACT ? count * ZP_LIMBS : count;' 'count;' "a count without the limbs"
injected 'if (stage == 0) op.count = zp_bucket_padded(&f, b);' '' "a tied sum of one part"
injected 'key * TIED_STRIDE + b' 'k * TIED_STRIDE + b' \
  "the clock of a tied sum depends on the stage"
injected 'buckets - 1 - i, t' 'i, t' "updates in ascending order"
injected 'f->tied < 0 && zp_buckets(f) > 1' 'zp_buckets(f) > 1' "a tied flat group is updated later"
injected 'const int64_t start = f.numel;' 'const int64_t start = 0;' "entries overlap"
injected 'f.use = use;' 'f.use = 0;' "each use of a tied key has storage"
injected 'for (int32_t i = lay->n_params - 1; i >= 0; i--)' \
  'for (int32_t i = 0; i < lay->n_params; i++)' "first values of the first use of a tied key"
injected 'gather.what = ZP_WHAT_MASTER + state;' 'gather.what = ZP_WHAT_MASTER;' \
  "the master is saved three times"
injected 'if (!p->sharded && at.tp != 0) return 0;' '' "each tp rank writes a replica"
injected '(later * (int64_t)65536 + k)' '(later * (int64_t)65536 + k + 1)' "late clock of an update"
rm -rf injected
[ $wrong = 0 ] || bad "an injected fault was not found"
echo "compare: C and Coq agree; all injected faults found"
