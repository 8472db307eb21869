/* Lemmas about op_is.h: an op that is not written stays what it is. */
#ifndef ZP_SPEC_ACSL_OP_IS_LEMMAS_H
#define ZP_SPEC_ACSL_OP_IS_LEMMAS_H

/*@ lemma SameOps_Op{A,B}: \forall zp_op *ops, integer n, p;
      SameOps{A,B}(ops, n) && 0 <= p < n ==> SameOp{A,B}(ops + p);
    lemma SameOps_Less{A,B}: \forall zp_op *ops, integer n, m;
      SameOps{A,B}(ops, n) && m <= n ==> SameOps{A,B}(ops, m);
    lemma SameOps_Trans{A,B,C}: \forall zp_op *ops, integer n, m; n <= m &&
      SameOps{A,B}(ops, n) && SameOps{B,C}(ops, m) ==> SameOps{A,C}(ops, n);
    lemma IsOp_Frame{A,B}: \forall zp_op *o, integer kind, what, g, key, dtype, redop, root, k, j,
      slot, stepped, mb, recv, b, offset, count, t, i; SameOp{A,B}(o) && IsOp{A}(o, kind, what, g,
        key, dtype, redop, root, k, j, slot, stepped, mb, recv, b, offset, count, t, i) ==>
      IsOp{B}(o, kind, what, g, key, dtype, redop, root, k, j, slot, stepped, mb, recv, b, offset,
        count, t, i);
    lemma IsOp_Unique{L,M}: \forall zp_op *o, zp_op *x, integer kind, what, g, key, dtype, redop,
      root, k, j, slot, stepped, mb, recv, b, offset, count, t, i;
      IsOp{L}(o, kind, what, g, key, dtype, redop, root, k, j, slot, stepped, mb, recv, b, offset,
        count, t, i) && IsOp{M}(x, kind, what, g, key, dtype, redop, root, k, j, slot, stepped, mb,
        recv, b, offset, count, t, i) ==> EqualOps{L,M}(o, x);
*/

#endif
