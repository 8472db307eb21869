/* Ops that match the layout still match it if configuration and layout do not change. Include after
 * ref/plan/program.h; step_kept.h has the proof steps. */
#ifndef ZP_SPEC_ACSL_STEP_WHERE_STAYS_H
#define ZP_SPEC_ACSL_STEP_WHERE_STAYS_H

/*@ lemma Seen_Raw{A,B}: \forall zp_config *c, zp_layout *lay, integer i; StepKept{A,B}(c, lay) &&
      StageSeen{A}(c, lay) && 0 <= i < \at(lay->n_params, A) ==>
      EntryFits{A}(c, lay, i) && SameRaw{A,B}(c, lay, i);
    lemma EntryOp_Later{A,B,L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      SameRaw{A,B}(c, lay, i) && EntryOp{A,L}(c, lay, i, p) ==> EntryOp{B,L}(c, lay, i, p);
    lemma EntryOp_Stays{A,B,L}: \forall zp_config *c, zp_layout *lay, integer i, zp_op *p;
      StepKept{A,B}(c, lay) && StageSeen{A}(c, lay) && EntryOp{A,L}(c, lay, i, p) ==>
      SameRaw{A,B}(c, lay, i) && EntryOp{B,L}(c, lay, i, p);
    lemma GradientOp_Stays{A,B,L}: \forall zp_config *c, zp_layout *lay, zp_op *p;
      StepKept{A,B}(c, lay) && StageSeen{A}(c, lay) && GradientOp{A,L}(c, lay, p) ==>
      GradientOp{B,L}(c, lay, p);
    lemma Gradient_Stays{A,B,L}: \forall zp_config *c, zp_layout *lay, zp_op *ops, integer lo, hi;
      StepKept{A,B}(c, lay) && StageSeen{A}(c, lay) && GradientOps{A,L}(c, lay, ops, lo, hi) ==>
      GradientOps{B,L}(c, lay, ops, lo, hi);
*/

#endif
