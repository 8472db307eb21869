#!/bin/sh
# Compiles and checks the Coq proofs: proofs/coq/run.sh BUILD
#
# 1. OpOf.v is what generate.py writes; coqc compiles every file. 2. Audit.v's output
# (definitions, statements, assumptions) equals audit.expected, so no statement changes unnoticed.
# 3. Every theorem is closed under the global context. 4. coqchk re-checks the compiled files, and
# the part of Coq's library that they use, with its own small kernel. 5. Step 3 detects an injected
# axiom. 6. The programs of Plan.v are compared with the C planner's. Exits with 0 if all checks
# pass.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-build}"
top=$(realpath "${1:-build}")
build=$top/coq
files="Program NoDeadlock Schedule Run Needed Order Op OpOf Plan PlanFacts Valid LayoutFacts \
  Channels StepClocks StepLedgers StepHypotheses InitSave Decision StepDecision PlannerRun \
  Assertions Sums MeaningChannels Meaning Serial MeaningLayout Contract Gradients Pipeline Tail \
  Updates Ranks Kept Ties TiedGroups TiedSums TiedOps World StepShape ShardedEqualsSerial Execute \
  Falsified Start Noted Joined NoBarrier Between Examples Writers Storage Saved SavedState \
  Loaded SaveLoadEnds Continued SaveFalsified"
bad() { echo "coq: $1" >&2; exit 1; }

command -v coqc >/dev/null || bad "coqc is missing: apt-get install coq"
mkdir -p "$build"
rm -f "$build"/*.v* "$build"/.*.aux "$build"/*.glob "$build"/*.out "$build"/*.diff
cp "$here"/*.v "$build"
cd "$build"
python3 -B "$here/generate.py" "$here/../.." >generated.out || bad "generate.py fails"
cmp generated.out OpOf.v ||
  bad "OpOf.v is out of date: python3 proofs/coq/generate.py . >proofs/coq/OpOf.v"
coqc --version | head -1
if grep -nE '^ *(Axiom|Parameter|Conjecture|Admitted|Unset (Guard|Positivity|Universe))|admit\.' \
  $(for f in $files; do echo "$f.v"; done); then bad "the lines above assume instead of proving"; fi
for f in $files; do coqc -q -Q . ZP "$f.v" || bad "$f.v is not proven"; done
coqc -q -Q . ZP Audit.v >audit.out || bad "Audit.v does not compile"
cmp -s audit.out "$here/audit.expected" || {
  diff -u "$here/audit.expected" audit.out >audit.diff || true
  head -40 audit.diff
  bad "definitions, statements or assumptions differ from audit.expected"
}
theorems=$(grep -c '^Check' Audit.v)
closed=$(grep -c '^Closed under the global context$' audit.out)
[ "$theorems" -gt 0 ] && [ "$theorems" = "$closed" ] ||
  bad "$closed of $theorems theorems are closed under the global context"

cat >Planted.v <<'X'
Axiom planted : 0 = 1.
Theorem false : False. Proof. discriminate planted. Qed.
Print Assumptions false.
X
coqc -q -Q . ZP Planted.v >planted.out || bad "the file with the injected axiom does not compile"
if grep -q '^Closed' planted.out; then bad "the injected axiom was not detected"; fi

# Not Falsified.v and SaveFalsified.v: their results are computed by coqc's virtual machine, which
# coqchk does not use.
modules=
for f in $files; do
  case $f in *Falsified) ;; *) modules="$modules ZP.$f" ;; esac
done
# shellcheck disable=SC2086
coqchk -silent -o -Q . ZP $modules >coqchk.out 2>&1 || bad "coqchk: $(tail -3 coqchk.out)"
grep -q '^\* Axioms: <none>$' coqchk.out || bad "coqchk finds axioms"
[ "$(grep -c ': <none>$' coqchk.out)" = 4 ] || bad "coqchk: $(cat coqchk.out)"

# 6. Plan.v's programs are the C planner's, in samples. (O-1)
sh "$here/compare.sh" "$top" || bad "Plan.v differs from the C planner"

for t in $(sed -n 's/^Check \(.*\)\.$/\1/p' Audit.v); do
  f=$(grep -lE "^(Theorem|Corollary) $t\b" $(for m in $files; do echo "$m.v"; done))
  printf '  %-34s %-14s closed under the global context\n' "$t" "$f"
done
echo "coq: $theorems theorems, no axioms; coqchk agrees"
