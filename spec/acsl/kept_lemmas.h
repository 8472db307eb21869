/* Facts that stay true while a program is written, because configuration and layout do not
 * change. */
#ifndef ZP_SPEC_ACSL_KEPT_LEMMAS_H
#define ZP_SPEC_ACSL_KEPT_LEMMAS_H

/* The inputs of INIT, SAVE and LOAD. */
/*@ lemma Kept_Same{A,B}: \forall zp_config *c; Kept{A,B}(c) ==> SameConfig{A,B}(c);
    lemma Kept_Valid{A,B}: \forall zp_config *c; Kept{A,B}(c) && Valid{A}(c) ==> Valid{B}(c);
    lemma Kept_Trans{A,B,C}: \forall zp_config *c;
      Kept{A,B}(c) && Kept{B,C}(c) ==> Kept{A,C}(c);
    lemma KeptStage_Trans{A,B,C}: \forall zp_layout *lay;
      KeptStage{A,B}(lay) && KeptStage{B,C}(lay) ==> KeptStage{A,C}(lay);
    lemma KeptFlats_Trans{A,B,C}: \forall zp_layout *lay; KeptStage{A,B}(lay) &&
      KeptFlats{A,B}(lay) && KeptFlats{B,C}(lay) ==> KeptFlats{A,C}(lay);
    lemma On_Bit{L}: \forall zp_config *c, integer key, s; 0 <= c->n_params ==>
      0 <= On(c, key, s) <= 1;
    lemma FlatOk_Frame{A,B}: \forall zp_flat *f; KeptFlat{A,B}(f) && FlatOk{A}(f) ==> FlatOk{B}(f);
    lemma Flats_Flat{A,B}: \forall zp_layout *lay, integer k; KeptStage{A,B}(lay) &&
      KeptFlats{A,B}(lay) && 0 <= k < \at(lay->n_flats, A) ==> KeptFlat{A,B}(\at(lay->flat, A) + k);
    lemma StageLayout_Kept{A,B}: \forall zp_config *c, zp_layout *lay; Kept{A,B}(c) &&
      KeptStage{A,B}(lay) && KeptFlats{A,B}(lay) && StageLayout{A}(c, lay) ==>
      StageLayout{B}(c, lay); */

#endif
