/* STAT-2: what the means of a STEP program add to one rank's statistics. ACSL only. Include after
 * ref/engine/count.h. */
#ifndef ZP_SPEC_ACSL_NORM_RANK_H
#define ZP_SPEC_ACSL_NORM_RANK_H

#include "step_means.h"

/*@ // The copies of flat group k, and the one that the rank at `at` has.
    logic integer CopiesIn{L}(zp_config *c, zp_layout *lay, integer k) =
      lay->flat[k].group == ZP_GROUP_EDP ? c->ep : 1;
    logic integer CopyOn{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k) =
      at.dp % CopiesIn(c, lay, k);
    // The squares that the rank counts in bucket b of flat group k; of the first q means.
    logic integer MeanAdds{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b) =
      MeanSquares(c, lay, at, k, b, CopyOn(c, lay, at, k));
    logic integer MeansSum{L}(zp_config *c, zp_layout *lay, zp_coord at, integer q) =
      q <= 0 ? 0 : MeansSum(c, lay, at, q - 1) +
        MeanAdds(c, lay, at, MeanFlat(lay, q - 1), MeanBucket(lay, q - 1));
    // The elements of its parts.
    logic integer MeansLoad{L}(zp_layout *lay, integer q) =
      q <= 0 ? 0 : MeansLoad(lay, q - 1) +
        PartIn(lay->flat + MeanFlat(lay, q - 1), MeanBucket(lay, q - 1));
    // Mean q is of a bucket with storage.
    predicate MeanHeld{L}(zp_layout *lay, integer k, integer b) =
      0 <= k < lay->n_flats && lay->flat[k].use == 0 && HasBucket(lay->flat + k, b);
*/

/*@ // lay is the layout of the stage of the rank at `at`.
    predicate RankIn{L}(zp_config *c, zp_layout *lay, zp_coord at) =
      Valid(c) && LayoutOf(c, at.pp, lay) && Within(c, at.pp, at.dp, at.tp);
    // mean has the means of bucket b of flat group k: those of the reduced gradient.
    predicate MeanGiven{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b,
        uint32_t *mean) = MeanIs(c, lay, at, k, b, mean, CopyOn(c, lay, at, k));
    logic integer MeanLen{L}(zp_config *c, zp_layout *lay, integer k, integer b) =
      LocalIn(lay->flat + k, c->stage, b);
*/

#endif
