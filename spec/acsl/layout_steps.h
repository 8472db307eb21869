/* One step of zp_layout_build: it places entry j after the entries j+1 … e-1. Include after
 * layout_lemmas.h, layout_same.h and layout_frame.h. */
#ifndef ZP_SPEC_ACSL_LAYOUT_STEPS_H
#define ZP_SPEC_ACSL_LAYOUT_STEPS_H

#include "bounds.h"

/* The result of the entries j … e-1: the number of flat groups, the entry that opens group k, the
 * elements of group k. */
/*@ logic integer CountFrom{L}(zp_config *c, integer e, integer j) = FlatCount(c, e, e - j);
    logic integer OpenerFrom{L}(zp_config *c, integer e, integer j, integer k) =
      Opener(c, e, e - j, k);
    logic integer NumelFrom{L}(zp_config *c, integer e, integer j, integer k) =
      FlatNumel(c, e, e - j, k);

    // At L, f points to flat group k as the entries j … e-1 of the configuration at C define it.
    predicate FlatFrom{C,L}(zp_config *c, integer e, integer j, integer k, zp_flat *f) =
      FlatIs{C,L}(c, e, OpenerFrom{C}(c, e, j, k), NumelFrom{C}(c, e, j, k), f);

    // The state after the entries j … e-1 of the configuration at C: lay's flat groups at L, and
    // the spots of those entries.
    predicate SpotIs{C,L}(zp_config *c, integer e, integer j, zp_spot *s) =
      \at(s->flat, L) == FlatOf{C}(c, e, j) && \at(s->start, L) == StartOf{C}(c, e, j);
    predicate FlatsFrom{C,L}(zp_config *c, integer e, integer j, zp_layout *lay) =
      \at(lay->n_flats, L) == CountFrom{C}(c, e, j) &&
      (\forall integer k; 0 <= k < CountFrom{C}(c, e, j) ==>
        FlatFrom{C,L}(c, e, j, k, \at(lay->flat, L) + k));
    predicate PlacedAt{C,L}(zp_config *c, integer e, integer j, zp_layout *lay) =
      SpotIs{C,L}(c, e, j, \at(lay->spot, L) + (j - \at(lay->first_param, L)));
    predicate SpotsFrom{C,L}(zp_config *c, integer e, integer j, zp_layout *lay) =
      \forall integer i; j <= i < e ==> PlacedAt{C,L}(c, e, i, lay);

    // Untied entries of the same flat group.
    predicate SameGroup{L}(zp_config *c, integer o, integer j) =
      c->params[o].tied < 0 && c->params[j].tied < 0 &&
      c->params[o].optgroup == c->params[j].optgroup && c->params[o].fp32 == c->params[j].fp32 &&
      GroupOf(c, o) == GroupOf(c, j); */

