/* STAT-2: the count of one rank, using the logic of composition.h. ACSL only. Include after
 * ref/plan/program.h and ref/num/exact.h. */
#ifndef ZP_SPEC_ACSL_COUNT_H
#define ZP_SPEC_ACSL_COUNT_H

#include "composition.h"

/*@ // entry i of the stage is in a flat group with storage of its own
    predicate EntryHeld{L}(zp_layout *lay, integer i) =
      0 <= lay->spot[i].flat < lay->n_flats && lay->flat[lay->spot[i].flat].use == 0;
    // mean holds the elements lo … hi-1 of flat group k of the reduced gradient
    predicate GradientOf{L}(uint32_t *mean, integer lo, integer hi, integer start, integer numel,
        integer j, integer t, integer z) =
      \forall integer o; 0 <= o < hi - lo && start <= lo + o < start + numel ==>
        Counted32(mean[o]) == SquareOf(j, t, z, lo + o - start);
    predicate GradientIs{L}(zp_config *c, zp_layout *lay, integer k, integer lo, integer hi,
        uint32_t *mean, integer t, integer z) =
      \forall integer i; 0 <= i < lay->n_params && lay->spot[i].flat == k ==>
        GradientOf(mean, lo, hi, lay->spot[i].start, c->params[lay->first_param + i].numel,
          lay->first_param + i, t, z);
    predicate CountsFor{L}(zp_config *c, zp_layout *lay, uint8_t *counts, integer k, integer t) =
      \forall integer i; 0 <= i < lay->n_params && lay->spot[i].flat == k ==>
        counts[i] == CountedOn(c, StageEnd(c, lay->stage), lay->first_param + i, t);
    // the contribution of the last x entries of the stage below element pos; that of the whole
    // stage
    logic integer LastBelow{L}(zp_config *c, zp_layout *lay, integer x, integer k, integer t,
        integer z, integer pos) = SquaresBelow(c, StageEnd(c, lay->stage), x, k, t, z, pos);
    logic integer StageSquaresBelow{L}(zp_config *c, zp_layout *lay, integer k, integer t,
        integer z, integer pos) = LastBelow(c, lay, lay->n_params, k, t, z, pos);
    logic integer EntryBelow{L}(zp_config *c, zp_layout *lay, integer i, integer k, integer t,
        integer z, integer pos) =
      BelowOf(c, StageEnd(c, lay->stage), lay->first_param + i, k, t, z, pos);
    // number of elements of the last x entries in flat group k
    logic integer LastNumel{L}(zp_config *c, zp_layout *lay, integer x, integer k) =
      FlatNumel(c, StageEnd(c, lay->stage), x, k);
    logic integer Overlap(integer lo, integer hi, integer start, integer numel) =
      Clip(hi - start, numel) - Clip(lo - start, numel);
*/

#endif
