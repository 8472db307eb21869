/* Lemmas on exact sums that the code's proofs use, on the logic of exact_sums.h. ACSL only.
 * spec: SUM-1, SUM-2, SUM-3
 */
#ifndef ZP_SPEC_ACSL_EXACT_H
#define ZP_SPEC_ACSL_EXACT_H
#include "exact_sums.h"
/* after the lemmas that they use */
#include "exact_bounds.h"

/*@
  // powers of four, split over bins
  lemma Shift4_DivMod: \forall integer e, x; 0 <= e ==>
    Shift4(e, x) == Shift16(e / 8, Shift4(e % 8, x));

  lemma Shift16_Scale: \forall integer q; 0 <= q ==>
    \forall integer x; Shift16(q, 2147483648 * x) == 2147483648 * Shift16(q, x);
*/

/*@
  // carries
  lemma Shift32_Sum: \forall integer q; 0 <= q ==> \forall integer x, a, b;
    x == a + b ==> Shift32(q, x) == Shift32(q, a) + Shift32(q, b);
  lemma Shift32_Carry: \forall integer q; 0 <= q ==> \forall integer p, x, a, b;
    p == q + 1 && x == a + 4294967296 * b ==> Shift32(q, x) == Shift32(q, a) + Shift32(p, b);
*/

/*@
  // the limb above canonical limbs, by the value
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
*/

#endif
