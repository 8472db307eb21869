/* Lemmas on exact sums that the code's proofs use, on the logic of exact_sums.h. ACSL only.
 * spec: SUM-1, SUM-2, SUM-3
 */
#ifndef ZP_SPEC_ACSL_EXACT_H
#define ZP_SPEC_ACSL_EXACT_H
#include "exact_sums.h"

/*@
  // powers of four, split over bins
  lemma Shift4_DivMod: \forall integer e, x; 0 <= e ==>
    Shift4(e, x) == Shift16(e / 8, Shift4(e % 8, x));
  lemma Shift4_Bound: \forall integer r, x; 0 <= r <= 7 && 0 <= x < 281474976710656 ==>
    0 <= Shift4(r, x) < 4611686018427387904;

  lemma Shift16_Scale: \forall integer q; 0 <= q ==>
    \forall integer x; Shift16(q, 2147483648 * x) == 2147483648 * Shift16(q, x);
*/

/*@
  // carries
  lemma Shift32_Sum: \forall integer q; 0 <= q ==> \forall integer x, a, b;
    x == a + b ==> Shift32(q, x) == Shift32(q, a) + Shift32(q, b);
  lemma Shift32_Carry: \forall integer q; 0 <= q ==> \forall integer p, x, a, b;
    p == q + 1 && x == a + 4294967296 * b ==> Shift32(q, x) == Shift32(q, a) + Shift32(p, b);
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
  lemma LimbSum_TopBelow{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer t;
    Canonical(a, n) && LimbSum(a, n + 1) < Shift32(n, t) ==> a[n] < t;
  lemma LimbSum_TopAbove{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer t;
    Canonical(a, n) && Shift32(n, t) <= LimbSum(a, n + 1) ==> t <= a[n];
*/

/*@
  // from bins to limbs
  lemma BinPrefix_Pair{L}: \forall integer e; 0 <= e ==> \forall int64_t *lo, *hi; e % 2 == 0 ==>
    BinPrefix(lo, hi, e + 2) ==
      BinPrefix(lo, hi, e) + Shift32(e / 2, PairValue(lo[e], lo[e + 1], hi[e], hi[e + 1]));
  lemma BinValue_Bound{L}: \forall int64_t *lo, *hi, integer k;
    0 <= k <= 2147483648 && BinsBounded(lo, hi, k) ==> 0 <= BinValue(lo, hi) < Shift32(19, 1);
*/

#endif
