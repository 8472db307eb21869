/* The predicates of op_tail.h determine the ops after the pipeline. Include after op_unique.h.
 * LEDG-1, STEP-8 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_TAIL_H
#define ZP_SPEC_ACSL_OP_UNIQUE_TAIL_H

/* ---- Updates and gathers ---- */
/*@ lemma Gather_Unique{A,B}: \forall zp_op *o, zp_op *x, integer g, n, c, d, a, dtype, k, t, clock,
      buckets, r; IsGather{A}(o, g, n, c, d, a, dtype, k, t, clock, buckets, r) &&
      IsGather{B}(x, g, n, c, d, a, dtype, k, t, clock, buckets, r) ==> EqualOps{A,B}(o, x);
    lemma OneUpdate_Unique{A,B}: \forall zp_op *o, zp_op *x, integer stage, k, t, clock, buckets, r;
      IsUpdate{A}(o, stage, k, t, clock, buckets, r) &&
      IsUpdate{B}(x, stage, k, t, clock, buckets, r) ==> EqualOps{A,B}(o, x);
    lemma UpdateOp_Unique{A,B}: \forall zp_op *o, zp_op *x, integer g, n, c, d, a, stage, dtype, k,
      t, clock, buckets, r; 0 <= r &&
      UpdateOp{A}(o, g, n, c, d, a, stage, dtype, k, t, clock, buckets, r) &&
      UpdateOp{B}(x, g, n, c, d, a, stage, dtype, k, t, clock, buckets, r) ==>
      EqualOps{A,B}(o, x);
    lemma FlatUpdate_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_flat *f, integer u, stage,
      precision, k, t, r; 0 <= r && FlatUpdateOp{F,A}(o, f, u, stage, precision, k, t, r) &&
      FlatUpdateOp{F,B}(x, f, u, stage, precision, k, t, r) ==> EqualOps{A,B}(o, x);
    predicate PassFloor{L}(zp_flat *f, integer u, integer stage, integer x, integer q) =
      UpdateLen(stage, Pass(f, PassBlock(f, u, stage, x, q), u)) <= q;
    lemma PassFloor_None{L}: \forall zp_flat *f, integer u, stage, q; 0 <= q ==>
      PassFloor(f, u, stage, 0, q);
    lemma PassFloor_Next{L}: \forall zp_flat *f, integer u, stage, x, next, q; 0 <= x &&
      next == x + 1 && PassFloor(f, u, stage, x, q) ==> PassFloor(f, u, stage, next, q);
    lemma PassBlock_Floor{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer u, stage,
      q; 0 <= q ==> PassFloor(f, u, stage, x, q);
    lemma PassOp_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_flat *f, integer u, stage, precision,
      t, n, q; 0 <= n && 0 <= q && PassOp{F,A}(o, f, u, stage, precision, t, n, q) &&
      PassOp{F,B}(x, f, u, stage, precision, t, n, q) ==> EqualOps{A,B}(o, x);
    lemma UpdatesOp_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_flat *f, integer n, stage,
      precision, t, q; 0 <= n && 0 <= q && UpdatesOp{F,A}(o, f, n, stage, precision, t, q) &&
      UpdatesOp{F,B}(x, f, n, stage, precision, t, q) ==> EqualOps{A,B}(o, x);
*/

/* ---- Sums of tied keys, means, the decision ---- */
/*@ lemma TiedOp_Unique{A,B}: \forall zp_op *o, zp_op *x, integer n, c, d, a, stage, exact, key, k,
      t, b; TiedOp{A}(o, n, c, d, a, stage, exact, key, k, t, b) &&
      TiedOp{B}(x, n, c, d, a, stage, exact, key, k, t, b) ==> EqualOps{A,B}(o, x);
    lemma KeyOp_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_flat *f, integer flats, stage, exact,
      key, t, b; KeyOp{F,A}(o, f, flats, stage, exact, key, t, b) &&
      KeyOp{F,B}(x, f, flats, stage, exact, key, t, b) ==> EqualOps{A,B}(o, x);
    lemma KeysOp_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_flat *f, integer flats, stage, exact,
      t, n, q; KeysOp{F,A}(o, f, flats, stage, exact, t, n, q) &&
      KeysOp{F,B}(x, f, flats, stage, exact, t, n, q) ==> EqualOps{A,B}(o, x);
    lemma MeanOp_Unique{A,B}: \forall zp_op *o, zp_op *x, integer k, t, b;
      MeanOp{A}(o, k, t, b) && MeanOp{B}(x, k, t, b) ==> EqualOps{A,B}(o, x);
    lemma MeansOp_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_flat *f, integer t, n, q;
      MeansOp{F,A}(o, f, t, n, q) && MeansOp{F,B}(x, f, t, n, q) ==> EqualOps{A,B}(o, x);
    lemma Statistics_Unique{A,B}: \forall zp_op *o, zp_op *x, integer t;
      IsStatistics{A}(o, t) && IsStatistics{B}(x, t) ==> EqualOps{A,B}(o, x);
    lemma Decision_Unique{A,B}: \forall zp_op *o, zp_op *x, integer t;
      IsDecision{A}(o, t) && IsDecision{B}(x, t) ==> EqualOps{A,B}(o, x);
*/

/* ---- All of it ---- */
/*@ lemma TailOp_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_flat *f, integer n, keys, stage,
      exact, precision, t, q; 0 <= n && 0 <= q &&
      TailOp{F,A}(o, f, n, keys, stage, exact, precision, t, q) &&
      TailOp{F,B}(x, f, n, keys, stage, exact, precision, t, q) ==> EqualOps{A,B}(o, x);
    lemma Tail_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer lo, hi, zp_flat *f, integer n,
      keys, stage, exact, precision, t; 0 <= n &&
      TailOps{F,A}(v, lo, hi, f, n, keys, stage, exact, precision, t) &&
      TailOps{F,B}(w, lo, hi, f, n, keys, stage, exact, precision, t) ==>
      EqualRange{A,B}(v, w, lo, hi);
*/

#endif
