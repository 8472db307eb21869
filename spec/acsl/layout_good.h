/* Consequences of being the layout of a stage of a valid configuration. Include after
 * ref/plan/layout.h. */
#ifndef ZP_SPEC_ACSL_LAYOUT_GOOD_H
#define ZP_SPEC_ACSL_LAYOUT_GOOD_H

#include "bounds.h"

/*@ lemma Quotient_Range: \forall integer d, e; 1 <= e <= d ==> 1 <= d / e <= d;
    lemma Members_Range{L}: \forall zp_config *c, integer j;
      Valid(c) && 0 <= j < c->n_params ==> 1 <= MembersOf(c, j) <= ZP_LIMIT_RANKS;
    lemma RoundUp_Again: \forall integer x, m; 0 <= x && 0 < m ==> Multiple(RoundUp(x, m), m);
    lemma Unit_Range: \forall integer d, a; 1 <= d <= ZP_LIMIT_RANKS && 1 <= a <= ZP_LIMIT_ALIGN ==>
      1 <= d * a <= 4294967296;
    lemma Capacity_Good: \forall integer bucket, d, a;
      1 <= bucket <= ZP_LIMIT_ELEMENTS && 1 <= d <= ZP_LIMIT_RANKS && 1 <= a <= ZP_LIMIT_ALIGN ==>
      1 <= Capacity(bucket, d, a) <= 1103806595072 && WholeUnits(Capacity(bucket, d, a), d, a);
    lemma FlatIs_Ok{L}: \forall zp_config *c, integer e, x, j, k, zp_flat *f;
      Valid(c) && 0 <= x <= e <= c->n_params && 0 <= j < e &&
      FlatIs{L,L}(c, e, j, FlatNumel(c, e, x, k), f) ==>
      ValidEntry(c, j) && FlatOk(f);
    lemma Opener_Inside{L}: \forall zp_config *c, integer e, x, k;
      0 <= x <= e && 0 <= k < FlatCount(c, e, x) ==> 0 <= Opener(c, e, x, k) < e;
    lemma Opener_Head{L}: \forall zp_config *c, integer e, x, k;
      0 <= x <= e && 0 <= k < FlatCount(c, e, x) ==>
      0 <= FlatAt(c, e, HeadOf(c, e, Opener(c, e, x, k))) <= k;
    lemma Opener_Use{L}: \forall zp_config *c, integer e, x, k;
      0 <= x <= e && 0 <= k < FlatCount(c, e, x) ==>
      (UseOf(c, e, Opener(c, e, x, k)) == 0 <==>
        FlatAt(c, e, HeadOf(c, e, Opener(c, e, x, k))) == k);
    lemma Opener_First{L}: \forall zp_config *c, integer e, x, k;
      0 <= x <= e && 0 <= k < FlatCount(c, e, x) &&
      c->params[Opener(c, e, x, k)].tied < 0 ==> UseOf(c, e, Opener(c, e, x, k)) == 0;
    lemma FlatIs_Members{L}: \forall zp_config *c, integer e, j, n, zp_flat *f;
      Valid(c) && 0 <= j < e <= c->n_params && FlatIs{L,L}(c, e, j, n, f) ==> ValidEntry(c, j) &&
      (f->group == ZP_GROUP_DP && f->members == c->dp ||
       f->group == ZP_GROUP_EDP && f->members == c->dp / c->ep) &&
      -1 <= f->tied < c->tied_keys && 0 <= f->optgroup < c->optgroups && 0 <= f->fp32 <= 1 &&
      f->align == c->align;
    lemma FlatIs_Dense{L}: \forall zp_config *c, integer e, j, n, zp_flat *f;
      Valid(c) && 0 <= j < e <= c->n_params && FlatIs{L,L}(c, e, j, n, f) && 0 <= f->tied ==>
      TiedAgree(c, j, j) && ValidEntry(c, j) && f->group == ZP_GROUP_DP;
    lemma FlatIs_Good{L}: \forall zp_config *c, integer e, x, k, zp_flat *f;
      Valid(c) && 0 <= x <= e <= c->n_params && 0 <= k < FlatCount(c, e, x) &&
      FlatIs{L,L}(c, e, Opener(c, e, x, k), FlatNumel(c, e, x, k), f) ==>
      FlatLike(c, f, k, FlatNumel(c, e, x, k));
    lemma FlatIs_Class{L}: \forall zp_config *c, integer e, x, j, n, zp_flat *f;
      Valid(c) && e - x <= j < e <= c->n_params && 0 <= x <= e && c->params[j].frozen == 0 &&
      FlatIs{L,L}(c, e, Opener(c, e, x, FlatOf(c, e, j)), n, f) ==>
      ValidEntry(c, j) && TiedAgree(c, j, HeadOf(c, e, j)) && ValidEntry(c, HeadOf(c, e, j)) &&
      f->group == GroupOf(c, j) && f->members == MembersOf(c, j) &&
      f->optgroup == c->params[j].optgroup && f->fp32 == c->params[j].fp32 &&
      f->tied == c->params[j].tied;
    lemma Start_Numel{L}: \forall zp_config *c, integer e, j;
      j < e && c->params[j].frozen == 0 ==>
      StartOf(c, e, j) == FlatNumel(c, e, e - 1 - j, FlatOf(c, e, j)) &&
      StartOf(c, e, j) + c->params[j].numel == FlatNumel(c, e, e - j, FlatOf(c, e, j));
    lemma Start_Limit{L}: \forall zp_config *c, integer e, x, j;
      Valid(c) && 0 <= x <= e <= c->n_params && e - x <= j < e && c->params[j].frozen == 0 ==>
      0 <= StartOf(c, e, j) &&
      StartOf(c, e, j) + c->params[j].numel <= FlatNumel(c, e, x, FlatOf(c, e, j));
    lemma Start_Tied{L}: \forall zp_config *c, integer e, x, j;
      0 <= x <= e && e - x <= j < e && c->params[j].frozen == 0 && 0 <= c->params[j].tied ==>
      StartOf(c, e, j) == 0 && FlatNumel(c, e, x, FlatOf(c, e, j)) == c->params[j].numel;
    lemma FlatIs_Spot{L}: \forall zp_config *c, integer e, x, j, zp_flat *f;
      Valid(c) && 0 <= x <= e <= c->n_params && e - x <= j < e && c->params[j].frozen == 0 &&
      FlatIs{L,L}(c, e, Opener(c, e, x, FlatOf(c, e, j)), FlatNumel(c, e, x, FlatOf(c, e, j)),
        f) ==> SpotLike(c, e, j, FlatOf(c, e, j), StartOf(c, e, j), f);
    lemma Stage_Range{L}: \forall zp_config *c, integer s; Valid(c) ==>
      0 <= StageFirst(c, s) <= StageEnd(c, s) <= c->n_params <= ZP_LIMIT_ENTRIES;
    predicate StageOk{L}(zp_config *c, integer j) = 0 <= c->params[j].stage <= ZP_LIMIT_RANKS;
    lemma Stage_Ok{L}: \forall integer j; 0 <= j ==> \forall zp_config *c;
      Valid(c) && j < c->n_params ==> ValidEntry(c, j) && StageOk(c, j);
    lemma Stage_Mine{L}: \forall zp_config *c, integer s, j; Valid(c) && 0 <= j < c->n_params ==>
      (c->params[j].stage == s <==> StageFirst(c, s) <= j < StageEnd(c, s));
    lemma Layout_Range{L}: \forall zp_config *c, integer s, zp_layout *lay;
      Valid(c) && LayoutHead(c, s, lay) ==> LayoutRange(c, lay);
    lemma Layout_Mine{L}: \forall zp_config *c, integer s, zp_layout *lay, integer j;
      Valid(c) && LayoutHead(c, s, lay) && 0 <= j < c->n_params ==>
      ValidEntry(c, j) && StageOk(c, j) && EntryMine(c, lay, j);
    lemma Layout_Flat{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      Valid(c) && LayoutFlat(c, s, lay, k) &&
      0 <= k < FlatCount(c, StageEnd(c, s), StageCount(c, s)) ==> FlatGood(c, s, lay, k);
    lemma Layout_Frozen{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      LayoutHead(c, s, lay) && LayoutSpot(c, s, lay, i) &&
      c->params[lay->first_param + i].frozen != 0 ==> SpotGood(c, s, lay, i);
    lemma Layout_Trained{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      Valid(c) && LayoutHead(c, s, lay) && LayoutSpot(c, s, lay, i) && 0 <= i < lay->n_params &&
      c->params[lay->first_param + i].frozen == 0 &&
      LayoutFlat(c, s, lay, FlatOf(c, StageEnd(c, s), lay->first_param + i)) ==>
      SpotGood(c, s, lay, i);
    lemma Layout_Each{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      Valid(c) && LayoutHead(c, s, lay) && LayoutSpot(c, s, lay, i) && 0 <= i < lay->n_params &&
      ValidEntry(c, lay->first_param + i) &&
      (0 <= FlatOf(c, StageEnd(c, s), lay->first_param + i) ==>
        LayoutFlat(c, s, lay, FlatOf(c, StageEnd(c, s), lay->first_param + i))) ==>
      SpotGood(c, s, lay, i);
    lemma Layout_Spot{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= i < lay->n_params ==>
      LayoutSpot(c, s, lay, i) && ValidEntry(c, lay->first_param + i) &&
      (0 <= FlatOf(c, StageEnd(c, s), lay->first_param + i) ==>
        LayoutFlat(c, s, lay, FlatOf(c, StageEnd(c, s), lay->first_param + i))) &&
      SpotGood(c, s, lay, i);
    lemma Good_Flat{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats ==>
      LayoutHead(c, s, lay) && FlatGood(c, s, lay, k);
    lemma Good_Spot{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= i < lay->n_params ==>
      LayoutHead(c, s, lay) && SpotGood(c, s, lay, i);
    lemma Good_Entry{L}: \forall zp_config *c, integer s, zp_layout *lay, integer j;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= j < c->n_params ==>
      LayoutHead(c, s, lay) && EntryMine(c, lay, j);
    lemma Good_Range{L}: \forall zp_config *c, integer s, zp_layout *lay;
      Valid(c) && LayoutOf(c, s, lay) ==> LayoutHead(c, s, lay) && LayoutRange(c, lay); */

#endif
