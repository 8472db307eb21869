/* A rank's check for non-finite contributions over its whole program: STAT-3. Include after
 * ledger.h. */
#ifndef ZP_SPEC_ACSL_FLAG_H
#define ZP_SPEC_ACSL_FLAG_H

/* The values are uninterpreted: BadAt(p, mb, e) is 0 if element e of the gradient of entry p and
 * micro-batch mb is finite. */
/*@ axiomatic Contributions { logic integer BadAt(integer p, integer mb, integer e); } */

/* The number of non-finite values among n elements from `from` on; among the elements that op
 * counts; among those that a program counts. */
/*@ logic integer BadRun(integer p, integer mb, integer from, integer n) =
      n <= 0 ? 0 : BadRun(p, mb, from, n - 1) + (BadAt(p, mb, from + n - 1) != 0 ? 1 : 0);
    logic integer OpBad{L}(zp_op *op) =
      op->kind == ZP_OP_ADD ? BadRun(op->param, op->mb, op->offset, op->count) : 0;
    logic integer RunFlag{L}(zp_op *ops, integer n) =
      n <= 0 ? 0 : RunFlag(ops, n - 1) + OpBad(ops + (n - 1));
*/

/*@ lemma BadRun_None: \forall integer n; 0 <= n ==> \forall integer p, mb, from;
      (\forall integer e; from <= e < from + n ==> BadAt(p, mb, e) == 0) ==>
      BadRun(p, mb, from, n) == 0;
    lemma BadRun_Range: \forall integer n; 0 <= n ==> \forall integer p, mb, from;
      0 <= BadRun(p, mb, from, n);
    lemma BadRun_Some: \forall integer n; 0 <= n ==> \forall integer p, mb, from, e;
      from <= e < from + n && BadAt(p, mb, e) != 0 ==> 1 <= BadRun(p, mb, from, n);
    lemma OpBad_Range{L}: \forall zp_op *op; 0 <= OpBad(op);
    lemma OpBad_Some{L}: \forall zp_op *op, integer p, mb, e, k, b;
      AddsAt(op, p, mb, e, k, b) == 1 && BadAt(p, mb, e) != 0 ==> 1 <= OpBad(op);
    lemma OpBad_None{L}: \forall zp_op *op;
      (\forall integer e; AddsAt(op, op->param, op->mb, e, op->flat, op->bucket) == 1 ==>
        BadAt(op->param, op->mb, e) == 0) ==> OpBad(op) == 0;
    lemma Flag_Range{L}: \forall integer n; 0 <= n ==> \forall zp_op *ops; 0 <= RunFlag(ops, n);
    lemma Flag_Some{L}: \forall integer n; 0 <= n ==> \forall zp_op *ops, integer q;
      0 <= q < n && 1 <= OpBad(ops + q) ==> 1 <= RunFlag(ops, n);
    lemma Flag_None{L}: \forall integer n; 0 <= n ==> \forall zp_op *ops;
      (\forall integer q; 0 <= q < n ==> OpBad(ops + q) == 0) ==> RunFlag(ops, n) == 0;
    lemma Adds_Bit{L}: \forall zp_op *op, integer p, mb, e, k, b;
      AddsAt(op, p, mb, e, k, b) == 0 || AddsAt(op, p, mb, e, k, b) == 1;
    lemma Added_Range{L}: \forall integer n; 0 <= n ==>
      \forall zp_op *ops, integer p, mb, e, k, b; 0 <= Added(ops, n, p, mb, e, k, b);
    lemma Added_Some{L}: \forall integer n; 0 <= n ==>
      \forall zp_op *ops, integer q, p, mb, e, k, b; 0 <= q < n &&
      AddsAt(ops + q, p, mb, e, k, b) == 1 ==> 1 <= Added(ops, n, p, mb, e, k, b);
    lemma Added_None{L}: \forall integer n; 0 <= n ==>
      \forall zp_op *ops, integer p, mb, e, k, b; (\forall integer q; 0 <= q < n ==>
        AddsAt(ops + q, p, mb, e, k, b) == 0) ==> Added(ops, n, p, mb, e, k, b) == 0;
    // The flag is set iff some added element is non-finite.
    lemma Flag_Raised{L}: \forall zp_op *ops, integer n, p, mb, e, k, b; 0 <= n &&
      1 <= Added(ops, n, p, mb, e, k, b) && BadAt(p, mb, e) != 0 ==> 1 <= RunFlag(ops, n);
    predicate AllRunsFinite{L}(zp_op *ops, integer n) = \forall integer p, mb, e, k, b;
      1 <= Added(ops, n, p, mb, e, k, b) ==> BadAt(p, mb, e) == 0;
    lemma Flag_Quiet{L}: \forall zp_op *ops, integer n, q; 0 <= q < n && AllRunsFinite(ops, n) ==>
      OpBad(ops + q) == 0;
    lemma Flag_Clear{L}: \forall zp_op *ops, integer n; 0 <= n && AllRunsFinite(ops, n) ==>
      RunFlag(ops, n) == 0;
*/

#endif
