/* Lemmas about one step of the walk of segment.h. Include after layout_good.h. */
#ifndef ZP_SPEC_ACSL_SEGMENT_LEMMAS_H
#define ZP_SPEC_ACSL_SEGMENT_LEMMAS_H

#include "bounds.h"

/*@ // Entry i of the stage, in the walk through flat group k.
    predicate SegmentSpot{L}(zp_config *c, zp_layout *lay, integer i, integer k) =
      0 <= c->params[lay->first_param + i].numel <= ZP_LIMIT_ELEMENTS &&
      0 <= lay->first_param + i < c->n_params &&
      (lay->spot[i].flat == k ==>
        0 <= lay->spot[i].start <= ZP_LIMIT_ELEMENTS &&
        Walked(c, lay, i + 1, k) == lay->spot[i].start &&
        Walked(c, lay, i, k) ==
          lay->spot[i].start + c->params[lay->first_param + i].numel) &&
      (lay->spot[i].flat != k ==> Walked(c, lay, i, k) == Walked(c, lay, i + 1, k));
    lemma Segment_Other{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      0 <= i < lay->n_params && lay->spot[i].flat != k ==>
      Brings(c, StageEnd(c, lay->stage), lay->first_param + i, k) == 0 &&
      Walked(c, lay, i, k) == Walked(c, lay, i + 1, k);
    lemma Segment_Mine{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      SpotGood(c, lay->stage, lay, i) && 0 <= i < lay->n_params && 0 <= k &&
      lay->spot[i].flat == k ==>
      Walked(c, lay, i + 1, k) == lay->spot[i].start &&
      Walked(c, lay, i, k) == lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma Segment_Limit{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      Planned0(c, lay) && LayoutRange(c, lay) && LayoutHead(c, lay->stage, lay) &&
      0 <= i <= lay->n_params ==> 0 <= Walked(c, lay, i, k) <= ZP_LIMIT_ELEMENTS;
    lemma Segment_Spot{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      Planned0(c, lay) && 0 <= i < lay->n_params && 0 <= k ==>
      LayoutRange(c, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      SpotGood(c, lay->stage, lay, i) && ValidEntry(c, lay->first_param + i) &&
      SegmentSpot(c, lay, i, k);
    // A walk never goes back.
    lemma Segment_Order{L}: \forall zp_config *c, zp_layout *lay, integer i, l, k;
      Planned0(c, lay) && LayoutHead(c, lay->stage, lay) && LayoutRange(c, lay) &&
      0 <= l <= i <= lay->n_params ==> Walked(c, lay, i, k) <= Walked(c, lay, l, k); */

/* Element u of flat group k belongs to entry i. The elements that a walk at entry a has passed,
 * those that it passes up to entry n, and those left at its end. */
/*@ predicate EntryHas{L}(zp_config *c, zp_layout *lay, integer i, integer k, integer u) =
      0 <= i < lay->n_params && lay->spot[i].flat == k &&
      lay->spot[i].start <= u < lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma Entry_Walked{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) ==>
      SegmentSpot(c, lay, i, k) && Walked(c, lay, i + 1, k) <= u < Walked(c, lay, i, k);
    lemma Entry_Passed{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u, a, lo;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) && 0 <= a <= i ==>
      u < WalkAt(c, lay, a, k, lo);
    lemma Entry_Skipped{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u, a, n, lo;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) && 0 <= n < i < a <= lay->n_params &&
      lay->spot[n].flat == k && WalkAt(c, lay, a, k, lo) == Larger(lo, lay->spot[n].start) ==>
      SegmentSpot(c, lay, n, k) && u < lo;
    lemma Entry_Left{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u, a, lo, hi;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) && i < a <= lay->n_params &&
      Smaller(hi, Walked(c, lay, 0, k)) <= WalkAt(c, lay, a, k, lo) && lo <= u ==> hi <= u;
    lemma Walk_Most{L}: \forall zp_config *c, zp_layout *lay, integer k, u, a, lo;
      Planned0(c, lay) && 0 <= a <= lay->n_params && lo <= u && Walked(c, lay, 0, k) <= u ==>
      WalkAt(c, lay, a, k, lo) <= u;
    lemma Walk_First{L}: \forall zp_config *c, zp_layout *lay, integer k, lo; 0 <= lo ==>
      WalkAt(c, lay, lay->n_params, k, lo) == lo;
    lemma Walk_Numel{L}: \forall zp_config *c, zp_layout *lay, integer k;
      Planned0(c, lay) && 0 <= k < lay->n_flats ==>
      FlatGood(c, lay->stage, lay, k) && LayoutHead(c, lay->stage, lay) &&
      Walked(c, lay, 0, k) == lay->flat[k].numel; */

#endif
