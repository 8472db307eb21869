/* The ops of a program that an executor runs: STEP-2 and STEP-6 as folds over the first i ops. ACSL
 * only. Included by ref/engine/cursor.h after the types of ref/plan/program.h.
 *
 * before: 1 if the step is known to be skipped when the program starts (0 in ZP_PHASE_STEP).
 * decision: the result of its DECIDE.
 * spec: STEP-2, STEP-6, LEDG-1
 */
#ifndef ZP_SPEC_ACSL_CURSOR_H
#define ZP_SPEC_ACSL_CURSOR_H

/*@ logic boolean Communicates(integer kind) = kind >= ZP_OP_FIRST_COMM;

    // 1 if the step is known to be skipped when op i is reached
    logic integer SkippedAt{L}(zp_op *ops, integer i, integer before, integer decision) =
      i <= 0 ? before :
      ops[i - 1].kind == ZP_OP_DECIDE ? decision : SkippedAt(ops, i - 1, before, decision);
    logic boolean Issues{L}(zp_op *ops, integer i, integer before, integer decision) =
      Communicates(ops[i].kind) &&
      (ops[i].if_stepped == 0 || SkippedAt(ops, i, before, decision) == 0);
    // communications issued before op i
    logic integer Issued{L}(zp_op *ops, integer i, integer before, integer decision) =
      i <= 0 ? 0 :
      Issued(ops, i - 1, before, decision) + (Issues(ops, i - 1, before, decision) ? 1 : 0);

    // the ledger of group g made of the issued communications
    logic trace IssuedPut{L}(trace t, zp_op *ops, integer i, integer decision, integer g,
                             integer key) =
      Issues(ops, i, 0, decision) ? PutAt(t, ops + i, g, key, 1) : t;
    logic trace IssuedLedger{L}(zp_op *ops, integer n, integer decision, integer g, integer key) =
      n <= 0 ? Nothing :
      IssuedPut(IssuedLedger(ops, n - 1, decision, g, key), ops, n - 1, decision, g, key);

    // the first n ops: those that a skipped step omits come after the DECIDE at p, and the members
    // of a ledger are communications
    predicate Decided{L}(zp_op *ops, integer n, integer p, integer g) =
      0 <= p && ops[p].kind == ZP_OP_DECIDE &&
      (\forall integer i; 0 <= i < n && ops[i].if_stepped != 0 ==> p < i) &&
      (\forall integer i; 0 <= i < n && ops[i].group == g ==> Communicates(ops[i].kind));
*/

/*@ lemma Skipped_Range{L}: \forall integer i; 0 <= i ==>
      \forall zp_op *ops, integer before, decision;
        SkippedAt(ops, i, before, decision) == before ||
        SkippedAt(ops, i, before, decision) == decision;
    lemma Skipped_After{L}: \forall integer i; 0 <= i ==>
      \forall zp_op *ops, integer p, before, decision;
        0 <= p < i && ops[p].kind == ZP_OP_DECIDE ==>
        SkippedAt(ops, i, before, decision) == decision;
    // omitted ops decide nothing and issue nothing
    lemma LeftOut_Skipped{L}: \forall integer j; 0 <= j ==>
      \forall zp_op *ops, integer i, before, decision;
        0 <= i <= j && SkippedAt(ops, i, before, decision) == decision ==>
        SkippedAt(ops, j, before, decision) == decision;
    lemma LeftOut_Issued{L}: \forall integer j; 0 <= j ==>
      \forall zp_op *ops, integer i, before, decision;
        0 <= i <= j && decision != 0 && SkippedAt(ops, i, before, decision) == decision &&
        (\forall integer k; i <= k < j ==> ops[k].if_stepped != 0) ==>
        Issued(ops, j, before, decision) == Issued(ops, i, before, decision);
    // the communications issued in a group are the group's ledger for that decision (stepped 0:
    // skipped)
    lemma Issued_Put{L}: \forall integer i, n, p, g, key, stepped, decision, zp_op *ops, trace t;
      0 <= i < n && Decided(ops, n, p, g) && (stepped != 0 <==> decision == 0) ==>
      IssuedPut(t, ops, i, decision, g, key) == PutAt(t, ops + i, g, key, stepped);
    lemma Issued_Ledger{L}: \forall integer i; 0 <= i ==>
      \forall zp_op *ops, integer n, p, decision, g, key, stepped;
        i <= n && Decided(ops, n, p, g) && (stepped != 0 <==> decision == 0) ==>
        IssuedLedger(ops, i, decision, g, key) == LedgerOf(ops, i, g, key, stepped);
*/

#endif