/*@ lemma From_End{L}: \forall zp_config *c, integer e; CountFrom(c, e, e) == 0;
    lemma Count_From{L}: \forall zp_config *c, integer e, j; j < e ==>
      CountFrom(c, e, j) == CountFrom(c, e, j + 1) + Opens(c, e, j);
    lemma Count_From_Range{L}: \forall zp_config *c, integer e, j; j <= e ==>
      0 <= CountFrom(c, e, j) <= e - j;
    lemma Opener_From{L}: \forall zp_config *c, integer e, j, k;
      j < e && 0 <= k < CountFrom(c, e, j + 1) ==>
      OpenerFrom(c, e, j, k) == OpenerFrom(c, e, j + 1, k);
    lemma Opener_From_Range{L}: \forall zp_config *c, integer e, j, k;
      j <= e && 0 <= k < CountFrom(c, e, j) ==>
      j <= OpenerFrom(c, e, j, k) < e && Opens(c, e, OpenerFrom(c, e, j, k)) == 1;
    lemma Numel_From{L}: \forall zp_config *c, integer e, j, k; j < e ==>
      NumelFrom(c, e, j, k) == NumelFrom(c, e, j + 1, k) + Brings(c, e, j, k);
    lemma Numel_From_Range{L}: \forall zp_config *c, integer e, j, k;
      Valid(c) && 0 <= j <= e <= c->n_params ==> 0 <= NumelFrom(c, e, j, k) <= ZP_LIMIT_ELEMENTS;
    lemma Start_From{L}: \forall zp_config *c, integer e, j; j < e && c->params[j].frozen == 0 ==>
      StartOf(c, e, j) == NumelFrom(c, e, j + 1, FlatOf(c, e, j));
    lemma Step_Frozen{L}: \forall zp_config *c, integer e, j; c->params[j].frozen != 0 ==>
      Opens(c, e, j) == 0 && FlatOf(c, e, j) == -1 && StartOf(c, e, j) == 0;
    lemma Step_Open{L}: \forall zp_config *c, integer e, j; j < e && Opens(c, e, j) == 1 ==>
      FlatOf(c, e, j) == CountFrom(c, e, j + 1) &&
      OpenerFrom(c, e, j, CountFrom(c, e, j + 1)) == j &&
      NumelFrom(c, e, j + 1, CountFrom(c, e, j + 1)) == 0;
    lemma Step_Joins{L}: \forall zp_config *c, integer e, j, k;
      j < e && IsUntied(c, j) && 0 <= k < CountFrom(c, e, j + 1) &&
      ClassOf(c, OpenerFrom(c, e, j + 1, k)) == ClassOf(c, j) ==>
      FlatOf(c, e, j) == k && Opens(c, e, j) == 0;
    lemma Step_Joined{L}: \forall zp_config *c, integer e, j;
      j < e && IsUntied(c, j) && Opens(c, e, j) == 0 ==>
      0 <= FlatOf(c, e, j) < CountFrom(c, e, j + 1) &&
      ClassOf(c, OpenerFrom(c, e, j + 1, FlatOf(c, e, j))) == ClassOf(c, j);
    lemma Same_Class{L}: \forall zp_config *c, integer o, j;
      Valid(c) && 0 <= o < c->n_params && 0 <= j < c->n_params &&
      c->params[o].frozen == 0 && c->params[j].frozen == 0 && SameGroup(c, o, j) ==>
      ValidEntry(c, o) && ValidEntry(c, j) && ClassOf(c, o) == ClassOf(c, j);
    lemma Class_Same{L}: \forall zp_config *c, integer o, j;
      Valid(c) && 0 <= o < c->n_params && 0 <= j < c->n_params && IsUntied(c, j) &&
      ClassOf(c, o) == ClassOf(c, j) ==>
      ValidEntry(c, o) && ValidEntry(c, j) && SameGroup(c, o, j);
    lemma Opens_Trained{L}: \forall zp_config *c, integer e, j;
      Opens(c, e, j) == 1 ==> IsTied(c, j) || IsUntied(c, j);
    lemma Opens_Bit{L}: \forall zp_config *c, integer e, j;
      Opens(c, e, j) == 0 || Opens(c, e, j) == 1; */

/* From step to step. */
/*@ lemma Flat_Grows{A,B}: \forall zp_config *c, integer e, j, k, zp_flat *f;
      j < e && 0 <= k < CountFrom{A}(c, e, j + 1) && FlatOf{A}(c, e, j) != k &&
      StillFlat{A,B}(f) && FlatFrom{A,A}(c, e, j + 1, k, f) ==> FlatFrom{A,B}(c, e, j, k, f);
    predicate OthersStill{A,B}(zp_layout *lay, integer n, integer k) =
      \forall integer m; 0 <= m < n && m != k ==> StillFlat{A,B}(\at(lay->flat, A) + m);
    lemma Flats_Grow{A,B}: \forall zp_config *c, integer e, j, zp_layout *lay;
      j < e && FlatsFrom{A,A}(c, e, j + 1, lay) && StillRoom{A,B}(lay) &&
      \at(lay->n_flats, B) == CountFrom{A}(c, e, j) &&
      OthersStill{A,B}(lay, CountFrom{A}(c, e, j + 1), FlatOf{A}(c, e, j)) &&
      (0 <= FlatOf{A}(c, e, j) ==>
        FlatFrom{A,B}(c, e, j, FlatOf{A}(c, e, j), \at(lay->flat, A) + FlatOf{A}(c, e, j))) ==>
      FlatsFrom{A,B}(c, e, j, lay);
    lemma Placed_Still{A,B}: \forall zp_config *c, integer e, j, zp_layout *lay;
      StillRoom{A,B}(lay) && StillStage{A,B}(lay) &&
      StillSpot{A,B}(\at(lay->spot, A) + (j - \at(lay->first_param, A))) &&
      PlacedAt{A,A}(c, e, j, lay) ==> PlacedAt{A,B}(c, e, j, lay);
    lemma Takes_Same{L}: \forall zp_config *c, integer e, o, n, j, zp_flat *f;
      FlatIs{L,L}(c, e, o, n, f) && c->params[j].tied < 0 ==>
      (Takes(f, c->params + j) <==> SameGroup(c, o, j)); */

