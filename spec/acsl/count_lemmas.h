/* Lemmas about count.h. Include after it and the lemmas of layouts. */
#ifndef ZP_SPEC_ACSL_COUNT_LEMMAS_H
#define ZP_SPEC_ACSL_COUNT_LEMMAS_H

#include "bounds.h"

/*@ // x[a … a+n-1] are elements of entry j's copy from element o on
    predicate RunIs{L}(uint32_t *x, integer a, integer n, integer j, integer t, integer z,
        integer o) =
      \forall integer m; a <= m < a + n ==> Counted32(x[m]) == SquareOf(j, t, z, o + m - a);
    lemma Run_Step{L}: \forall uint32_t *x, integer a, n, j, t, z, o; 1 <= n &&
      RunIs(x, a, n, j, t, z, o) ==> RunIs(x, a, n - 1, j, t, z, o) &&
      Counted32(x[a + n - 1]) == SquareOf(j, t, z, o + n - 1);
    lemma Entry_Step: \forall integer j, t, z, n; 1 <= n ==>
      EntrySum(j, t, z, n) == EntrySum(j, t, z, n - 1) + SquareOf(j, t, z, n - 1);
    lemma Run_Next{L}: \forall uint32_t *x, integer a, n; 1 <= n ==>
      SumSquares32(x + a, n) == SumSquares32(x + a, n - 1) + Counted32(x[a + n - 1]);
    predicate RunAdds{L}(uint32_t *x, integer a, integer n, integer j, integer t, integer z,
        integer o) =
      SumSquares32(x + a, n) == EntrySum(j, t, z, o + n) - EntrySum(j, t, z, o);
    lemma Run_None{L}: \forall uint32_t *x, integer a, j, t, z, o; RunAdds(x, a, 0, j, t, z, o);
    lemma Run_More{L}: \forall uint32_t *x, integer a, n, j, t, z, o; 1 <= n && 0 <= o &&
      RunIs(x, a, n, j, t, z, o) && RunAdds(x, a, n - 1, j, t, z, o) ==>
      RunAdds(x, a, n, j, t, z, o);
    lemma Run_All{L}: \forall integer n; 0 <= n ==> \forall uint32_t *x, integer a, j, t, z, o;
      0 <= o && RunIs(x, a, n, j, t, z, o) ==> RunAdds(x, a, n, j, t, z, o);
    lemma Run_Sum{L}: \forall uint32_t *x, integer n, a, j, t, z, o; 0 <= n && 0 <= o &&
      RunIs(x, a, n, j, t, z, o) ==>
      SumSquares32(x + a, n) == EntrySum(j, t, z, o + n) - EntrySum(j, t, z, o);
    lemma Run_Gradient{L}: \forall uint32_t *x, integer lo, hi, start, numel, j, t, z, from, to;
      GradientOf(x, lo, hi, start, numel, j, t, z) && lo <= from && start <= from && to <= hi &&
      to <= start + numel ==> RunIs(x, from - lo, to - from, j, t, z, from - start);
    predicate UseHere{L}(zp_config *c, zp_layout *lay, integer i) =
      c->params[lay->first_param + i].stage == lay->stage &&
      (0 <= c->params[lay->first_param + i].tied ==>
        UseOf(c, StageEnd(c, lay->stage), lay->first_param + i) == 0);
    lemma CountUse_Head{L}: \forall zp_config *c, integer s, zp_layout *lay; LayoutOf(c, s, lay) ==>
      LayoutHead(c, s, lay) && lay->first_param + lay->n_params == StageEnd(c, s);
    lemma CountUse_Spot{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      LayoutOf(c, s, lay) && 0 <= i < lay->n_params ==> LayoutSpot(c, s, lay, i);
    lemma CountUse_Flat{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      LayoutSpot(c, s, lay, i) ==>
      FlatOf(c, StageEnd(c, s), lay->first_param + i) == lay->spot[i].flat;
    lemma CountUse_Trained{L}: \forall zp_config *c, integer e, j;
      0 <= FlatOf(c, e, j) ==> c->params[j].frozen == 0;
    lemma CountUse_Opener{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= s < c->pp && 0 <= i < lay->n_params &&
      EntryHeld(lay, i) ==> c->params[lay->first_param + i].frozen == 0 &&
      lay->first_param + lay->n_params == StageEnd(c, s) &&
      FlatOf(c, StageEnd(c, s), lay->first_param + i) == lay->spot[i].flat;
    lemma CountUse_Tied{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= s < c->pp && 0 <= i < lay->n_params &&
      EntryHeld(lay, i) && 0 <= c->params[lay->first_param + i].tied ==>
      Opener(c, StageEnd(c, s), StageCount(c, s), lay->spot[i].flat) == lay->first_param + i &&
      LayoutFlat(c, s, lay, lay->spot[i].flat);
    lemma CountUse_Mine{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp &&
      0 <= i < lay->n_params ==> LayoutRange(c, lay) && EntryMine(c, lay, lay->first_param + i) &&
      c->params[lay->first_param + i].stage == lay->stage;
    lemma CountUse_Is{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k, j;
      LayoutFlat(c, s, lay, k) && Opener(c, StageEnd(c, s), StageCount(c, s), k) == j ==>
      lay->flat[k].use == UseOf(c, StageEnd(c, s), j);
    lemma CountUse_None{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i, k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= s < c->pp && 0 <= i < lay->n_params &&
      k == lay->spot[i].flat && EntryHeld(lay, i) &&
      0 <= c->params[lay->first_param + i].tied ==>
      LayoutFlat(c, s, lay, k) && lay->flat[k].use == 0 &&
      Opener(c, StageEnd(c, s), StageCount(c, s), k) == lay->first_param + i &&
      UseOf(c, StageEnd(c, s), lay->first_param + i) == 0;
    lemma CountUse_Zero{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp &&
      0 <= i < lay->n_params && EntryHeld(lay, i) &&
      0 <= c->params[lay->first_param + i].tied ==>
      UseOf(c, StageEnd(c, lay->stage), lay->first_param + i) == 0;
    lemma CountUse_Here{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp &&
      0 <= i < lay->n_params && EntryHeld(lay, i) ==>
      EntryMine(c, lay, lay->first_param + i) && UseHere(c, lay, i);
*/

