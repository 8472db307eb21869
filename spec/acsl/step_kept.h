/* The STEP program's inputs do not change while it is written: entry by entry, flat group by flat
 * group. Include after step_lemmas.h. */
#ifndef ZP_SPEC_ACSL_STEP_KEPT_H
#define ZP_SPEC_ACSL_STEP_KEPT_H

/*@ lemma StepKept_Trans{A,B,C}: \forall zp_config *c, zp_layout *lay;
      StepKept{A,B}(c, lay) && StepKept{B,C}(c, lay) ==> StepKept{A,C}(c, lay);
    lemma Kept_Head{A,B}: \forall zp_config *c, zp_layout *lay; StepKept{A,B}(c, lay) ==>
      SameHead{A,B}(lay) && SameScalars{A,B}(c);
    lemma Kept_Numel{A,B}: \forall zp_config *c, zp_layout *lay, integer j;
      StepKept{A,B}(c, lay) && 0 <= j < \at(c->n_params, A) ==> SameNumel{A,B}(c, j);
    lemma Kept_Spot{A,B}: \forall zp_config *c, zp_layout *lay, integer i;
      StepKept{A,B}(c, lay) && 0 <= i < \at(lay->n_params, A) ==> SameSpot{A,B}(lay, i);
    lemma Kept_Flat{A,B}: \forall zp_config *c, zp_layout *lay, integer k;
      StepKept{A,B}(c, lay) && 0 <= k < \at(lay->n_flats, A) ==>
      SameFlat{A,B}(\at(lay->flat, A) + k);
    lemma Fits_Of{L}: \forall zp_config *c, zp_layout *lay, integer i;
      StageFits(c, lay) && 0 <= i < lay->n_params ==> EntryFits(c, lay, i) &&
      0 <= lay->first_param + i < c->n_params && -1 <= lay->spot[i].flat < lay->n_flats;
    lemma Kept_Raw{A,B}: \forall zp_config *c, zp_layout *lay, integer i; StepKept{A,B}(c, lay) &&
      StageFits{A}(c, lay) && 0 <= i < \at(lay->n_params, A) ==> SameRaw{A,B}(c, lay, i);
    lemma Kept_EntryFits{A,B}: \forall zp_config *c, zp_layout *lay, integer i;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && 0 <= i < \at(lay->n_params, A) ==>
      SameRaw{A,B}(c, lay, i) && EntryFits{B}(c, lay, i);
    lemma Kept_Len{A,B}: \forall zp_config *c, zp_layout *lay, integer i, r;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && 0 <= i < \at(lay->n_params, A) ==>
      RawLen{A}(c, lay, i, r) == RawLen{B}(c, lay, i, r);
    lemma Kept_Trace{A,B}: \forall trace tr, zp_config *c, zp_layout *lay, integer i, g, t;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && 0 <= i < \at(lay->n_params, A) ==>
      RawTrace{A}(tr, c, lay, i, g, t) == RawTrace{B}(tr, c, lay, i, g, t);
    lemma Kept_Adds{A,B}: \forall zp_config *c, zp_layout *lay, integer i, p, e, k, b;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && 0 <= i < \at(lay->n_params, A) ==>
      RawAdds{A}(c, lay, i, p, e, k, b) == RawAdds{B}(c, lay, i, p, e, k, b);
    lemma Kept_Done{A,B}: \forall zp_config *c, zp_layout *lay, integer i, k, b;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) && 0 <= i < \at(lay->n_params, A) ==>
      RawDone{A}(c, lay, i, k, b) == RawDone{B}(c, lay, i, k, b);
    lemma Kept_Fits{A,B}: \forall zp_config *c, zp_layout *lay; StepKept{A,B}(c, lay) &&
      StageFits{A}(c, lay) ==> StageFits{B}(c, lay);
*/

#endif
