/* The predicates of op_save.h determine the ops of SAVE and LOAD. Include after op_unique.h.
 * LEDG-1, CKPT-1, CKPT-2 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_SAVE_H
#define ZP_SPEC_ACSL_OP_UNIQUE_SAVE_H

/* ---- Flat groups ---- */
/*@ lemma SaveGather_Unique{A,B}: \forall zp_op *o, zp_op *x, integer g, count, k, b, state, clock;
      IsSaveGather{A}(o, g, count, k, b, state, clock) &&
      IsSaveGather{B}(x, g, count, k, b, state, clock) ==> EqualOps{A,B}(o, x);
    lemma SaveWrite_Unique{A,B}: \forall zp_op *o, zp_op *x, integer k, b, state, clock;
      IsSaveWrite{A}(o, k, b, state, clock) && IsSaveWrite{B}(x, k, b, state, clock) ==>
      EqualOps{A,B}(o, x);
    // The rank gathers or writes the flat group's buckets; the op is at r >= 0.
    predicate SavesAny(integer gathers, integer writer, integer r) =
      0 <= r && (gathers != 0 || writer != 0);
    lemma BucketSave_Unique{A,B}: \forall zp_op *o, zp_op *x, integer g, n, c, d, a, gathers,
      writer, k, b, r; SavesAny(gathers, writer, r) &&
      BucketSaveOp{A}(o, g, n, c, d, a, gathers, writer, k, b, r) &&
      BucketSaveOp{B}(x, g, n, c, d, a, gathers, writer, k, b, r) ==> EqualOps{A,B}(o, x);
    lemma Saved_Floor: \forall integer gathers, writer, q; SavesAny(gathers, writer, q) ==>
      SavesAny(gathers, writer, q - SaveLen(gathers, writer, SavedBucket(gathers, writer, q)));
    lemma FlatSave_Unique{A,B}: \forall zp_op *o, zp_op *x, integer g, n, c, d, a, gathers, writer,
      k, q; SavesAny(gathers, writer, q) &&
      FlatSaveOp{A}(o, g, n, c, d, a, gathers, writer, k, q) &&
      FlatSaveOp{B}(x, g, n, c, d, a, gathers, writer, k, q) ==> EqualOps{A,B}(o, x);
    // Op q of the first x flat groups' ops belongs to a flat group that this rank saves.
    predicate SaveInside{L}(zp_config *c, integer s, zp_flat *f, integer dp, integer k,
        integer q) =
      SaveFlatsLen(c, s, f, k, dp) <= q && 0 < SaveFlatLen(c, s, f + k, dp);
    lemma SaveInside_Next{L}: \forall zp_config *c, integer s, zp_flat *f, integer x, next, dp, q;
      0 <= x && next == x + 1 && SaveFlatsLen(c, s, f, x, dp) <= q &&
      q < SaveFlatsLen(c, s, f, next, dp) ==> SaveInside(c, s, f, dp, x, q);
    lemma SaveBlock_Inside{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s,
      zp_flat *f, integer dp, q; 0 <= q < SaveFlatsLen(c, s, f, x, dp) ==>
      SaveInside(c, s, f, dp, SaveBlock(c, s, f, x, dp, q), q);
    lemma SaveInside_Any{L}: \forall zp_config *c, integer s, zp_flat *f, integer dp, k, q;
      SaveInside(c, s, f, dp, k, q) ==>
      SavesAny(c->stage, Writes(c, f[k].group, dp), q - SaveFlatsLen(c, s, f, k, dp));
    lemma SavesOp_Unique{F,A,B}: \forall zp_op *o, zp_op *x, zp_config *c, integer s, zp_flat *f,
      integer dp, n, q; 0 <= n && 0 <= q < SaveFlatsLen{F}(c, s, f, n, dp) &&
      SavesOp{F,A}(o, c, s, f, dp, n, q) && SavesOp{F,B}(x, c, s, f, dp, n, q) ==>
      EqualOps{A,B}(o, x);
    lemma Saves_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer hi, zp_config *c, integer s,
      zp_flat *f, integer dp, n; 0 <= n && hi == SaveFlatsLen{F}(c, s, f, n, dp) &&
      SavesOps{F,A}(v, 0, hi, c, s, f, dp, n) && SavesOps{F,B}(w, 0, hi, c, s, f, dp, n) ==>
      EqualRange{A,B}(v, w, 0, hi);
*/

