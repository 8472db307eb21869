/* From \separated ranges to Apart of init_save.h, which is about each field separately. */
#ifndef ZP_SPEC_ACSL_APART_LEMMAS_H
#define ZP_SPEC_ACSL_APART_LEMMAS_H

/*@ predicate FarFromConfig(zp_op *ops, integer cap, zp_config *q) =
      \separated(ops + (0 .. cap - 1), q);
    predicate FarFromLayout(zp_op *ops, integer cap, zp_layout *q) =
      \separated(ops + (0 .. cap - 1), q);
    predicate FarFromEntries(zp_op *ops, integer cap, zp_param *q, integer n) =
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1));
    predicate FarFromFlats(zp_op *ops, integer cap, zp_flat *q, integer n) =
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1));
    predicate FarFromSpots(zp_op *ops, integer cap, zp_spot *q, integer n) =
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
      ClearOfFlats(ops + p, m, q, n);
    lemma Clear_Spots: \forall zp_op *ops, integer cap, p, m, zp_spot *q, integer n;
      FarFromSpots(ops, cap, q, n) && 0 <= p && 0 <= m && p + m <= cap ==>
      ClearOfSpots(ops + p, m, q, n);
    lemma Clear_Config: \forall zp_op *ops, integer cap, p, m, zp_config *q;
      FarFromConfig(ops, cap, q) && 0 <= p && 0 <= m && p + m <= cap ==>
      ClearOfConfig(ops + p, m, q);
    lemma Clear_Layout: \forall zp_op *ops, integer cap, p, m, zp_layout *q;
      FarFromLayout(ops, cap, q) && 0 <= p && 0 <= m && p + m <= cap ==>
      ClearOfLayout(ops + p, m, q);
    // ops overlap no input.
    predicate Far(zp_op *ops, integer cap, zp_config *c, zp_param *ps, integer np, zp_layout *lay,
        zp_flat *fs, integer nf) =
      FarFromConfig(ops, cap, c) && FarFromEntries(ops, cap, ps, np) &&
      FarFromLayout(ops, cap, lay) && FarFromFlats(ops, cap, fs, nf);
    lemma Clear_All: \forall zp_op *ops, integer cap, p, m, zp_config *c, zp_param *ps, integer np,
      zp_layout *lay, zp_flat *fs, integer nf; Far(ops, cap, c, ps, np, lay, fs, nf) &&
      0 <= p && 0 <= m && p + m <= cap ==> Clear(ops + p, m, c, ps, np, lay, fs, nf);
    lemma Far_Apart: \forall zp_op *ops, integer cap, len, zp_config *c, zp_param *ps, integer np,
      zp_layout *lay, zp_flat *fs, integer nf; Far(ops, cap, c, ps, np, lay, fs, nf) &&
      len <= cap ==> Apart(ops, 0, len, c, ps, np, lay, fs, nf);
    // Writing m ops from *op on does not change the rest of the flat groups.
    predicate ClearOfHolders(zp_op *op, integer m, zp_flat *fs, integer nf) =
      \forall integer k; 0 <= k < nf ==> \separated(&fs[k].optgroup, op + (0 .. m - 1)) &&
        \separated(&fs[k].holder, op + (0 .. m - 1));
    lemma Clear_Holders: \forall zp_op *ops, integer cap, zp_flat *q, integer n;
      FarFromFlats(ops, cap, q, n) ==> ClearOfHolders(ops + 0, cap, q, n); */

#endif
