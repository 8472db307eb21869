/* STAT-2: the means of one bucket. ACSL only. Included by ref/engine/count.h. */
#ifndef ZP_SPEC_ACSL_COUNT_MEAN_H
#define ZP_SPEC_ACSL_COUNT_MEAN_H

/*@ // the part of bucket b of flat group k that the rank owns: its first element, and one past it
    logic integer MemberOf{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k) =
      GroupIndex(c, lay->flat[k].group, -1, at.pp, at.dp, at.tp);
    // (The case is redundant; it keeps provers from expanding the product.)
    logic integer Parts(integer r, integer part) = r <= 0 ? 0 : r * part;
    logic integer OwnPlace(integer b, integer cap, integer r, integer part) =
      Parts(b, cap) + Parts(r, part);
    logic integer OwnFrom{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b) =
      OwnPlace(b, lay->flat[k].capacity, MemberOf(c, lay, at, k), PartIn(lay->flat + k, b));
    logic integer OwnTo{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b) =
      OwnFrom(c, lay, at, k, b) + PartIn(lay->flat + k, b);
    // where it begins in the array of means
    logic integer OwnAt{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b) =
      c->stage == 0 ? Parts(MemberOf(c, lay, at, k), PartIn(lay->flat + k, b)) : 0;
    // its means are the reduced gradient of copy z; their squares, of those that are counted
    predicate MeanIs{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b,
        uint32_t *mean, integer z) =
      GradientIs(c, lay, k, OwnFrom(c, lay, at, k, b), OwnTo(c, lay, at, k, b),
        mean + OwnAt(c, lay, at, k, b), at.tp, z);
    logic integer MeanSquares{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b,
        integer z) =
      StageSquaresBelow(c, lay, k, at.tp, z, OwnTo(c, lay, at, k, b)) -
      StageSquaresBelow(c, lay, k, at.tp, z, OwnFrom(c, lay, at, k, b));
*/

#endif
