/* What \separated says of two arrays, field by field: what Apart of init_save.h asks for. */
#ifndef ZP_SPEC_ACSL_APART_LEMMAS_H
#define ZP_SPEC_ACSL_APART_LEMMAS_H

/*@ lemma Entry_Numel: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].numel, ops + p + (0 .. m - 1));
    lemma Entry_Stage: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].stage, ops + p + (0 .. m - 1));
    lemma Entry_Optgroup: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].optgroup, ops + p + (0 .. m - 1));
    lemma Entry_Tied: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].tied, ops + p + (0 .. m - 1));
    lemma Entry_Sharded: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].sharded, ops + p + (0 .. m - 1));
    lemma Entry_Expert: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].expert, ops + p + (0 .. m - 1));
    lemma Entry_Frozen: \forall zp_op *ops, integer cap, p, m, zp_param *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].frozen, ops + p + (0 .. m - 1)); */

/*@ lemma Flat_Whole: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(q + j, ops + p + (0 .. m - 1));
    lemma Flat_Group: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].group, ops + p + (0 .. m - 1));
    lemma Flat_Members: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].members, ops + p + (0 .. m - 1));
    lemma Flat_Tied: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].tied, ops + p + (0 .. m - 1));
    lemma Flat_Use: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].use, ops + p + (0 .. m - 1));
    lemma Flat_Numel: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].numel, ops + p + (0 .. m - 1));
    lemma Flat_Capacity: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].capacity, ops + p + (0 .. m - 1));
    lemma Flat_Align: \forall zp_op *ops, integer cap, p, m, zp_flat *q, integer n, j;
      \separated(ops + (0 .. cap - 1), q + (0 .. n - 1)) && 0 <= j < n && 0 <= p && 0 <= m &&
      p + m <= cap ==> \separated(&q[j].align, ops + p + (0 .. m - 1)); */

#endif