/* From one state of memory to the next. */
/*@ lemma OpenerFrom_Frame{A,B}: \forall zp_config *c, integer e, j, k;
      SameInput{A,B}(c) && 0 <= j <= e <= \at(c->n_params, A) ==>
      OpenerFrom{A}(c, e, j, k) == OpenerFrom{B}(c, e, j, k);
    lemma NumelFrom_Frame{A,B}: \forall zp_config *c, integer e, j, k;
      SameInput{A,B}(c) && 0 <= j <= e <= \at(c->n_params, A) ==>
      NumelFrom{A}(c, e, j, k) == NumelFrom{B}(c, e, j, k);
    lemma CountFrom_Frame{A,B}: \forall zp_config *c, integer e, j;
      SameInput{A,B}(c) && 0 <= j <= e <= \at(c->n_params, A) ==>
      CountFrom{A}(c, e, j) == CountFrom{B}(c, e, j);
    lemma FlatIs_Kept{A,B}: \forall zp_config *c, integer e, o, n, zp_flat *f;
      SameInput{A,B}(c) && 0 <= o < e <= \at(c->n_params, A) && FlatIs{A,B}(c, e, o, n, f) ==>
      FlatIs{B,B}(c, e, o, n, f);
    lemma FlatFrom_Kept{A,B}: \forall zp_config *c, integer e, j, k, zp_flat *f;
      SameInput{A,B}(c) && 0 <= j <= e <= \at(c->n_params, A) &&
      0 <= k < CountFrom{A}(c, e, j) && FlatFrom{A,B}(c, e, j, k, f) ==>
      FlatFrom{B,B}(c, e, j, k, f);
    lemma Flats_Kept{A,B}: \forall zp_config *c, integer e, j, zp_layout *lay;
      SameInput{A,B}(c) && 0 <= j <= e <= \at(c->n_params, A) && FlatsFrom{A,B}(c, e, j, lay) ==>
      FlatsFrom{B,B}(c, e, j, lay);
    lemma PlacedAt_Kept{A,B}: \forall zp_config *c, integer e, j, zp_layout *lay;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) && PlacedAt{A,B}(c, e, j, lay) ==>
      PlacedAt{B,B}(c, e, j, lay);
    lemma Spots_Kept{A,B}: \forall zp_config *c, integer e, j, zp_layout *lay;
      SameInput{A,B}(c) && 0 <= j <= e <= \at(c->n_params, A) && SpotsFrom{A,B}(c, e, j, lay) ==>
      SpotsFrom{B,B}(c, e, j, lay);
    lemma Stage_Frame{A,B}: \forall zp_config *c, integer s;
      SameInput{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      StageFirst{A}(c, s) == StageFirst{B}(c, s) && StageEnd{A}(c, s) == StageEnd{B}(c, s); */

/* After all entries of the stage are placed. */
/*@ predicate StageNamed{L}(zp_config *c, integer s, zp_layout *lay) =
      lay->stage == s && lay->first_param == StageFirst(c, s) &&
      lay->n_params == StageCount(c, s);
    lemma From_Stage{L}: \forall zp_config *c, integer s, k;
      OpenerFrom(c, StageEnd(c, s), StageFirst(c, s), k) ==
        Opener(c, StageEnd(c, s), StageCount(c, s), k) &&
      NumelFrom(c, StageEnd(c, s), StageFirst(c, s), k) ==
        FlatNumel(c, StageEnd(c, s), StageCount(c, s), k) &&
      CountFrom(c, StageEnd(c, s), StageFirst(c, s)) ==
        FlatCount(c, StageEnd(c, s), StageCount(c, s));
    lemma Made_Flat{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      StageNamed(c, s, lay) && FlatsFrom{L,L}(c, StageEnd(c, s), StageFirst(c, s), lay) &&
      0 <= k < lay->n_flats ==> LayoutFlat(c, s, lay, k);
    lemma Made_Spot{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      StageNamed(c, s, lay) && SpotsFrom{L,L}(c, StageEnd(c, s), StageFirst(c, s), lay) &&
      0 <= i < lay->n_params ==>
      PlacedAt{L,L}(c, StageEnd(c, s), lay->first_param + i, lay) && LayoutSpot(c, s, lay, i);
    lemma Layout_Made{L}: \forall zp_config *c, integer s, zp_layout *lay;
      StageNamed(c, s, lay) && FlatsFrom{L,L}(c, StageEnd(c, s), StageFirst(c, s), lay) &&
      SpotsFrom{L,L}(c, StageEnd(c, s), StageFirst(c, s), lay) ==> LayoutOf(c, s, lay);
    lemma Layout_Done{L}: \forall zp_config *c, integer s, zp_layout *lay;
      StageNamed(c, s, lay) && FlatsFrom{L,L}(c, EndOf(lay), lay->first_param, lay) &&
      SpotsFrom{L,L}(c, EndOf(lay), lay->first_param, lay) ==>
      EndOf(lay) == StageEnd(c, s) && LayoutOf(c, s, lay); */

#endif