/* ---- Frozen entries, the end, LOAD ---- */
/*@ lemma FrozenWrite_Unique{A,B}: \forall zp_op *o, zp_op *x, integer j, i;
      IsFrozenWrite{A}(o, j, i) && IsFrozenWrite{B}(x, j, i) ==> EqualOps{A,B}(o, x);
    lemma Frozens_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer lo, hi, zp_config *c,
      integer f, x, s, dp, tp; FrozensOps{F,A}(v, lo, hi, c, f, x, s, dp, tp) &&
      FrozensOps{F,B}(w, lo, hi, c, f, x, s, dp, tp) ==> EqualRange{A,B}(v, w, lo, hi);
    lemma Plain_Unique{A,B}: \forall zp_op *o, zp_op *x, integer kind, t, i;
      IsPlain{A}(o, kind, t, i) && IsPlain{B}(x, kind, t, i) ==> EqualOps{A,B}(o, x);
    lemma Equal_Four{A,B}: \forall zp_op *v, zp_op *w, integer n, a, b, d, hi; a == n + 1 &&
      b == n + 2 && d == n + 3 && hi == n + 4 && EqualOps{A,B}(v + n, w + n) &&
      EqualOps{A,B}(v + a, w + a) && EqualOps{A,B}(v + b, w + b) && EqualOps{A,B}(v + d, w + d) ==>
      EqualRange{A,B}(v, w, n, hi);
    lemma SaveEnds_First{A,B}: \forall zp_op *v, zp_op *w, integer n;
      SaveEnds{A}(v, n) && SaveEnds{B}(w, n) ==> EqualOps{A,B}(v + n, w + n);
    lemma SaveEnds_Second{A,B}: \forall zp_op *v, zp_op *w, integer n, a; a == n + 1 &&
      SaveEnds{A}(v, n) && SaveEnds{B}(w, n) ==> EqualOps{A,B}(v + a, w + a);
    lemma SaveEnds_Third{A,B}: \forall zp_op *v, zp_op *w, integer n, b; b == n + 2 &&
      SaveEnds{A}(v, n) && SaveEnds{B}(w, n) ==> EqualOps{A,B}(v + b, w + b);
    lemma SaveEnds_Fourth{A,B}: \forall zp_op *v, zp_op *w, integer n, d; d == n + 3 &&
      SaveEnds{A}(v, n) && SaveEnds{B}(w, n) ==> EqualOps{A,B}(v + d, w + d);
    lemma SaveEnds_Unique{A,B}: \forall zp_op *v, zp_op *w, integer n, hi; hi == n + 4 &&
      SaveEnds{A}(v, n) && SaveEnds{B}(w, n) ==> EqualRange{A,B}(v, w, n, hi);
    lemma Load_Unique{A,B}: \forall zp_op *v, zp_op *w; LoadOps{A}(v) && LoadOps{B}(w) ==>
      EqualRange{A,B}(v, w, 0, 3);
*/

/* ---- All of SAVE ---- */
/*@ // Where the frozen entries' ops begin.
    logic integer SavesEnd{F}(zp_config *c, zp_layout *lay, integer dp) =
      SaveFlatsLen(c, lay->stage, lay->flat, lay->n_flats, dp);
    lemma SaveOps_Flats{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer dp, tp; 0 <= \at(lay->n_flats, F) &&
      SaveOps{F,A}(v, n, c, lay, dp, tp) && SaveOps{F,B}(w, n, c, lay, dp, tp) ==>
      EqualRange{A,B}(v, w, 0, SavesEnd{F}(c, lay, dp));
    lemma SaveOps_Frozens{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer dp, tp;
      SaveOps{F,A}(v, n, c, lay, dp, tp) && SaveOps{F,B}(w, n, c, lay, dp, tp) ==>
      EqualRange{A,B}(v, w, SavesEnd{F}(c, lay, dp), n - 4);
    lemma SaveOps_Ends{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer dp, tp;
      SaveOps{F,A}(v, n, c, lay, dp, tp) && SaveOps{F,B}(w, n, c, lay, dp, tp) ==>
      EqualRange{A,B}(v, w, n - 4, n);
    lemma SaveOps_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer dp, tp; 0 <= \at(lay->n_flats, F) &&
      SaveOps{F,A}(v, n, c, lay, dp, tp) && SaveOps{F,B}(w, n, c, lay, dp, tp) ==>
      EqualRange{A,B}(v, w, 0, n);
*/

#endif
