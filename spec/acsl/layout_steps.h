/* One step of zp_layout_build: it takes entry j after the entries j+1 … e-1. Include after
 * layout_lemmas.h, layout_same.h and layout_frame.h. */
#ifndef ZP_SPEC_ACSL_LAYOUT_STEPS_H
#define ZP_SPEC_ACSL_LAYOUT_STEPS_H

/* What the entries j … e-1 make: flat groups, the entry that opens group k, elements of group k. */
/*@ logic integer CountFrom{L}(zp_config *c, integer e, integer j) = FlatCount(c, e, e - j);
    logic integer OpenerFrom{L}(zp_config *c, integer e, integer j, integer k) =
      Opener(c, e, e - j, k);
    logic integer NumelFrom{L}(zp_config *c, integer e, integer j, integer k) =
      FlatNumel(c, e, e - j, k);

    // Flat group k, as the entries j … e-1 of the configuration at C make it, is at L where f points.
    predicate FlatFrom{C,L}(zp_config *c, integer e, integer j, integer k, zp_flat *f) =
      FlatIs{C,L}(c, e, OpenerFrom{C}(c, e, j, k), NumelFrom{C}(c, e, j, k), f);

    // So far, taking in the entries j … e-1: lay's flat groups, and the spots of those entries.
    predicate SpotIs{C,L}(zp_config *c, integer e, integer j, zp_spot *s) =
      \at(s->flat, L) == FlatOf{C}(c, e, j) && \at(s->start, L) == StartOf{C}(c, e, j);
    predicate FlatsFrom{L}(zp_config *c, integer e, integer j, zp_layout *lay) =
      lay->n_flats == CountFrom(c, e, j) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> FlatFrom{L,L}(c, e, j, k, lay->flat + k));
    predicate SpotAt{L}(zp_config *c, integer e, integer j, zp_layout *lay) =
      SpotIs{L,L}(c, e, j, lay->spot + (j - lay->first_param));
    predicate SpotsFrom{L}(zp_config *c, integer e, integer j, zp_layout *lay) =
      \forall integer i; j <= i < e ==> SpotAt(c, e, i, lay);

    // Untied entries that go into the same flat group.
    predicate SameGroup{L}(zp_config *c, integer o, integer j) =
      c->params[o].tied < 0 && c->params[j].tied < 0 &&
      c->params[o].optgroup == c->params[j].optgroup && GroupOf(c, o) == GroupOf(c, j); */

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
      Valid(c) && 0 <= j <= e <= c->n_params ==> 0 <= NumelFrom(c, e, j, k) <= 1099511627776;
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

/* From step to step, and from one state of memory to the next. Include layout_frame.h before. */
/*@ lemma FlatIs_Frame{A,B}: \forall zp_config *c, integer e, o, n, more, zp_flat *f;
      SameInput{A,B}(c) && 0 <= o < e <= \at(c->n_params, A) && SameFlat{A,B}(f, more) &&
      FlatIs{A,A}(c, e, o, n, f) ==> FlatIs{B,B}(c, e, o, n + more, f);
    lemma OpenerFrom_Frame{A,B}: \forall zp_config *c, integer e, j, k;
      SameInput{A,B}(c) && 0 <= j <= e <= \at(c->n_params, A) ==>
      OpenerFrom{A}(c, e, j, k) == OpenerFrom{B}(c, e, j, k) &&
      NumelFrom{A}(c, e, j, k) == NumelFrom{B}(c, e, j, k) &&
      CountFrom{A}(c, e, j) == CountFrom{B}(c, e, j);
    lemma Flat_Keeps{A,B}: \forall zp_config *c, integer e, j, k, zp_flat *f;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) &&
      0 <= k < CountFrom{A}(c, e, j + 1) && SameFlat{A,B}(f, Brings{A}(c, e, j, k)) &&
      FlatFrom{A,A}(c, e, j + 1, k, f) ==> FlatFrom{B,B}(c, e, j, k, f);
    lemma Flat_New{L}: \forall zp_config *c, integer e, j, zp_flat *f;
      0 <= j < e && Opens(c, e, j) == 1 &&
      FlatIs{L,L}(c, e, j, Brings(c, e, j, FlatOf(c, e, j)), f) ==>
      FlatFrom{L,L}(c, e, j, FlatOf(c, e, j), f);
    lemma Spot_Keeps{A,B}: \forall zp_config *c, integer e, j, zp_spot *s;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) && SameSpot{A,B}(s) &&
      SpotIs{A,A}(c, e, j, s) ==> SpotIs{B,B}(c, e, j, s);
    lemma Spot_New{A,B}: \forall zp_config *c, integer e, j, zp_spot *s;
      SameInput{A,B}(c) && 0 <= j < e <= \at(c->n_params, A) &&
      SpotIs{A,B}(c, e, j, s) ==> SpotIs{B,B}(c, e, j, s); */

#endif
