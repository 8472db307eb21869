/* Consequences of step_fold.h, by induction. Include after ref/plan/step_internal.h, step_heads.h
 * and step_kept.h. */
#ifndef ZP_SPEC_ACSL_STEP_FOLD_LEMMAS_H
#define ZP_SPEC_ACSL_STEP_FOLD_LEMMAS_H

/* ---- Gradients ---- */
/*@ lemma RawLen_Range{L}: \forall zp_config *c, zp_layout *lay, integer i, r;
      EntryFits(c, lay, i) ==> 0 <= RawLen(c, lay, i, r);
    lemma Fits_Entry{L}: \forall zp_config *c, zp_layout *lay, integer i, r;
      StageFits(c, lay) && 0 <= i < lay->n_params ==>
      EntryFits(c, lay, i) && 0 <= RawLen(c, lay, i, r);
    lemma RawBack_Range{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, zp_layout *lay, integer r; StageFits(c, lay) && x <= lay->n_params ==>
      0 <= RawBackLen(c, lay, r, x);
    lemma RawBack_Monotone{L}: \forall integer y; 0 <= y ==>
      \forall zp_config *c, zp_layout *lay, integer r, x;
      StageFits(c, lay) && 0 <= x <= y <= lay->n_params ==>
      RawBackLen(c, lay, r, x) <= RawBackLen(c, lay, r, y);
    lemma Micro_Range{L}: \forall zp_config *c, zp_layout *lay, integer m; StageFits(c, lay) ==>
      0 <= MicroLen(c, lay, m);
    lemma Micros_Range{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, zp_layout *lay;
      StageFits(c, lay) ==> 0 <= MicrosLen(c, lay, m);
    lemma Micros_Monotone{L}: \forall integer m; 0 <= m ==>
      \forall zp_config *c, zp_layout *lay, integer k; StageFits(c, lay) && 0 <= k <= m ==>
      MicrosLen(c, lay, k) <= MicrosLen(c, lay, m);
*/

/* ---- The inputs do not change while ops are written ---- */
/*@ lemma RawBackLen_Step{A,B}: \forall zp_config *c, zp_layout *lay, integer r, x;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && 0 <= x < \at(lay->n_params, A) &&
      RawBackLen{A}(c, lay, r, x) == RawBackLen{B}(c, lay, r, x) ==>
      RawBackLen{A}(c, lay, r, x + 1) == RawBackLen{B}(c, lay, r, x + 1);
    lemma RawBackDone_Step{A,B}: \forall zp_config *c, zp_layout *lay, integer x, k, b;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && 0 <= x < \at(lay->n_params, A) &&
      RawBackDone{A}(c, lay, x, k, b) == RawBackDone{B}(c, lay, x, k, b) ==>
      RawBackDone{A}(c, lay, x + 1, k, b) == RawBackDone{B}(c, lay, x + 1, k, b);
    lemma RawBackLen_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, zp_layout *lay, integer r; StepKept{A,B}(c, lay) &&
      StageFits{A}(c, lay) && x <= \at(lay->n_params, A) ==>
      RawBackLen{A}(c, lay, r, x) == RawBackLen{B}(c, lay, r, x);
    lemma RawBackTrace_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall trace tr, zp_config *c, zp_layout *lay, integer g, t; StepKept{A,B}(c, lay) &&
      StageFits{A}(c, lay) && x <= \at(lay->n_params, A) ==>
      RawBackTrace{A}(tr, c, lay, g, t, x) == RawBackTrace{B}(tr, c, lay, g, t, x);
    lemma RawBackAdds_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, zp_layout *lay, integer p, e, k, b; StepKept{A,B}(c, lay) &&
      StageFits{A}(c, lay) && x <= \at(lay->n_params, A) ==>
      RawBackAdds{A}(c, lay, x, p, e, k, b) == RawBackAdds{B}(c, lay, x, p, e, k, b);
    lemma RawBackDone_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, zp_layout *lay, integer k, b; StepKept{A,B}(c, lay) &&
      StageFits{A}(c, lay) && x <= \at(lay->n_params, A) ==>
      RawBackDone{A}(c, lay, x, k, b) == RawBackDone{B}(c, lay, x, k, b);
*/

#endif
