/* Lemmas about op_gradient.h: bucket by bucket, entry by entry; ops keep their places while later
 * ones are written. Include after op_slot_lemmas.h. */
#ifndef ZP_SPEC_ACSL_OP_GRADIENT_LEMMAS_H
#define ZP_SPEC_ACSL_OP_GRADIENT_LEMMAS_H

/*@ lemma PairOps_Frame{A,B}: \forall zp_op *ops, integer lo, hi, b0, stage, exact, group, dtype, k,
      param, mb, n, c, d, a, from, to, t, clock; 0 <= lo && SameOps{A,B}(ops, hi) &&
      PairOps{A}(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock) ==>
      PairOps{B}(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock);
    lemma AdditionOps_Frame{A,B}: \forall zp_op *ops, integer lo, hi, b0, stage, k, param, mb, n, c,
      from, to, t, clock; 0 <= lo && SameOps{A,B}(ops, hi) &&
      AdditionOps{A}(ops, lo, hi, b0, stage, k, param, mb, n, c, from, to, t, clock) ==>
      AdditionOps{B}(ops, lo, hi, b0, stage, k, param, mb, n, c, from, to, t, clock);
    lemma EntryRuns_Frame{A,B}: \forall zp_op *ops, integer lo, hi, reduces, stage, exact, group,
      dtype, k, param, mb, n, c, d, a, from, to, t, clock; 0 <= lo && SameOps{A,B}(ops, hi) &&
      lo + EntryLen(n, c, from, to, reduces) <= hi &&
      FirstBucket(c, from) <= DoneBucket(n, c, from, to) <= StopBucket(c, from, to) &&
      EntryRuns{A}(ops, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock) ==>
      EntryRuns{B}(ops, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock);
    lemma GradientAt_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer i, mb, t; 0 <= lo && SameOps{A,B}(ops, hi) && EntryFits{F}(c, lay, i) &&
      lo + RawLen{F}(c, lay, i, ReducesOn{F}(c, mb)) <= hi &&
      GradientAt{F,A}(ops, lo, c, lay, i, mb, t) ==> GradientAt{F,B}(ops, lo, c, lay, i, mb, t);
    lemma GradientAt_Same{F,G,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer i, mb, t; SameRaw{F,G}(c, lay, i) && ReducesOn{F}(c, mb) == ReducesOn{G}(c, mb) &&
      GradientAt{G,O}(ops, lo, c, lay, i, mb, t) ==> GradientAt{F,O}(ops, lo, c, lay, i, mb, t);
    // x entries' ops are at ops[lo … n-1], those of the next entry at ops[n …].
    predicate NextBack{F,O}(zp_op *ops, integer lo, integer n, zp_config *c, zp_layout *lay,
        integer mb, integer t, integer x, integer next) =
      next == x + 1 && n == lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x) &&
      GradientsAt{F,O}(ops, lo, c, lay, mb, t, x) &&
      GradientAt{F,O}(ops, n, c, lay, \at(lay->n_params, F) - x - 1, mb, t);
    lemma GradientsAt_Next{F,O}: \forall zp_op *ops, integer lo, n, zp_config *c, zp_layout *lay,
      integer mb, t, x, next; NextBack{F,O}(ops, lo, n, c, lay, mb, t, x, next) ==>
      GradientsAt{F,O}(ops, lo, c, lay, mb, t, next);
    lemma RawBackLen_Within{L}: \forall zp_config *c, zp_layout *lay, integer r, x, y;
      StageFits(c, lay) && 0 <= y < x <= lay->n_params ==> 0 <= RawBackLen(c, lay, r, y) &&
      EntryFits(c, lay, lay->n_params - y - 1) &&
      RawBackLen(c, lay, r, y) + RawLen(c, lay, lay->n_params - y - 1, r) <=
        RawBackLen(c, lay, r, x);
    // x entries' ops are at ops[lo … hi-1], which A and B have in common.
    predicate BackRoom{F,A,B}(zp_op *ops, integer lo, integer hi, zp_config *c, zp_layout *lay,
        integer mb, integer x) =
      0 <= lo && SameOps{A,B}(ops, hi) && StageFits{F}(c, lay) && x <= \at(lay->n_params, F) &&
      lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x) <= hi;
    lemma BackAt_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer mb, t, x, y; BackRoom{F,A,B}(ops, lo, hi, c, lay, mb, x) && 0 <= y < x &&
      BackAt{F,A}(ops, lo, c, lay, mb, t, y) ==> BackAt{F,B}(ops, lo, c, lay, mb, t, y);
    lemma GradientsAt_Room{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_config *c,
      zp_layout *lay, integer mb, t, x; BackRoom{F,A,B}(ops, lo, hi, c, lay, mb, x) &&
      GradientsAt{F,A}(ops, lo, c, lay, mb, t, x) ==> GradientsAt{F,B}(ops, lo, c, lay, mb, t, x);
    lemma GradientsAt_HasRoom{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_config *c,
      zp_layout *lay, integer mb, t, x; 0 <= lo && SameOps{A,B}(ops, hi) && StageFits{F}(c, lay) &&
      x <= \at(lay->n_params, F) && lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x) <= hi &&
      GradientsAt{F,A}(ops, lo, c, lay, mb, t, x) ==>
      BackRoom{F,A,B}(ops, lo, hi, c, lay, mb, x);
    lemma GradientsAt_Frame{F,A,B}: \forall zp_op *ops, integer lo, hi, zp_config *c,
      zp_layout *lay, integer mb, t, x; 0 <= lo && SameOps{A,B}(ops, hi) && StageFits{F}(c, lay) &&
      x <= \at(lay->n_params, F) && lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x) <= hi &&
      GradientsAt{F,A}(ops, lo, c, lay, mb, t, x) ==> GradientsAt{F,B}(ops, lo, c, lay, mb, t, x);
    lemma SlotGradients_Frame{F,A,B}: \forall zp_op *ops, integer n, hi, zp_config *c,
      zp_layout *lay, integer t; 0 <= n && SameOps{A,B}(ops, hi) && StageFits{F}(c, lay) &&
      0 <= SlotHead{F}(c, lay, t) && n + SlotLen{F}(c, lay, t) <= hi &&
      SlotGradients{F,A}(ops, n, c, lay, t) ==> SlotGradients{F,B}(ops, n, c, lay, t);
    predicate SameBack{F,G}(zp_config *c, zp_layout *lay, integer mb, integer y) =
      \at(lay->n_params, G) == \at(lay->n_params, F) &&
      SameRaw{F,G}(c, lay, \at(lay->n_params, F) - y - 1) &&
      ReducesOn{F}(c, mb) == ReducesOn{G}(c, mb) &&
      RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), y) ==
        RawBackLen{G}(c, lay, ReducesOn{G}(c, mb), y);
    lemma Back_Same{F,G}: \forall zp_config *c, zp_layout *lay, integer mb, y;
      StepKept{F,G}(c, lay) && StageFits{F}(c, lay) && 0 <= y < \at(lay->n_params, F) ==>
      SameBack{F,G}(c, lay, mb, y);
    lemma BackAt_Same{F,G,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, y; SameBack{F,G}(c, lay, mb, y) &&
      BackAt{G,O}(ops, lo, c, lay, mb, t, y) ==> BackAt{F,O}(ops, lo, c, lay, mb, t, y);
    lemma BackAt_Keep{F,G,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, y; StepKept{F,G}(c, lay) && StageFits{F}(c, lay) &&
      0 <= y < \at(lay->n_params, F) && BackAt{G,O}(ops, lo, c, lay, mb, t, y) ==>
      BackAt{F,O}(ops, lo, c, lay, mb, t, y);
    predicate BackKept{F,G}(zp_config *c, zp_layout *lay, integer x) =
      StepKept{F,G}(c, lay) && StageFits{F}(c, lay) && x <= \at(lay->n_params, F);
    lemma BackAt_Kept{F,G,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, x, y; BackKept{F,G}(c, lay, x) && 0 <= y < x &&
      BackAt{G,O}(ops, lo, c, lay, mb, t, y) ==> BackAt{F,O}(ops, lo, c, lay, mb, t, y);
    lemma GradientsAt_Kept{F,G,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, x; BackKept{F,G}(c, lay, x) && GradientsAt{G,O}(ops, lo, c, lay, mb, t, x) ==>
      GradientsAt{F,O}(ops, lo, c, lay, mb, t, x);
    lemma GradientsAt_IsKept{F,G,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, x; StepKept{F,G}(c, lay) && StageFits{F}(c, lay) &&
      x <= \at(lay->n_params, F) && GradientsAt{G,O}(ops, lo, c, lay, mb, t, x) ==>
      BackKept{F,G}(c, lay, x);
    lemma GradientsAt_Same{F,G,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, x; StepKept{F,G}(c, lay) && StageFits{F}(c, lay) &&
      x <= \at(lay->n_params, F) && GradientsAt{G,O}(ops, lo, c, lay, mb, t, x) ==>
      GradientsAt{F,O}(ops, lo, c, lay, mb, t, x);
    lemma SlotGradients_Same{F,G,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t; StepKept{F,G}(c, lay) && StageFits{F}(c, lay) &&
      SlotGradients{G,O}(ops, n, c, lay, t) ==> SlotGradients{F,O}(ops, n, c, lay, t);
    lemma SlotsOps_Frame{F,A,B}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t; StageFits{F}(c, lay) && SameOps{A,B}(ops, n) &&
      SlotsOps{F,A}(ops, n, c, lay, t) ==> SlotsOps{F,B}(ops, n, c, lay, t);
*/

#endif
