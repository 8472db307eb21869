/* Logic for exact signed sums and their rounded mean. ACSL only: nothing here is compiled.
 *
 * A finite fp32 pattern u has the value Value32(u) * 2^-149 with Value32(u) an integer.
 * spec: SUM-5, SUM-6, SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_H
#define ZP_SPEC_ACSL_VALUE_H
#include "exact.acsl.h"

/*@
  // x * 2^e
  logic integer Shift2(integer e, integer x) = e <= 0 ? x : 2 * Shift2(e - 1, x);

  // the value of a pattern in units of 2^-149; a non-finite pattern adds nothing
  logic integer Magnitude32(integer u) = Shift2(Exp32(u), Mant32(u));
  logic integer Value32(integer u) =
    BiasedExp32(u) == 255 ? 0 : u / 2147483648 == 1 ? -Magnitude32(u) : Magnitude32(u);

  // element i of (n, 9) limbs
  logic integer ElementSum{L}(int64_t *limbs, integer i) = LimbSum(limbs + 9 * i, 9);
  predicate ElementSettled{L}(int64_t *limbs, integer i) = Canonical(limbs + 9 * i, 8);

  // k additions since the element was last carried, c additions in all
  predicate ElementBounded{L}(int64_t *limbs, integer i, integer k, integer c) =
    (\forall integer q; 9 * i <= q < 9 * i + 8 ==>
      -(k + 1) * 4294967296 <= limbs[q] <= (k + 1) * 4294967296) &&
    Shift32(8, -2097152 * c) <= ElementSum(limbs, i) <= Shift32(8, 2097152 * c);
  predicate LimbsSmall{L}(int64_t *limbs, integer from, integer to, integer bound) =
    \forall integer k; from <= k < to ==> -bound <= limbs[k] <= bound;

  // q * n, named so that provers need not look inside
  logic integer Times(integer q, integer n) = q * n;

  // of a word w, the bits above 2^d were taken: t = floor(w / 2^d), and left tells of the others
  predicate WordTaken(integer w, integer d, integer t, integer left) =
    0 <= d && Shift2(d, t) <= w < Shift2(d, t + 1) && (left == 0 <==> w == Shift2(d, t));
  // the same of v while `rest` of it has not been looked at
  predicate BitsTaken(integer v, integer rest, integer last, integer t, integer lower) =
    Shift2(last, t) + rest <= v < Shift2(last, t + 1) &&
    (lower == 0 <==> v == Shift2(last, t) + rest);

  // (q * n + rem) * 2^e is w without its bits below 2^e, and lower tells whether one is set
  predicate QuotientFloor(integer w, integer e, integer n, integer q, integer rem,
                          integer lower) =
    0 <= e && 0 <= q && 0 <= rem < n &&
    Shift2(e, Times(q, n) + rem) <= w < Shift2(e, Times(q, n) + rem + 1) &&
    (lower == 0 <==> w == Shift2(e, Times(q, n) + rem));

  // m * 2^e is a multiple of 2^e nearest to w2 / (2 n), the even one of two:
  // |w2 / (2 n) - m 2^e| <= 2^e / 2
  predicate NearestQuotient(integer w2, integer n, integer e, integer m) =
    w2 <= Shift2(e, Times(2 * m + 1, n)) &&
    (w2 == Shift2(e, Times(2 * m + 1, n)) ==> m % 2 == 0) &&
    (1 <= m ==> Shift2(e, Times(2 * m - 1, n)) <= w2) &&
    (1 <= m && w2 == Shift2(e, Times(2 * m - 1, n)) ==> m % 2 == 0);

  // a, without sign, is the fp32 pattern nearest to w / n, ties to even. Infinity from half a unit
  // beyond the largest number on; below a power of two the numbers lie half as far apart.
  predicate RoundedMagnitude(integer w, integer n, integer a) =
    (a == 2139095040 && Shift2(253, Times(33554431, n)) <= 2 * w) ||
    (0 <= a < 2139095040 && NearestQuotient(2 * w, n, Exp32(a), Mant32(a)) &&
     (Mant32(a) == 8388608 && 1 <= Exp32(a) ==>
      Shift2(Exp32(a) - 1, Times(33554431, n)) <= 2 * w));
  predicate RoundedQuotient32(integer v, integer n, integer u) =
    (v == 0 ==> u == 0) &&
    (0 < v ==> 0 <= u < 2147483648 && RoundedMagnitude(v, n, u)) &&
    (v < 0 ==> 2147483648 <= u && RoundedMagnitude(-v, n, u - 2147483648));
*/

