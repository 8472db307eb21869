/* STAT-1: all ranks' vectors of statistics, added up. ACSL only. Include after ref/num/exact.h and
 * value.h. */
#ifndef ZP_SPEC_ACSL_NORM_VECTORS_H
#define ZP_SPEC_ACSL_NORM_VECTORS_H

#include "bounds.h"

/* What the vector of a rank says: vector number w is that of one rank. These functions are
 * uninterpreted, so the theorem holds for all values: of the squares, of the flag that a value was
 * infinite or NaN, and of the number of such losses. */
/*@ axiomatic RankValue {
      logic integer ValueOf(integer w);
      logic integer FlagOf(integer w);
      logic integer BadOf(integer w);
    } */

/*@ // the sums over the first n vectors
    logic integer ValuesOf(integer n) = n <= 0 ? 0 : ValuesOf(n - 1) + ValueOf(n - 1);
    logic integer FlagsOf(integer n) = n <= 0 ? 0 : FlagsOf(n - 1) + FlagOf(n - 1);
    logic integer BadsOf(integer n) = n <= 0 ? 0 : BadsOf(n - 1) + BadOf(n - 1);
    // v is vector number w: what zp_statistics_vector writes
    predicate Vector{L}(int64_t *v, integer w) =
      Canonical(v, 20) && LimbSum(v, 20) == ValueOf(w) && 0 <= ValueOf(w) <= Shift32(19, 32) &&
      (\forall integer i; 20 <= i < 29 ==> -ZP_LIMIT_LOSS_LIMB <= v[i] <= ZP_LIMIT_LOSS_LIMB) &&
      v[29] == FlagOf(w) && 0 <= FlagOf(w) <= 1 && v[30] == BadOf(w) &&
      0 <= BadOf(w) <= ZP_LIMIT_MICRO_BATCHES;
    // the sums of the squares and of the losses of n vectors
    predicate Squares{L}(int64_t *total, integer n) =
      (\forall integer i; 0 <= i < 20 ==> 0 <= total[i] <= 4294967296 * n) &&
      LimbSum(total, 20) == ValuesOf(n) && 0 <= ValuesOf(n) <= Shift32(19, 32 * n);
    predicate Losses{L}(int64_t *total, integer n) =
      LimbsSmall(total, 0, 9, ZP_LIMIT_LOSS_LIMB * n);
    // all of the first n ranks found only finite values and losses
    predicate AllFinite(integer n) =
      \forall integer w; 0 <= w < n ==> FlagOf(w) == 0 && BadOf(w) == 0;
    predicate Flagged(integer n) =
      \forall integer w; 0 <= w < n ==> 0 <= FlagOf(w) <= 1 &&
      0 <= BadOf(w) <= ZP_LIMIT_MICRO_BATCHES;

    lemma Values_Next: \forall integer n; 0 <= n ==> ValuesOf(n + 1) == ValuesOf(n) + ValueOf(n);
    lemma Flags_Low: \forall integer n; 0 <= n ==> Flagged(n) ==>
      0 <= FlagsOf(n) && 0 <= BadsOf(n);
    lemma Flags_None: \forall integer n; 0 <= n ==> Flagged(n) ==>
      (FlagsOf(n) == 0 && BadsOf(n) == 0 <==> AllFinite(n));
*/

#endif
