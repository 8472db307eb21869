/* Bounds of shifts and sums. ACSL only.
 * spec: SUM-2, SUM-3
 */
#ifndef ZP_SPEC_ACSL_EXACT_BOUNDS_H
#define ZP_SPEC_ACSL_EXACT_BOUNDS_H
#include "exact_defs.h"

/*@
  lemma Shift4_Bound: \forall integer r, x; 0 <= r <= 7 && 0 <= x < 281474976710656 ==>
    0 <= Shift4(r, x) < 4611686018427387904;
  lemma Shift32_Less: \forall integer q; 0 <= q ==>
    \forall integer x, y; x < y ==> Shift32(q, x) < Shift32(q, y);
  lemma Shift32_LessEqual: \forall integer q; 0 <= q ==>
    \forall integer x, y; x <= y ==> Shift32(q, x) <= Shift32(q, y);
*/

/*@
  // the limb above canonical limbs, by the value
  lemma LimbSum_Range{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    Canonical(a, n) ==> 0 <= LimbSum(a, n) < Shift32(n, 1);
  lemma LimbSum_Between{L}: \forall integer n; 0 <= n ==> \forall int64_t *a; Canonical(a, n) ==>
    Shift32(n, a[n]) <= LimbSum(a, n + 1) < Shift32(n, a[n] + 1);
  lemma BinValue_Bound{L}: \forall int64_t *lo, *hi, integer k;
    0 <= k <= 2147483648 && BinsBounded(lo, hi, k) ==> 0 <= BinValue(lo, hi) < Shift32(19, 1);
*/

#endif
