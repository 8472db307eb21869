/* From \separated ranges to Apart of init_save.h, which speaks of each field by itself. */
#ifndef ZP_SPEC_ACSL_APART_LEMMAS_H
#define ZP_SPEC_ACSL_APART_LEMMAS_H

/*@ predicate FarFromEntries(zp_op *ops, integer cap, zp_param *q, integer n) =
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1));
    predicate FarFromFlats(zp_op *ops, integer cap, zp_flat *q, integer n) =
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1));
    predicate FarFromOps(zp_op *ops, integer cap, zp_op *q, integer n) =
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1));
    predicate ClearOfOps(zp_op *op, integer m, zp_op *q, integer n) =
      \forall integer j; 0 <= j < n ==>
        \separated(&q[j].kind, op + (0 .. m - 1)) && \separated(&q[j].what, op + (0 .. m - 1)) &&
        \separated(&q[j].group, op + (0 .. m - 1)) && \separated(&q[j].key, op + (0 .. m - 1)) &&
        \separated(&q[j].dtype, op + (0 .. m - 1)) &&
        \separated(&q[j].redop, op + (0 .. m - 1)) && \separated(&q[j].root, op + (0 .. m - 1)) &&
        \separated(&q[j].flat, op + (0 .. m - 1)) && \separated(&q[j].param, op + (0 .. m - 1)) &&
        \separated(&q[j].slot, op + (0 .. m - 1)) &&
        \separated(&q[j].if_stepped, op + (0 .. m - 1)) &&
        \separated(&q[j].mb, op + (0 .. m - 1)) && \separated(&q[j].recv_mb, op + (0 .. m - 1)) &&
        \separated(&q[j].bucket, op + (0 .. m - 1)) &&
        \separated(&q[j].offset, op + (0 .. m - 1)) &&
        \separated(&q[j].count, op + (0 .. m - 1)) &&
        \separated(&q[j].clock_t, op + (0 .. m - 1)) &&
        \separated(&q[j].clock_i, op + (0 .. m - 1));
    lemma Clear_Ops: \forall zp_op *ops, integer cap, zp_op *q, integer n;
      FarFromOps(ops, cap, q, n) ==> ClearOfOps(ops + 0, cap, q, n);
    lemma Clear_Entries: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n;
      FarFromEntries(ops, cap, q, n) && 0 <= p && 0 <= m && p + m <= cap ==>
      ClearOfEntries(ops + p, m, q, n);
    lemma Clear_Flats: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n;
      FarFromFlats(ops, cap, q, n) && 0 <= p && 0 <= m && p + m <= cap ==>
      ClearOfFlats(ops + p, m, q, n); */

#endif
