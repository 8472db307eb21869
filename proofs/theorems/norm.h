/* The norm from all ranks' vectors of statistics: norm_vectors.c. STAT-1 … STAT-5 */
#ifndef ZP_PROOFS_THEOREMS_NORM_H
#define ZP_PROOFS_THEOREMS_NORM_H

#include "../../ref/num/decide.h"

#include "../../spec/acsl/norm_vectors.h"

/* The decision from the sum of `ranks` vectors, each of 47 integers. total: (31), becomes the sum.
 * divisor, clip, eps, log2_scale: as for zp_judge. */
/*@ requires ranks: 1 <= ranks <= 1048576;
    requires vectors: \valid_read(vectors + (0 .. 47 * ranks - 1));
    requires values: \forall integer w; 0 <= w < ranks ==> Vector(vectors + 47 * w, ValueOf(w));
    requires total: \valid(total + (0 .. 30));
    requires apart: \separated(total + (0 .. 30), vectors + (0 .. 47 * ranks - 1));
    requires divisor: 1 <= divisor <= 1099511627776;
    requires scale: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns total[0 .. 30];
    ensures skipped: \result.skipped == 1 <==> \old(Bad(vectors, ranks));
    ensures either: \result.skipped == 0 || \result.skipped == 1;
    ensures norm: \result.skipped == 0 ==> RoundedRoot64(ValuesOf(ranks), \result.norm_scaled);
    ensures norm_f32: \result.skipped == 0 ==> RoundedRoot32(ValuesOf(ranks), \result.norm_f32);
    ensures unscaled: \result.skipped == 0 ==>
      \result.norm_f64 == Mul64(\result.norm_scaled, Power64(-log2_scale));
*/
zp_decision norm_of_vectors(const int64_t *vectors, int64_t ranks, int64_t divisor, double clip,
                            double eps, int32_t log2_scale, int64_t *total);

#endif
