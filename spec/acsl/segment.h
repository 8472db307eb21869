/* The logic of walking through a flat group entry by entry: PART-2, PART-9. Include after
 * spec/acsl/layout.h. */
#ifndef ZP_SPEC_ACSL_SEGMENT_H
#define ZP_SPEC_ACSL_SEGMENT_H

/*@ logic integer Larger(integer a, integer b) = a < b ? b : a;
    logic integer Smaller(integer a, integer b) = a < b ? a : b;

    // The number of elements of the entries j … e-1 in flat group k; e is the end of the stage's
    // entries. The position of a walk from element lo on after those entries.
    logic integer Walked{L}(zp_config *c, zp_layout *lay, integer i, integer k) =
      FlatNumel(c, StageEnd(c, lay->stage), lay->n_params - i, k);
    logic integer WalkAt{L}(zp_config *c, zp_layout *lay, integer i, integer k, integer lo) =
      Larger(lo, Walked(c, lay, i, k));

    predicate Planned0{L}(zp_config *c, zp_layout *lay) =
      Valid(c) && 0 <= lay->stage < c->pp && LayoutOf(c, lay->stage, lay);

    // Entry i of the stage is in flat group k, and g is its part of elements lo … hi-1.
    predicate SegmentIs{L}(zp_config *c, zp_layout *lay, integer i, integer k, integer lo,
        integer hi, zp_segment g) =
      g.param == lay->first_param + i && lay->spot[i].flat == k &&
      g.flat == Larger(lo, lay->spot[i].start) &&
      g.flat + g.count == Smaller(hi, lay->spot[i].start + c->params[lay->first_param + i].numel) &&
      g.offset == g.flat - lay->spot[i].start && 0 <= g.offset && 0 < g.count; */

#endif
