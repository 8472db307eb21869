/* A layout of a stage remains one if neither configuration nor layout changes. Include after
 * layout_same.h, layout_frame.h and layout_good.h. */
#ifndef ZP_SPEC_ACSL_STILL_LEMMAS_H
#define ZP_SPEC_ACSL_STILL_LEMMAS_H

/*@ predicate StillFlats{A,B}(zp_layout *lay) =
      \forall integer k; 0 <= k < \at(lay->n_flats, A) ==> \at(lay->flat[k].optgroup, A) ==
        \at(lay->flat[k].optgroup, B) && \at(lay->flat[k].holder, A) == \at(lay->flat[k].holder, B);
    predicate StillLayout{A,B}(zp_config *c, zp_layout *lay) =
      StepKept{A,B}(c, lay) && StillFlats{A,B}(lay);
    lemma Kept_Input{A,B}: \forall zp_config *c; Kept{A,B}(c) ==> SameInput{A,B}(c);
    lemma Still_Flat{A,B}: \forall zp_config *c, zp_layout *lay, integer k;
      StillLayout{A,B}(c, lay) && 0 <= k < \at(lay->n_flats, A) ==>
      StillFlat{A,B}(\at(lay->flat, A) + k);
    lemma Lead_Inside{L}: \forall integer n; 1 <= n ==> \forall zp_config *c, integer k, j;
      j <= Leader(c, k, j, n) && Leader(c, k, j, n) < j + n;
    lemma Head_Inside{L}: \forall zp_config *c, integer e, j; j < e ==>
      j <= HeadOf(c, e, j) && HeadOf(c, e, j) < e;
    lemma FlatIs_Frame{A,B}: \forall zp_config *c, integer e, j, n, zp_flat *f; SameInput{A,B}(c) &&
      StillFlat{A,B}(f) && 0 <= j < e <= \at(c->n_params, A) && FlatIs{A,A}(c, e, j, n, f) ==>
      FlatIs{B,B}(c, e, j, n, f);
    lemma First_Frame{A,B}: \forall zp_config *c, integer s; SameInput{A,B}(c) &&
      0 <= \at(c->n_params, A) ==> StageFirst{A}(c, s) == StageFirst{B}(c, s) &&
      StageEnd{A}(c, s) == StageEnd{B}(c, s) && StageCount{A}(c, s) == StageCount{B}(c, s);
    lemma End_Frame{A,B}: \forall zp_config *c, integer s; SameInput{A,B}(c) && Valid{A}(c) ==>
      StageEnd{A}(c, s) == StageEnd{B}(c, s);
    lemma LayoutHead_Frame{A,B}: \forall zp_config *c, integer s, zp_layout *lay;
      SameInput{A,B}(c) && Valid{A}(c) && KeptStage{A,B}(lay) && LayoutHead{A}(c, s, lay) ==>
      LayoutHead{B}(c, s, lay);
    lemma LayoutFlat_Frame{A,B}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      SameInput{A,B}(c) && Valid{A}(c) && \at(lay->flat, A) == \at(lay->flat, B) &&
      StillFlat{A,B}(\at(lay->flat, A) + k) &&
      0 <= k < FlatCount{A}(c, StageEnd{A}(c, s), StageCount{A}(c, s)) &&
      LayoutFlat{A}(c, s, lay, k) ==> LayoutFlat{B}(c, s, lay, k);
    predicate SpotAt{L}(zp_config *c, integer e, integer j, zp_spot *p) =
      p->flat == FlatOf(c, e, j) && p->start == StartOf(c, e, j);
    lemma SpotAt_Frame{A,B}: \forall zp_config *c, integer e, j, zp_spot *p; SameInput{A,B}(c) &&
      StillSpot{A,B}(p) && 0 <= j < e <= \at(c->n_params, A) && SpotAt{A}(c, e, j, p) ==>
      SpotAt{B}(c, e, j, p);
    lemma Spot_Place{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      Valid(c) && LayoutHead(c, s, lay) && 0 <= i < lay->n_params ==>
      0 <= lay->first_param + i < StageEnd(c, s) && StageEnd(c, s) <= c->n_params &&
      (LayoutSpot(c, s, lay, i) <==>
        SpotAt(c, StageEnd(c, s), lay->first_param + i, lay->spot + i));
    lemma Still_Spot{A,B}: \forall zp_layout *lay, integer i; KeptSpots{A,B}(lay) &&
      0 <= i < \at(lay->n_params, A) ==> StillSpot{A,B}(\at(lay->spot, A) + i);
    lemma Spot_Moves{A,B}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      SameInput{A,B}(c) && Valid{A}(c) && LayoutHead{A}(c, s, lay) && KeptStage{A,B}(lay) &&
      KeptSpots{A,B}(lay) && 0 <= i < \at(lay->n_params, A) && LayoutSpot{A}(c, s, lay, i) ==>
      SpotAt{B}(c, StageEnd{A}(c, s), \at(lay->first_param, A) + i, \at(lay->spot, A) + i);
    lemma Spot_Here{A,B}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      StageEnd{A}(c, s) == StageEnd{B}(c, s) && KeptStage{A,B}(lay) &&
      \at(lay->spot, A) == \at(lay->spot, B) &&
      SpotAt{B}(c, StageEnd{A}(c, s), \at(lay->first_param, A) + i, \at(lay->spot, A) + i) ==>
      LayoutSpot{B}(c, s, lay, i);
    lemma LayoutSpot_Frame{A,B}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      SameInput{A,B}(c) && Valid{A}(c) && Valid{B}(c) && LayoutHead{A}(c, s, lay) &&
      LayoutHead{B}(c, s, lay) && KeptStage{A,B}(lay) && KeptSpots{A,B}(lay) &&
      0 <= i < \at(lay->n_params, A) && LayoutSpot{A}(c, s, lay, i) ==>
      LayoutSpot{B}(c, s, lay, i);
    lemma Still_Parts{A,B}: \forall zp_config *c, zp_layout *lay; StillLayout{A,B}(c, lay) ==>
      Kept{A,B}(c) && SameInput{A,B}(c) && KeptStage{A,B}(lay) && KeptSpots{A,B}(lay);
    lemma Flat_Still{A,B}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      StillLayout{A,B}(c, lay) && Valid{A}(c) && LayoutHead{A}(c, s, lay) &&
      0 <= k < \at(lay->n_flats, A) && LayoutFlat{A}(c, s, lay, k) ==> LayoutFlat{B}(c, s, lay, k);
    lemma Spot_Still{A,B}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      StillLayout{A,B}(c, lay) && Valid{A}(c) && LayoutHead{A}(c, s, lay) &&
      0 <= i < \at(lay->n_params, A) && LayoutSpot{A}(c, s, lay, i) ==> LayoutSpot{B}(c, s, lay, i);
    predicate AllFlats{L}(zp_config *c, integer s, zp_layout *lay) =
      \forall integer k; 0 <= k < lay->n_flats ==> LayoutFlat(c, s, lay, k);
    predicate AllSpots{L}(zp_config *c, integer s, zp_layout *lay) =
      \forall integer i; 0 <= i < lay->n_params ==> LayoutSpot(c, s, lay, i);
    lemma LayoutFlats_Frame{A,B}: \forall zp_config *c, integer s, zp_layout *lay;
      StillLayout{A,B}(c, lay) && Valid{A}(c) && LayoutHead{A}(c, s, lay) &&
      AllFlats{A}(c, s, lay) ==> AllFlats{B}(c, s, lay);
    lemma LayoutSpots_Frame{A,B}: \forall zp_config *c, integer s, zp_layout *lay;
      StillLayout{A,B}(c, lay) && Valid{A}(c) && LayoutHead{A}(c, s, lay) &&
      AllSpots{A}(c, s, lay) ==> AllSpots{B}(c, s, lay);
    lemma LayoutOf_Parts{L}: \forall zp_config *c, integer s, zp_layout *lay;
      LayoutOf(c, s, lay) <==>
      LayoutHead(c, s, lay) && AllFlats(c, s, lay) && AllSpots(c, s, lay);
    lemma LayoutOf_Frame{A,B}: \forall zp_config *c, integer s, zp_layout *lay;
      StillLayout{A,B}(c, lay) && Valid{A}(c) && LayoutOf{A}(c, s, lay) ==>
      LayoutOf{B}(c, s, lay); */

#endif
