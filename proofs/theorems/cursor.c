/* Family 8: an executor that gets each next op from the cursor until the end issues exactly the
 * communications of its program, in order, each once. So the sequence that it issues in a group is
 * that group's ledger of LEDG-1. */
#include "../../ref/engine/cursor.h"

//@ check lemma sentinel: \false;

/* The communications that the loop of zp_rank_advance issues: at[k] is the position of the k-th;
 * returns their number. The k-th issued is the k-th communication of the program, and no
 * communication is missing. ops, at: (length), not overlapping. spec: STEP-2, STEP-6
 */
/*@ requires program: 0 <= length && \valid_read(ops + (0 .. length - 1));
    requires at: \valid(at + (0 .. length - 1));
    requires apart: \separated(at + (0 .. length - 1), ops + (0 .. length - 1));
    requires before: before == 0 || before == decision;
    terminates \true; exits \false;
    assigns at[0 .. length - 1];
    ensures all: \result == Issued{Pre}(ops, length, before, decision);
    ensures range: \forall integer k; 0 <= k < \result ==> 0 <= at[k] < length;
    ensures issues: \forall integer k; 0 <= k < \result ==>
      Issues{Pre}(ops, at[k], before, decision);
    ensures once: \forall integer k; 0 <= k < \result ==>
      Issued{Pre}(ops, at[k], before, decision) == k;
*/
int64_t issue(const zp_op *ops, int64_t length, int32_t before, int32_t decision, int64_t *at)
{
  int32_t skipped = before;
  int64_t n = 0, pc = 0;
  /*@ loop invariant range: 0 <= n <= pc <= length;
      loop invariant skipped: skipped == SkippedAt{Pre}(ops, pc, before, decision);
      loop invariant either: skipped == 0 || skipped == decision;
      loop invariant all: n == Issued{Pre}(ops, pc, before, decision);
      loop invariant place: \forall integer k; 0 <= k < n ==> 0 <= at[k] < pc;
      loop invariant issues: \forall integer k; 0 <= k < n ==>
        Issues{Pre}(ops, at[k], before, decision);
      loop invariant once: \forall integer k; 0 <= k < n ==>
        Issued{Pre}(ops, at[k], before, decision) == k;
      loop assigns pc, n, skipped, at[0 .. length - 1];
      loop variant length - pc; */
  while (pc < length) {
    //@ ghost int64_t from = pc;
    pc = zp_cursor_next(ops, length, pc, skipped);
    /*@ assert left_out: skipped != 0 ==>
          \forall integer k; from <= k < pc ==> \at(ops[k].if_stepped,Pre) != 0; */
    //@ assert skipped: skipped == SkippedAt{Pre}(ops, pc, before, decision);
    //@ assert all: n == Issued{Pre}(ops, pc, before, decision);
    if (pc == length) break;
    if (zp_op_communicates(&ops[pc])) {
      //@ assert issues: Issues{Pre}(ops, pc, before, decision);
      at[n] = pc;
      n++;
    }
    if (ops[pc].kind == ZP_OP_DECIDE) skipped = decision;
    pc++;
  }
  return n;
}
