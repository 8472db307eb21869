/* Lemmas that only other lemmas of exact values need: seen by proofs/lemmas/value.c, not by the
 * code. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_STEPS_H
#define ZP_SPEC_ACSL_VALUE_STEPS_H
#include "value_sums.h"

/*@
  // powers of two
  lemma Shift2_Add: \forall integer e; 0 <= e ==>
    \forall integer x, y; Shift2(e, x + y) == Shift2(e, x) + Shift2(e, y);
  lemma Shift2_Zero: \forall integer e; 0 <= e ==> Shift2(e, 0) == 0;
  lemma Shift2_UpTwo: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 2, x) == 4 * Shift2(e, x);
  lemma Shift2_UpFour: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 4, x) == 16 * Shift2(e, x);
  lemma Shift2_UpEight: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 8, x) == 256 * Shift2(e, x);
  lemma Shift2_Up16: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 16, x) == 65536 * Shift2(e, x);
  lemma Shift2_Up32: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 32, x) == 4294967296 * Shift2(e, x);
  lemma Shift2_Limb: \forall integer q; 0 <= q ==>
    \forall integer r, x; 0 <= r ==> Shift2(32 * q + r, x) == Shift32(q, Shift2(r, x));
  lemma Shift2_Monotone: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e <= f && 0 <= x ==> Shift2(e, x) <= Shift2(f, x);
  lemma Shift2_Twice: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e, 2 * x) == 2 * Shift2(e, x);
  lemma Shift2_Larger: \forall integer e; 0 <= e ==>
    \forall integer x, y; x < y ==> Shift2(e, x) < Shift2(e, y);
  lemma Shift2_NotLess: \forall integer e; 0 <= e ==>
    \forall integer x, y; x <= y ==> Shift2(e, x) <= Shift2(e, y);

  // the largest number
  lemma Shift2_Largest: Shift2(253, 16777216) == Shift32(8, 2097152);
  lemma Magnitude_Range: \forall integer e, m; 0 <= e <= 253 && 0 <= m <= 16777216 ==>
    0 <= Shift2(e, m) <= Shift32(8, 2097152);
  lemma Magnitude32_Range: \forall integer u; 0 <= u && BiasedExp32(u) < 255 ==>
    0 <= Magnitude32(u) <= Shift32(8, 2097152);

  // sums of bounded limbs
  lemma LimbSumFrom_Bound{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer s, b;
    0 <= b && (\forall integer j; s <= j < s + n ==> -b <= a[j] <= b) ==>
    -Shift32(n, b) <= LimbSumFrom(a, s, n) <= Shift32(n, b);

  // words
  lemma Word_Joined: \forall integer i; 0 <= i ==> \forall integer t, x;
    Shift2(32 * (i + 1), t) + Shift32(i, x) == Shift32(i, 4294967296 * t + x);
  lemma Word_Above: \forall integer i; 0 <= i ==> \forall integer d, u, w; 0 <= d &&
    w < Shift2(d, u) ==> Shift32(i, w) + Shift32(i, 1) <= Shift2(32 * i + d, u);
  lemma Word_Below: \forall integer i; 0 <= i ==> \forall integer d, u, w; 0 <= d &&
    Shift2(d, u) <= w ==> Shift2(32 * i + d, u) <= Shift32(i, w) &&
    (Shift2(32 * i + d, u) == Shift32(i, w) <==> Shift2(d, u) == w);

  // products
  lemma Times_Less: \forall integer p, q, n; 0 < n && p < q ==> Times(p, n) + n <= Times(q, n);
  lemma Times_Twice: \forall integer q, n; Times(2 * q, n) == 2 * Times(q, n);

  // the next exponent
  lemma Shift2_Next: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 1, x) == Shift2(e, 2 * x);
  lemma Nearest_Carried: \forall integer w, n, e; 0 < n && 0 <= e &&
    NearestQuotient(w, n, e, 16777216) ==>
    NearestQuotient(w, n, e + 1, 8388608) && AboveBoundary(w, n, e + 1);
*/
#endif
