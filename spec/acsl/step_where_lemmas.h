/* Lemmas about the ops that add and reduce gradients, entry by entry and slot by slot: they do not
 * change, they follow each other, and the layout does not change meanwhile. RED-3, PIPE-5. Include
 * after step_kept.h. */
#ifndef ZP_SPEC_ACSL_STEP_WHERE_LEMMAS_H
#define ZP_SPEC_ACSL_STEP_WHERE_LEMMAS_H

/* ---- A backward, entry by entry ---- */
/*@ lemma EntryOp_Same{A,B,L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      SameRaw{A,B}(c, lay, i) && EntryOp{B,L}(c, lay, i, p) ==> EntryOp{A,L}(c, lay, i, p);
    lemma Entry_Same{A,B,L}: \forall zp_config *c, zp_layout *lay, integer i, mb, t, zp_op *ops,
      integer lo, hi; SameRaw{A,B}(c, lay, i) && EntryOps{B,L}(c, lay, i, mb, t, ops, lo, hi) ==>
      EntryOps{A,L}(c, lay, i, mb, t, ops, lo, hi);
    lemma Entry_Backward{C,L}: \forall zp_config *c, zp_layout *lay, integer i, mb, t, zp_op *ops,
      integer lo, hi; EntryOps{C,L}(c, lay, i, mb, t, ops, lo, hi) ==>
      BackwardOps{C,L}(c, lay, mb, t, ops, lo, hi);
    lemma Backward_Frame{C,A,B}: \forall zp_config *c, zp_layout *lay, integer mb, t, zp_op *ops,
      integer lo, hi; 0 <= lo && SameOps{A,B}(ops, hi) &&
      BackwardOps{C,A}(c, lay, mb, t, ops, lo, hi) ==> BackwardOps{C,B}(c, lay, mb, t, ops, lo, hi);
    lemma Backward_Join{C,L}: \forall zp_config *c, zp_layout *lay, integer mb, t, zp_op *ops,
      integer lo, mid, hi; BackwardOps{C,L}(c, lay, mb, t, ops, lo, mid) &&
      BackwardOps{C,L}(c, lay, mb, t, ops, mid, hi) ==>
      BackwardOps{C,L}(c, lay, mb, t, ops, lo, hi);
    lemma Backward_Gradients{C,L}: \forall zp_config *c, zp_layout *lay, integer mb, t, zp_op *ops,
      integer lo, hi; 0 <= mb && t == BackwardTime(\at(c->pp, C), \at(lay->stage, C), mb) &&
      BackwardOps{C,L}(c, lay, mb, t, ops, lo, hi) ==> GradientOps{C,L}(c, lay, ops, lo, hi);
*/

/* ---- A program, slot by slot ---- */
/*@ lemma Gradient_None{C,L}: \forall zp_config *c, zp_layout *lay, zp_op *ops, integer lo, hi;
      NoGradients{L}(ops, lo, hi) ==> GradientOps{C,L}(c, lay, ops, lo, hi);
    lemma GradientOp_Frame{C,A,B}: \forall zp_config *c, zp_layout *lay, zp_op *p;
      SameOp{A,B}(p) && GradientOp{C,A}(c, lay, p) ==> GradientOp{C,B}(c, lay, p);
    lemma Gradient_Frame{C,A,B}: \forall zp_config *c, zp_layout *lay, zp_op *ops, integer lo, hi;
      0 <= lo && SameOps{A,B}(ops, hi) && GradientOps{C,A}(c, lay, ops, lo, hi) ==>
      GradientOps{C,B}(c, lay, ops, lo, hi);
    lemma Gradient_Join{C,L}: \forall zp_config *c, zp_layout *lay, zp_op *ops,
      integer lo, mid, hi; GradientOps{C,L}(c, lay, ops, lo, mid) &&
      GradientOps{C,L}(c, lay, ops, mid, hi) ==> GradientOps{C,L}(c, lay, ops, lo, hi);
    lemma EntryOp_Kept{A,B,L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && EntryOp{B,L}(c, lay, i, p) ==>
      SameRaw{A,B}(c, lay, i) && EntryOp{A,L}(c, lay, i, p);
    lemma GradientOp_Kept{A,B,L}: \forall zp_config *c, zp_layout *lay, zp_op *p;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && GradientOp{B,L}(c, lay, p) ==>
      GradientOp{A,L}(c, lay, p);
    lemma Gradient_Kept{A,B,L}: \forall zp_config *c, zp_layout *lay, zp_op *ops, integer lo, hi;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && GradientOps{B,L}(c, lay, ops, lo, hi) ==>
      GradientOps{A,L}(c, lay, ops, lo, hi);
*/

#endif
