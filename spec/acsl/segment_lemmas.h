/* What one step of the walk of segment.h passes. Include after layout_good.h. */
#ifndef ZP_SPEC_ACSL_SEGMENT_LEMMAS_H
#define ZP_SPEC_ACSL_SEGMENT_LEMMAS_H

/*@ // Entry i of the stage, in the walk through flat group k.
    predicate SegmentSpot{L}(zp_config *c, zp_layout *lay, integer i, integer k) =
      0 <= c->params[lay->first_param + i].numel <= 1099511627776 &&
      0 <= lay->first_param + i < c->n_params &&
      (lay->spot[i].flat == k ==>
        0 <= lay->spot[i].start <= 1099511627776 &&
        Brought(c, lay, i + 1, k) == lay->spot[i].start &&
        Brought(c, lay, i, k) ==
          lay->spot[i].start + c->params[lay->first_param + i].numel) &&
      (lay->spot[i].flat != k ==> Brought(c, lay, i, k) == Brought(c, lay, i + 1, k));
    lemma Segment_Other{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      0 <= i < lay->n_params && lay->spot[i].flat != k ==>
      Brings(c, StageEnd(c, lay->stage), lay->first_param + i, k) == 0 &&
      Brought(c, lay, i, k) == Brought(c, lay, i + 1, k);
    lemma Segment_Mine{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      LayoutHead(c, lay->stage, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      SpotGood(c, lay->stage, lay, i) && 0 <= i < lay->n_params && 0 <= k &&
      lay->spot[i].flat == k ==>
      Brought(c, lay, i + 1, k) == lay->spot[i].start &&
      Brought(c, lay, i, k) == lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma Segment_Limit{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      Planned0(c, lay) && LayoutRange(c, lay) && LayoutHead(c, lay->stage, lay) &&
      0 <= i <= lay->n_params ==> 0 <= Brought(c, lay, i, k) <= 1099511627776;
    lemma Segment_Spot{L}: \forall zp_config *c, zp_layout *lay, integer i, k;
      Planned0(c, lay) && 0 <= i < lay->n_params && 0 <= k ==>
      LayoutRange(c, lay) && LayoutSpot(c, lay->stage, lay, i) &&
      SpotGood(c, lay->stage, lay, i) && ValidEntry(c, lay->first_param + i) &&
      SegmentSpot(c, lay, i, k);
    // A walk never goes back.
    lemma Segment_Order{L}: \forall zp_config *c, zp_layout *lay, integer i, l, k;
      Planned0(c, lay) && LayoutHead(c, lay->stage, lay) && LayoutRange(c, lay) &&
      0 <= l <= i <= lay->n_params ==> Brought(c, lay, i, k) <= Brought(c, lay, l, k); */

/* Element u of flat group k is entry i's. What a walk that stands at entry a has passed, what it passes
 * on its way to entry n, and what is left when it ends. */
/*@ predicate EntryHas{L}(zp_config *c, zp_layout *lay, integer i, integer k, integer u) =
      0 <= i < lay->n_params && lay->spot[i].flat == k &&
      lay->spot[i].start <= u < lay->spot[i].start + c->params[lay->first_param + i].numel;
    lemma Entry_Brought{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) ==>
      SegmentSpot(c, lay, i, k) && Brought(c, lay, i + 1, k) <= u < Brought(c, lay, i, k);
    lemma Entry_Passed{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u, a, lo;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) && 0 <= a <= i ==>
      u < WalkAt(c, lay, a, k, lo);
    lemma Entry_Skipped{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u, a, n, lo;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) && 0 <= n < i < a <= lay->n_params &&
      lay->spot[n].flat == k && WalkAt(c, lay, a, k, lo) == Larger(lo, lay->spot[n].start) ==>
      SegmentSpot(c, lay, n, k) && u < lo;
    lemma Entry_Left{L}: \forall zp_config *c, zp_layout *lay, integer i, k, u, a, lo, hi;
      Planned0(c, lay) && 0 <= k && EntryHas(c, lay, i, k, u) && i < a <= lay->n_params &&
      Smaller(hi, Brought(c, lay, 0, k)) <= WalkAt(c, lay, a, k, lo) && lo <= u ==> hi <= u;
    lemma Walk_Most{L}: \forall zp_config *c, zp_layout *lay, integer k, u, a, lo;
      Planned0(c, lay) && 0 <= a <= lay->n_params && lo <= u && Brought(c, lay, 0, k) <= u ==>
      WalkAt(c, lay, a, k, lo) <= u;
    lemma Walk_First{L}: \forall zp_config *c, zp_layout *lay, integer k, lo; 0 <= lo ==>
      WalkAt(c, lay, lay->n_params, k, lo) == lo;
    lemma Walk_Numel{L}: \forall zp_config *c, zp_layout *lay, integer k;
      Planned0(c, lay) && 0 <= k < lay->n_flats ==>
      FlatGood(c, lay->stage, lay, k) && LayoutHead(c, lay->stage, lay) &&
      Brought(c, lay, 0, k) == lay->flat[k].numel; */

#endif
