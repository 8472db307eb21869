/* Lemmas that only other lemmas of exact values need: seen by proofs/lemmas/value.c, not by the
 * code. Pairs of inequalities such as `l <= 32 * i && 32 * i <= l` keep a variable that provers
 * can match. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_STEPS_H
#define ZP_SPEC_ACSL_VALUE_STEPS_H
#include "value_sums.h"

/*@
  // powers of two
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
  lemma Shift2_DivMod: \forall integer e, x; 0 <= e ==>
    Shift2(e, x) == Shift32(e / 32, Shift2(e % 32, x));
  lemma Shift2_Whole: \forall integer i, l, x; 0 <= i && l <= 32 * i && 32 * i <= l ==>
    Shift2(l, x) == Shift32(i, x);
  lemma Shift2_Part: \forall integer i, d, l, x; 0 <= i && 0 <= d && l <= 32 * i + d &&
    32 * i + d <= l ==> Shift2(l, x) == Shift32(i, Shift2(d, x));
  lemma Shift2_Monotone: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e <= f && 0 <= x ==> Shift2(e, x) <= Shift2(f, x);
  lemma Shift2_Larger: \forall integer e; 0 <= e ==>
    \forall integer x, y; x < y ==> Shift2(e, x) < Shift2(e, y);
  lemma Shift2_NotLess: \forall integer e; 0 <= e ==>
    \forall integer x, y; x <= y ==> Shift2(e, x) <= Shift2(e, y);
  lemma Shift2_Zero: \forall integer e; 0 <= e ==> Shift2(e, 0) == 0;
  lemma Shift2_Succ: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e, x + 1) == Shift2(e, x) + Shift2(e, 1);
  lemma Shift2_Join: \forall integer e; 0 <= e ==> \forall integer t, v, y;
    y <= 4294967296 * t + v && 4294967296 * t + v <= y ==>
    Shift2(e, y) == 4294967296 * Shift2(e, t) + Shift2(e, v);
  lemma Shift2_Small: \forall integer e; 0 <= e ==> \forall integer v; 0 <= v < 4294967296 ==>
    0 <= Shift2(e, v) < 4294967296 * Shift2(e, 1) && (Shift2(e, v) == 0 <==> v == 0);
  lemma Shift32_Within: \forall integer q; 0 <= q ==> \forall integer x, b; -b <= x <= b ==>
    -Shift32(q, b) <= Shift32(q, x) <= Shift32(q, b);
  lemma Shift32_NotAbove: \forall integer q; 0 <= q ==> \forall integer t, a, b;
    Shift32(q, t) <= Shift32(q, a) + Shift32(q, b) ==> t <= a + b;
  lemma Shift32_NotBelow: \forall integer q; 0 <= q ==> \forall integer t, a, b;
    -Shift32(q, a) - Shift32(q, b) <= Shift32(q, t) ==> -a - b <= t;

  // the largest number
  lemma Shift2_29: Shift2(29, 16777216) == 9007199254740992;
  lemma Shift2_253: Shift2(253, 16777216) == Shift32(7, Shift2(29, 16777216));
  lemma Shift32_Seven: Shift32(7, 9007199254740992) == Shift32(8, 2097152);
  lemma Shift2_Largest: Shift2(253, 16777216) == Shift32(8, 2097152);
  lemma Magnitude_Range: \forall integer e, m; 0 <= e <= 253 && 0 <= m <= 16777216 ==>
    0 <= Shift2(e, m) <= Shift2(253, m) <= Shift2(253, 16777216);
  lemma Magnitude32_Range: \forall integer u; 0 <= u && BiasedExp32(u) < 255 ==>
    0 <= Magnitude32(u) <= Shift32(8, 2097152);

  // sums of bounded limbs
  lemma LimbSumFrom_Bound{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer s, b;
    0 <= b && (\forall integer j; 0 <= j < n ==> -b <= a[s + j] <= b) ==>
    -Shift32(n, b) <= LimbSumFrom(a, s, n) <= Shift32(n, b);
  lemma Element_Top{L}: \forall int64_t *limbs, integer i;
    ElementSum(limbs, i) == LimbSumFrom(limbs, 9 * i, 8) + Shift32(8, limbs[9 * i + 8]);
  lemma Element_TopRange{L}: \forall int64_t *limbs, integer i, k, c; 0 <= k && 0 <= c &&
    ElementBounded(limbs, i, k, c) ==>
    -(k + 1) * 4294967296 - 2097152 * c <= limbs[9 * i + 8] &&
    limbs[9 * i + 8] <= (k + 1) * 4294967296 + 2097152 * c;

  // words
  lemma Word_Above: \forall integer i; 0 <= i ==> \forall integer d, l, u, w; 0 <= d &&
    l <= 32 * i + d && 32 * i + d <= l && w < Shift2(d, u) ==>
    Shift32(i, w) + Shift32(i, 1) <= Shift2(l, u);
  lemma Word_Below: \forall integer i; 0 <= i ==> \forall integer d, l, u, w; 0 <= d &&
    l <= 32 * i + d && 32 * i + d <= l && Shift2(d, u) <= w ==> Shift2(l, u) <= Shift32(i, w) &&
    (Shift2(l, u) == Shift32(i, w) <==> Shift2(d, u) == w);

  // products
  lemma Times_Product: \forall integer q; 0 <= q ==> \forall integer n; Times(q, n) == q * n;
  lemma Times_NotLess: \forall integer q; 0 <= q ==> \forall integer p, n; 0 < n && 0 <= p <= q ==>
    Times(p, n) <= Times(q, n);
  lemma Times_Less: \forall integer q; 0 <= q ==> \forall integer p, n; 0 < n && 0 <= p < q ==>
    Times(p, n) + n <= Times(q, n);
  lemma Times_Even: \forall integer q; 0 <= q ==> \forall integer n;
    Times(2 * q, n) == 2 * Times(q, n);
  lemma Times_Odd: \forall integer q; 0 <= q ==> \forall integer n;
    Times(2 * q + 1, n) == 2 * Times(q, n) + n;
  lemma Times_Large: \forall integer n; Times(33554432, n) == 2 * Times(16777216, n) &&
    Times(33554434, n) == 2 * Times(16777217, n) && Times(33554430, n) == 2 * Times(16777215, n);

  // the next exponent
  lemma Shift2_Next: \forall integer e; 0 <= e ==> \forall integer f, x, y;
    f <= e + 1 && e + 1 <= f && y <= 2 * x && 2 * x <= y ==> Shift2(f, x) == Shift2(e, y);
  lemma Nearest_Carried: \forall integer w, n, e; 0 < n && 0 <= e &&
    NearestQuotient(w, n, e, 16777216) ==>
    NearestQuotient(w, n, e + 1, 8388608) && AboveBoundary(w, n, e + 1);
  lemma Pattern_Normal: \forall integer a, e, m; 0 <= e < 254 && 8388608 <= m < 16777216 &&
    a <= 8388608 * e + m && 8388608 * e + m <= a ==>
    Exp32(a) == e && Mant32(a) == m && 0 <= a < 2139095040;
*/
#endif
