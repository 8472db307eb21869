/* Lemmas about statistics.h. Include after it. */
#ifndef ZP_SPEC_ACSL_STATISTICS_LEMMAS_H
#define ZP_SPEC_ACSL_STATISTICS_LEMMAS_H

#include "bounds.h"
#include "sumsq_frame.h"

/*@ lemma Loss_Sum: Shift32(8, 2199023255552) + Shift32(8, 4294967296) ==
      Shift32(8, 2203318222848);
    lemma Loss_Largest: \forall integer t;
      -Shift32(8, 2203318222848) <= Shift32(8, t) <= Shift32(8, 2203318222848) ==>
      -2203318222848 <= t <= 2203318222848;
    lemma Loss_Bound{L}: \forall int64_t *a, integer n; 0 <= n <= ZP_LIMIT_MICRO_BATCHES &&
      ElementBounded(a, 0, 0, n) ==> -Shift32(8, 2199023255552) <= ElementSum(a, 0) &&
      ElementSum(a, 0) <= Shift32(8, 2199023255552);
    lemma Loss_Low{L}: \forall int64_t *a, integer n; ElementBounded(a, 0, 0, n) ==>
      -Shift32(8, 4294967296) <= LimbSumFrom(a, 0, 8) <= Shift32(8, 4294967296);
    lemma Loss_Top{L}: \forall int64_t *a, integer n; 0 <= n <= ZP_LIMIT_MICRO_BATCHES &&
      ElementBounded(a, 0, 0, n) ==> -ZP_LIMIT_LOSS_LIMB <= a[8] <= ZP_LIMIT_LOSS_LIMB;
    lemma Loss_Small{L}: \forall int64_t *a, integer n; 0 <= n <= ZP_LIMIT_MICRO_BATCHES &&
      ElementBounded(a, 0, 0, n) ==> LimbsSmall(a, 0, 9, ZP_LIMIT_LOSS_LIMB);
    lemma Loss_More{L}: \forall int64_t *a, integer n; 0 <= n && ElementBounded(a, 0, n, n) ==>
      ElementBounded(a, 0, n + 1, n + 1);
    lemma Loss_Zero{L}: \forall int64_t *a; (\forall integer i; 0 <= i < 9 ==> a[i] == 0) ==>
      LimbSum(a, 9) == 0 && ElementBounded(a, 0, 0, 0);
*/

#endif
