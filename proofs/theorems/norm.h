/* The decision from the sums of all ranks' vectors: norm_vectors.c. STAT-1 … STAT-5 */
#ifndef ZP_PROOFS_THEOREMS_NORM_H
#define ZP_PROOFS_THEOREMS_NORM_H

#include "../../ref/num/decide.h"
#include "../../spec/acsl/bounds.h"

#include "../../spec/acsl/norm_vectors.h"

/* squares: (20), loss: (9), nonfinite, bad_loss: the sums of the vectors of `ranks` ranks. divisor,
 * clip, eps, log2_scale: as for zp_judge. */
/*@ requires ranks: 1 <= ranks <= ZP_LIMIT_RANKS;
    requires sums: \valid(squares + (0 .. 19)) && Squares(squares, ranks) &&
      \valid_read(loss + (0 .. 8)) && Losses(loss, ranks);
    requires flags: Flagged(ranks) && nonfinite == FlagsOf(ranks) && bad_loss == BadsOf(ranks);
    requires apart: \separated(squares + (0 .. 19), loss + (0 .. 8));
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires scale: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns squares[0 .. 19];
    ensures skipped: (\result.skipped == 0 <==> AllFinite(ranks)) && 0 <= \result.skipped <= 1;
    ensures norm: AllFinite(ranks) ==> RoundedRoot64(ValuesOf(ranks), \result.norm_scaled);
    ensures norm_f32: AllFinite(ranks) ==> RoundedRoot32(ValuesOf(ranks), \result.norm_f32);
    ensures unscaled: AllFinite(ranks) ==>
      \result.norm_f64 == Mul64(\result.norm_scaled, Power64(-log2_scale));
*/
zp_decision norm_of_total(int64_t *squares, const int64_t *loss, int64_t nonfinite,
                          int64_t bad_loss, int64_t ranks, int64_t divisor, double clip, double eps,
                          int32_t log2_scale);

#endif