/* One entry: its addition to the sums of the last x entries, and to their load. */
/*@ // number of elements of the last x entries in flat group k among lo … hi-1
    logic integer LastOverlap{L}(zp_config *c, zp_layout *lay, integer x, integer k, integer lo,
        integer hi) = Overlap(lo, hi, 0, LastNumel(c, lay, x, k));
    predicate EntryAdds{L}(zp_config *c, zp_layout *lay, integer i, integer n, integer k,
        integer lo, integer hi) =
      LastOverlap(c, lay, n - i, k, lo, hi) == LastOverlap(c, lay, n - i - 1, k, lo, hi) +
        (lay->spot[i].flat == k ?
          Overlap(lo, hi, lay->spot[i].start, c->params[lay->first_param + i].numel) : 0);
    predicate EntryGood{L}(zp_config *c, zp_layout *lay, integer i, integer k) =
      0 <= lay->first_param + i < c->n_params &&
      (lay->spot[i].flat == k ==> 0 <= lay->spot[i].start <= ZP_LIMIT_ELEMENTS &&
        0 <= c->params[lay->first_param + i].numel <= ZP_LIMIT_ELEMENTS);
    predicate EntryStands{L}(zp_config *c, zp_layout *lay, integer i, integer n, integer k,
        integer lo, integer hi) =
      EntryGood(c, lay, i, k) && EntryAdds(c, lay, i, n, k, lo, hi) &&
      LastOverlap(c, lay, n - i, k, lo, hi) <= hi - lo && (lay->spot[i].flat == k ==>
        0 <= Overlap(lo, hi, lay->spot[i].start, c->params[lay->first_param + i].numel)) &&
      (\forall integer t, z, pos; LastBelow(c, lay, n - i, k, t, z, pos) ==
        LastBelow(c, lay, n - i - 1, k, t, z, pos) + EntryBelow(c, lay, i, k, t, z, pos)) &&
      (\forall integer t, z, pos; EntryBelow(c, lay, i, k, t, z, pos) ==
        (lay->spot[i].flat == k &&
          CountedOn(c, StageEnd(c, lay->stage), lay->first_param + i, t) == 1 ?
          EntrySum(lay->first_param + i, t, z,
            Clip(pos - lay->spot[i].start, c->params[lay->first_param + i].numel)) : 0));

    lemma Clip_Join: \forall integer p, a, b; 0 <= a && 0 <= b ==>
      Clip(p, a + b) == Clip(p, a) + Clip(p - a, b);
    lemma Overlap_Range: \forall integer lo, hi, start, numel; lo <= hi && 0 <= numel ==>
      0 <= Overlap(lo, hi, start, numel) <= hi - lo;
    lemma Overlap_Join: \forall integer lo, hi, a, b; 0 <= a && 0 <= b ==>
      Overlap(lo, hi, 0, a + b) == Overlap(lo, hi, 0, a) + Overlap(lo, hi, a, b);
    lemma Last_Step{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k, t, z, pos;
      LayoutHead(c, lay->stage, lay) && n == lay->n_params && 0 <= i < n ==>
      LastBelow(c, lay, n - i, k, t, z, pos) ==
        LastBelow(c, lay, n - i - 1, k, t, z, pos) + EntryBelow(c, lay, i, k, t, z, pos);
    lemma Last_Entry{L}: \forall zp_config *c, zp_layout *lay, integer i, k, t, z, pos;
      LayoutSpot(c, lay->stage, lay, i) ==> EntryBelow(c, lay, i, k, t, z, pos) ==
        (lay->spot[i].flat == k &&
          CountedOn(c, StageEnd(c, lay->stage), lay->first_param + i, t) == 1 ?
          EntrySum(lay->first_param + i, t, z,
            Clip(pos - lay->spot[i].start, c->params[lay->first_param + i].numel)) : 0);
    lemma Last_Brings{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k;
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      n == lay->n_params && 0 <= i < n ==> LastNumel(c, lay, n - i, k) ==
        LastNumel(c, lay, n - i - 1, k) +
        (lay->spot[i].flat == k ? c->params[lay->first_param + i].numel : 0);
    lemma Last_Start{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp && 0 <= k &&
      n == lay->n_params && 0 <= i < n && lay->spot[i].flat == k ==>
      SpotGood(c, lay->stage, lay, i) && lay->spot[i].start == LastNumel(c, lay, n - i - 1, k);
    lemma Last_Low{L}: \forall zp_config *c, zp_layout *lay, integer x, k;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp &&
      0 <= x <= lay->n_params ==> 0 <= LastNumel(c, lay, x, k);
    lemma Entry_Good{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp && 0 <= k &&
      0 <= i < lay->n_params ==> EntryGood(c, lay, i, k);
    lemma Adds_Some: \forall integer lo, hi, a, b, x; 0 <= a && 0 <= b && x == a + b ==>
      Overlap(lo, hi, 0, x) == Overlap(lo, hi, 0, a) + Overlap(lo, hi, a, b);
    lemma CountAdds_Other{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k, lo, hi;
      lay->spot[i].flat != k && LastNumel(c, lay, n - i, k) == LastNumel(c, lay, n - i - 1, k) ==>
      EntryAdds(c, lay, i, n, k, lo, hi);
    lemma CountAdds_Own{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k, lo, hi;
      lay->spot[i].flat == k && lay->spot[i].start == LastNumel(c, lay, n - i - 1, k) &&
      LastNumel(c, lay, n - i, k) ==
        lay->spot[i].start + c->params[lay->first_param + i].numel &&
      0 <= lay->spot[i].start && 0 <= c->params[lay->first_param + i].numel ==>
      EntryAdds(c, lay, i, n, k, lo, hi);
    lemma Last_Spot{L}: \forall zp_config *c, zp_layout *lay, integer i, n;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp &&
      n == lay->n_params && 0 <= i < n ==>
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i);
    lemma Numel_Step{L}: \forall zp_config *c, zp_layout *lay, integer x, k; 1 <= x ==>
      LastNumel(c, lay, x, k) == LastNumel(c, lay, x - 1, k) +
        Brings(c, StageEnd(c, lay->stage), StageEnd(c, lay->stage) - x, k);
    lemma Brings_None{L}: \forall zp_config *c, zp_layout *lay, integer i, k, e;
      LayoutSpot(c, lay->stage, lay, i) && e == StageEnd(c, lay->stage) &&
      lay->spot[i].flat != k ==> Brings(c, e, lay->first_param + i, k) == 0;
    lemma Brings_At{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k;
      LayoutHead(c, lay->stage, lay) && n == lay->n_params ==>
      StageEnd(c, lay->stage) - (n - i) == lay->first_param + i;
    lemma Spot_Brings{L}: \forall zp_config *c, zp_layout *lay, integer i, x, k, e, j;
      1 <= x && e == StageEnd(c, lay->stage) && j == e - x ==>
      LastNumel(c, lay, x, k) == LastNumel(c, lay, x - 1, k) + Brings(c, e, j, k);
    lemma Spot_Zero{L}: \forall zp_config *c, zp_layout *lay, integer i, x, k, e, j;
      1 <= x && e == StageEnd(c, lay->stage) && j == e - x && j == lay->first_param + i &&
      LayoutSpot(c, lay->stage, lay, i) && lay->spot[i].flat != k ==>
      LastNumel(c, lay, x, k) == LastNumel(c, lay, x - 1, k);
    lemma Spot_Same{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k;
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      n == lay->n_params && 0 <= i < n && lay->spot[i].flat != k ==>
      LastNumel(c, lay, n - i, k) == LastNumel(c, lay, n - i - 1, k);
    lemma Spot_Full{L}: \forall zp_config *c, zp_layout *lay, integer i, x, k, e, j;
      1 <= x && e == StageEnd(c, lay->stage) && j == e - x && j == lay->first_param + i &&
      LayoutSpot(c, lay->stage, lay, i) && lay->spot[i].flat == k ==>
      LastNumel(c, lay, x, k) == LastNumel(c, lay, x - 1, k) + c->params[j].numel;
    lemma Spot_More{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k;
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      n == lay->n_params && 0 <= i < n && lay->spot[i].flat == k ==> LastNumel(c, lay, n - i, k) ==
        LastNumel(c, lay, n - i - 1, k) + c->params[lay->first_param + i].numel;
    lemma Spot_Own{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp && 0 <= k &&
      n == lay->n_params && 0 <= i < n && lay->spot[i].flat == k ==>
      lay->spot[i].start == LastNumel(c, lay, n - i - 1, k) &&
      LastNumel(c, lay, n - i, k) ==
        lay->spot[i].start + c->params[lay->first_param + i].numel &&
      0 <= lay->spot[i].start && 0 <= c->params[lay->first_param + i].numel;
    predicate SpotHere{L}(zp_config *c, zp_layout *lay, integer i) =
      0 <= i < lay->n_params && LayoutHead(c, lay->stage, lay) && LayoutRange(c, lay) &&
      LayoutSpot(c, lay->stage, lay, i) && SpotGood(c, lay->stage, lay, i);
    lemma Adds_Not{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k, lo, hi;
      SpotHere(c, lay, i) && n == lay->n_params && lay->spot[i].flat != k ==>
      EntryAdds(c, lay, i, n, k, lo, hi);
    lemma Adds_Yes{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k, lo, hi;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp && 0 <= k &&
      SpotHere(c, lay, i) && n == lay->n_params && lay->spot[i].flat == k ==>
      EntryAdds(c, lay, i, n, k, lo, hi);
    lemma Entry_Adds{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k, lo, hi;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp && 0 <= k &&
      SpotHere(c, lay, i) && n == lay->n_params ==> EntryAdds(c, lay, i, n, k, lo, hi);
    lemma Entry_Stands{L}: \forall zp_config *c, zp_layout *lay, integer i, n, k, lo, hi;
      Valid(c) && LayoutOf(c, lay->stage, lay) && 0 <= lay->stage < c->pp && 0 <= k &&
      SpotHere(c, lay, i) && n == lay->n_params && lo <= hi ==>
      EntryStands(c, lay, i, n, k, lo, hi);
*/

#endif