/*@
  lemma Shift2_Add: \forall integer e; 0 <= e ==>
    \forall integer x, y; Shift2(e, x + y) == Shift2(e, x) + Shift2(e, y);
  lemma Shift2_Zero: \forall integer e; 0 <= e ==> Shift2(e, 0) == 0;
  lemma Shift2_Less: \forall integer e; 0 <= e ==>
    \forall integer x, y; x < y ==> Shift2(e, x) < Shift2(e, y);
  lemma Shift2_Opposite: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e, -x) == -Shift2(e, x);
  lemma Shift2_Double: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e, 2 * x) == 2 * Shift2(e, x);
  lemma Shift2_Compose: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e ==> Shift2(f + e, x) == Shift2(f, Shift2(e, x));
  lemma Shift2_Four: \forall integer x; Shift2(2, x) == 4 * x && Shift2(1, x) == 2 * x;
  lemma Shift2_Eight: \forall integer x; Shift2(4, x) == 16 * x && Shift2(8, x) == 256 * x;
  lemma Shift2_Word: \forall integer x;
    Shift2(16, x) == 65536 * x && Shift2(32, x) == 4294967296 * x;
  lemma Shift2_Limb: \forall integer q; 0 <= q ==>
    \forall integer r, x; 0 <= r ==> Shift2(32 * q + r, x) == Shift32(q, Shift2(r, x));
  lemma Shift2_DivMod: \forall integer e, x; 0 <= e ==>
    Shift2(e, x) == Shift32(e / 32, Shift2(e % 32, x));

  lemma Shift32_Opposite: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q, -x) == -Shift32(q, x);
  lemma LimbSum_Opposite{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> \at(a[j],L2) == -\at(a[j],L1)) ==>
    LimbSum{L2}(a, n) == -LimbSum{L1}(a, n);
  lemma ElementSum_Frame{L1,L2}: \forall int64_t *limbs, integer i;
    (\forall integer k; 9 * i <= k < 9 * i + 9 ==> \at(limbs[k],L2) == \at(limbs[k],L1)) ==>
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i);
  lemma LimbSum_Bound{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer b;
    0 <= b && (\forall integer j; 0 <= j < n ==> -b <= a[j] <= b) ==>
    Shift32(n, -b) <= LimbSum(a, n) <= Shift32(n, b);

  lemma Times_Step: \forall integer q, n; Times(2 * q, n) == 2 * Times(q, n) &&
    Times(2 * q + 1, n) == 2 * Times(q, n) + n;
  lemma Times_Zero: \forall integer n; Times(0, n) == 0;
  lemma Times_Less: \forall integer p, q, n; 0 < n && p < q ==> Times(p, n) + n <= Times(q, n);

  lemma Value32_Range: \forall integer u; 0 <= u <= 4294967295 ==>
    Shift32(8, -2097152) <= Value32(u) <= Shift32(8, 2097152);
  lemma ElementBounded_Small{L}: \forall int64_t *limbs, integer i, k, c;
    0 <= k <= 1073741824 && 0 <= c <= 1099511627776 && ElementBounded(limbs, i, k, c) ==>
    LimbsSmall(limbs, 9 * i, 9 * i + 9, 9223372028264841216);
  lemma ElementBounded_Step{L1,L2}: \forall int64_t *limbs, integer i, k, c, u;
    0 <= u <= 4294967295 && 0 <= k && 0 <= c && ElementBounded{L1}(limbs, i, k, c) &&
    (\forall integer q; 9 * i <= q < 9 * i + 9 ==>
      -4294967296 < \at(limbs[q],L2) - \at(limbs[q],L1) < 4294967296) &&
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i) + Value32(u) ==>
    ElementBounded{L2}(limbs, i, k + 1, c + 1);
  lemma ElementBounded_Settled{L1,L2}: \forall int64_t *limbs, integer i, k, c;
    ElementBounded{L1}(limbs, i, k, c) && ElementSettled{L2}(limbs, i) &&
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i) ==> ElementBounded{L2}(limbs, i, 0, c);

  lemma Word_Left: \forall integer d, t, v, w; 0 <= d && 0 <= v < 4294967296 &&
    Shift2(d, 4294967296 * t + v) == Shift2(32, w) ==> WordTaken(w, d, t, v);
  lemma Bits_Word: \forall integer i, v, s, x, t, d, u, left, lower; 0 <= i && 0 <= d &&
    0 <= s < Shift32(i, 1) && BitsTaken(v, s + Shift32(i, x), 32 * (i + 1), t, 0) &&
    WordTaken(4294967296 * t + x, d, u, left) && (lower == 0 <==> left == 0) ==>
    BitsTaken(v, s, 32 * i + d, u, lower);
  lemma Bits_Stopped: \forall integer i, v, s, x, t, last, lower, more; 0 <= i && 0 <= x &&
    0 <= s && BitsTaken(v, s + Shift32(i, x), last, t, lower) &&
    (more == 0 <==> lower == 0 && x == 0) ==> BitsTaken(v, s, last, t, more);

  lemma Quotient_Rounded: \forall integer w2, e, n, q, rem, lower, m; 0 < n && 0 <= q &&
    QuotientFloor(w2, e, n, q, rem, lower) && (m == q / 2 || (q % 2 == 1 && m == q / 2 + 1)) &&
    (q % 2 == 1 && (rem != 0 || lower != 0 || q / 2 % 2 == 1) ==> m == q / 2 + 1) &&
    (q % 2 == 1 && rem == 0 && lower == 0 && q / 2 % 2 == 0 ==> m == q / 2) ==>
    NearestQuotient(w2, n, e, m);
  // below a power of two, by the bit that was taken to spare
  lemma Quotient_Boundary: \forall integer w2, e, n, q, rem, lower; 0 < n && 16777216 <= q &&
    1 <= e && QuotientFloor(w2, e, n, q, rem, lower) ==>
    Shift2(e - 1, Times(33554431, n)) <= w2;
  lemma Shift2_Monotone: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e <= f && 0 <= x ==> Shift2(e, x) <= Shift2(f, x);
  lemma Magnitude_Subnormal: \forall integer w, n, m; 0 < n && 0 <= m < 8388608 &&
    NearestQuotient(2 * w, n, 0, m) ==> RoundedMagnitude(w, n, m);
  lemma Magnitude_Normal: \forall integer w, n, e, m; 0 < n && 0 <= e < 254 &&
    8388608 <= m < 16777216 && NearestQuotient(2 * w, n, e, m) &&
    (1 <= e ==> Shift2(e - 1, Times(33554431, n)) <= 2 * w) ==>
    RoundedMagnitude(w, n, 8388608 * e + m);
  lemma Magnitude_Carried: \forall integer w, n, e; 0 < n && 0 <= e < 253 &&
    NearestQuotient(2 * w, n, e, 16777216) ==>
    RoundedMagnitude(w, n, 8388608 * e + 16777216);
  lemma Magnitude_Large: \forall integer w, n, e, m; 0 < n && 254 <= e && 8388608 <= m &&
    Shift2(e - 1, Times(33554431, n)) <= 2 * w ==> RoundedMagnitude(w, n, 2139095040);
  lemma Magnitude_LargeCarried: \forall integer w, n; 0 < n &&
    NearestQuotient(2 * w, n, 253, 16777216) ==> RoundedMagnitude(w, n, 2139095040);
*/
#endif
