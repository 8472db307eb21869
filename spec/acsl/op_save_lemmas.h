/* Lemmas about op_save.h: an op keeps its place while later ones are written. */
#ifndef ZP_SPEC_ACSL_OP_SAVE_LEMMAS_H
#define ZP_SPEC_ACSL_OP_SAVE_LEMMAS_H

/*@ lemma SaveGather_Frame{A,B}: \forall zp_op *ops, integer hi, p, g, count, k, b, state, clock;
      SameOps{A,B}(ops, hi) && 0 <= p < hi &&
      IsSaveGather{A}(ops + p, g, count, k, b, state, clock) ==>
      IsSaveGather{B}(ops + p, g, count, k, b, state, clock);
    lemma SaveWrite_Frame{A,B}: \forall zp_op *ops, integer hi, p, k, b, state, clock;
      SameOps{A,B}(ops, hi) && 0 <= p < hi && IsSaveWrite{A}(ops + p, k, b, state, clock) ==>
      IsSaveWrite{B}(ops + p, k, b, state, clock);
    lemma Plain_Frame{A,B}: \forall zp_op *ops, integer hi, p, kind, t, i; SameOps{A,B}(ops, hi) &&
      0 <= p < hi && IsPlain{A}(ops + p, kind, t, i) ==> IsPlain{B}(ops + p, kind, t, i);
    lemma Agreement_Frame{A,B}: \forall zp_op *ops, integer hi, p, what, count, t, i;
      SameOps{A,B}(ops, hi) && 0 <= p < hi && IsAgreement{A}(ops + p, what, count, t, i) ==>
      IsAgreement{B}(ops + p, what, count, t, i);
    lemma Save_Gathers{L}: \forall zp_op *ops, integer lo, hi, g, n, c, d, a, k, b; hi == lo + 3 &&
      IsSaveGather(ops + (lo + 0), g, Part(n, c, d, a, b), k, b, 0, SaveClock(k, b)) &&
      IsSaveGather(ops + (lo + 1), g, Part(n, c, d, a, b), k, b, 1, SaveClock(k, b)) &&
      IsSaveGather(ops + (lo + 2), g, Part(n, c, d, a, b), k, b, 2, SaveClock(k, b)) ==>
      BucketSaveOps(ops, lo, hi, g, n, c, d, a, 1, 0, k, b);
    lemma Save_Writes{L}: \forall zp_op *ops, integer lo, hi, g, n, c, d, a, k, b; hi == lo + 3 &&
      IsSaveWrite(ops + (lo + 0), k, b, 0, SaveClock(k, b)) && IsSaveWrite(ops + (lo + 1), k, b, 1,
      SaveClock(k, b)) &&
      IsSaveWrite(ops + (lo + 2), k, b, 2, SaveClock(k, b)) ==>
      BucketSaveOps(ops, lo, hi, g, n, c, d, a, 0, 1, k, b);
    lemma Save_Both{L}: \forall zp_op *ops, integer lo, hi, g, n, c, d, a, k, b; hi == lo + 6 &&
      IsSaveGather(ops + (lo + 0), g, Part(n, c, d, a, b), k, b, 0, SaveClock(k, b)) &&
      IsSaveWrite(ops + (lo + 1), k, b, 0, SaveClock(k, b)) &&
      IsSaveGather(ops + (lo + 2), g, Part(n, c, d, a, b), k, b, 1, SaveClock(k, b)) &&
      IsSaveWrite(ops + (lo + 3), k, b, 1, SaveClock(k, b)) &&
      IsSaveGather(ops + (lo + 4), g, Part(n, c, d, a, b), k, b, 2, SaveClock(k, b)) &&
      IsSaveWrite(ops + (lo + 5), k, b, 2, SaveClock(k, b)) ==>
      BucketSaveOps(ops, lo, hi, g, n, c, d, a, 1, 1, k, b);
    lemma Saved_Bucket: \forall integer gathers, writer, b, r; 0 <= b && 0 <= r &&
      SaveLen(gathers, writer, b) + r < SaveLen(gathers, writer, b + 1) ==>
      SavedBucket(gathers, writer, SaveLen(gathers, writer, b) + r) == b;
    lemma FlatSaveOp_New{L}: \forall zp_op *o, integer g, n, c, d, a, gathers, writer, k, b, q, r;
      0 <= b && 0 <= r && q == SaveLen(gathers, writer, b) + r &&
      q < SaveLen(gathers, writer, b + 1) &&
      BucketSaveOp(o, g, n, c, d, a, gathers, writer, k, b, r) ==>
      FlatSaveOp(o, g, n, c, d, a, gathers, writer, k, q);
    lemma FlatSaveOps_Next{L}: \forall zp_op *ops, integer lo, mid, hi, g, n, c, d, a, gathers,
      writer, k, b; 0 <= b && mid == lo + SaveLen(gathers, writer, b) &&
      hi == lo + SaveLen(gathers, writer, b + 1) &&
      FlatSaveOps(ops, lo, mid, g, n, c, d, a, gathers, writer, k) &&
      BucketSaveOps(ops, mid, hi, g, n, c, d, a, gathers, writer, k, b) ==>
      FlatSaveOps(ops, lo, hi, g, n, c, d, a, gathers, writer, k);
    lemma BucketSaveOp_Frame{A,B}: \forall zp_op *o, integer g, n, c, d, a, gathers, writer, k, b,
        r;
      SameOp{A,B}(o) && BucketSaveOp{A}(o, g, n, c, d, a, gathers, writer, k, b, r) ==>
      BucketSaveOp{B}(o, g, n, c, d, a, gathers, writer, k, b, r);
    lemma FlatSaveOps_Frame{A,B}: \forall zp_op *ops, integer lo, hi, g, n, c, d, a, gathers,
        writer,
      k; 0 <= lo && SameOps{A,B}(ops, hi) &&
      FlatSaveOps{A}(ops, lo, hi, g, n, c, d, a, gathers, writer, k) ==>
      FlatSaveOps{B}(ops, lo, hi, g, n, c, d, a, gathers, writer, k);
    lemma FlatSaveOps_Bits{L}: \forall zp_op *ops, integer lo, hi, g, n, c, d, a, x, y, writer, k;
      (x != 0 <==> y != 0) && FlatSaveOps(ops, lo, hi, g, n, c, d, a, x, writer, k) ==>
      FlatSaveOps(ops, lo, hi, g, n, c, d, a, y, writer, k);
    lemma SaveFlatOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_flat *f,
      integer k, dp; Kept{F,G}(c) && KeptFlat{F,G}(f) &&
      SaveFlatOps{G,O}(ops, lo, hi, c, f, k, dp) ==> SaveFlatOps{F,O}(ops, lo, hi, c, f, k, dp);
    lemma SaveBlock_Next{L}: \forall zp_config *c, integer s, zp_flat *f, integer x, dp,
        q; 0 <= x ==>
      (SaveFlatsLen(c, s, f, x, dp) <= q ==> SaveBlock(c, s, f, x + 1, dp, q) == x) &&
      (q < SaveFlatsLen(c, s, f, x, dp) ==>
        SaveBlock(c, s, f, x + 1, dp, q) == SaveBlock(c, s, f, x, dp, q));
    lemma SavesOps_Next{F,O}: \forall zp_op *ops, integer lo, mid, hi, zp_config *c, integer s,
      zp_flat *f, integer dp, x; 0 <= x && lo <= mid <= hi &&
      mid == lo + SaveFlatsLen{F}(c, s, f, x, dp) &&
      SavesOps{F,O}(ops, lo, mid, c, s, f, dp, x) &&
      SaveFlatOps{F,O}(ops, mid, hi, c, f + x, x, dp) ==>
      SavesOps{F,O}(ops, lo, hi, c, s, f, dp, x + 1);
    lemma SavesOps_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_config *c, integer s,
      zp_flat *f, integer dp, x; 0 <= lo && SameOps{A,B}(ops, hi) &&
      SavesOps{F,A}(ops, lo, hi, c, s, f, dp, x) ==> SavesOps{F,B}(ops, lo, hi, c, s, f, dp, x);
    lemma FrozenBlock_Next{L}: \forall zp_config *c, integer f, x, s, dp, tp, q; 0 <= x ==>
      (FrozenLen(c, f, x, s, dp, tp) <= q ==> FrozenBlock(c, f, x + 1, s, dp, tp, q) == x) &&
      (q < FrozenLen(c, f, x, s, dp, tp) ==>
        FrozenBlock(c, f, x + 1, s, dp, tp, q) == FrozenBlock(c, f, x, s, dp, tp, q));
    lemma FrozensOps_None{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, integer f, x, s,
        dp,
      tp; 0 <= x && hi == lo + FrozenLen{F}(c, f, x, s, dp, tp) &&
      FrozensOps{F,O}(ops, lo, hi, c, f, x, s, dp, tp) ==>
      FrozensOps{F,O}(ops, lo, hi, c, f, x + 1, s, dp, tp);
    lemma FrozensOps_One{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, integer f, x, s,
        dp,
      tp; 0 <= x && lo <= hi && hi == lo + FrozenLen{F}(c, f, x, s, dp, tp) &&
      FrozensOps{F,O}(ops, lo, hi, c, f, x, s, dp, tp) && IsFrozenWrite{O}(ops + hi, f + x, x) ==>
      FrozensOps{F,O}(ops, lo, hi + 1, c, f, x + 1, s, dp, tp);
    lemma FrozensOps_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_config *c, integer f, x,
        s,
      dp, tp; 0 <= lo && SameOps{A,B}(ops, hi) &&
      FrozensOps{F,A}(ops, lo, hi, c, f, x, s, dp, tp) ==>
      FrozensOps{F,B}(ops, lo, hi, c, f, x, s, dp, tp);
    lemma FrozenBlock_Same{F,G}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f, s,
        dp,
      tp, q; Kept{F,G}(c) && Valid{F}(c) && 0 <= f && f + x <= \at(c->n_params, F) ==>
      FrozenBlock{F}(c, f, x, s, dp, tp, q) == FrozenBlock{G}(c, f, x, s, dp, tp, q);
    lemma FrozensOps_Same{F,G,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, integer f, x, s,
      dp, tp; Kept{F,G}(c) && Valid{F}(c) && 0 <= x && 0 <= f && f + x <= \at(c->n_params, F) &&
      FrozensOps{G,O}(ops, lo, hi, c, f, x, s, dp, tp) ==>
      FrozensOps{F,O}(ops, lo, hi, c, f, x, s, dp, tp);
*/

#endif
