/* Lemmas about the folds of ledger.h. */
#ifndef ZP_SPEC_ACSL_LEDGER_LEMMAS_H
#define ZP_SPEC_ACSL_LEDGER_LEMMAS_H

/*@ lemma Ledger_Frame{A,B}: \forall integer n; 0 <= n ==>
      \forall zp_op *ops, integer g, key, stepped; SameOps{A,B}(ops, n) ==>
      LedgerOf{A}(ops, n, g, key, stepped) == LedgerOf{B}(ops, n, g, key, stepped);
    lemma Link_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_op *ops, integer peer;
      SameOps{A,B}(ops, n) ==> LinkOf{A}(ops, n, peer) == LinkOf{B}(ops, n, peer);
    lemma Added_Frame{A,B}: \forall integer n; 0 <= n ==>
      \forall zp_op *ops, integer param, mb, e, k, b; SameOps{A,B}(ops, n) ==>
      Added{A}(ops, n, param, mb, e, k, b) == Added{B}(ops, n, param, mb, e, k, b);
    lemma Filled_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_op *ops, integer k, b, mb;
      SameOps{A,B}(ops, n) ==> Filled{A}(ops, n, k, b, mb) == Filled{B}(ops, n, k, b, mb);
    lemma Reduced_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_op *ops, integer k, b, mb;
      SameOps{A,B}(ops, n) ==> Reduced{A}(ops, n, k, b, mb) == Reduced{B}(ops, n, k, b, mb);
    // Op p's clock is below op q's.
    predicate Precedes{L}(zp_op *ops, integer p, integer q) =
      ClockBelow(ops[p].clock_t, ops[p].clock_i, ops[q].clock_t, ops[q].clock_i);
    lemma Increasing_Next{L}: \forall zp_op *ops, integer n, q;
      Increasing(ops, n) && 0 <= q && q + 1 < n ==> Precedes(ops, q, q + 1);
    lemma Precedes_Trans{L}: \forall zp_op *ops, integer p, q, r;
      Precedes(ops, p, q) && Precedes(ops, q, r) ==> Precedes(ops, p, r);
    lemma Increasing_All{L}: \forall integer d; 0 <= d ==> \forall zp_op *ops, integer n, p;
      Increasing(ops, n) && 0 <= p && p + d + 1 < n ==> Precedes(ops, p, p + d + 1); */

#endif
