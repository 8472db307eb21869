/* Logic for exact signed sums and their rounded mean. ACSL only: nothing here is compiled.
 *
 * A finite fp32 pattern u has the value Value32(u) * 2^-149 with Value32(u) an integer.
 * spec: SUM-5, SUM-6, SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_SUMS_H
#define ZP_SPEC_ACSL_VALUE_SUMS_H
#include "exact_sums.h"

/*@
  // x * 2^e
  logic integer Shift2(integer e, integer x) = e <= 0 ? x : 2 * Shift2(e - 1, x);

  // the value of a pattern in units of 2^-149; a non-finite pattern adds nothing
  logic integer Magnitude32(integer u) = Shift2(Exp32(u), Mant32(u));
  logic integer Value32(integer u) =
    BiasedExp32(u) == 255 ? 0 : u / 2147483648 == 1 ? -Magnitude32(u) : Magnitude32(u);

  // limbs s to s + n - 1 of a, s having weight 1
  logic integer LimbSumFrom{L}(int64_t *a, integer s, integer n) =
    n <= 0 ? 0 : LimbSumFrom(a, s, n - 1) + Shift32(n - 1, a[s + n - 1]);
  predicate SettledFrom{L}(int64_t *a, integer s, integer n) =
    \forall integer k; s <= k < s + n ==> 0 <= a[k] < 4294967296;
  predicate SmallFrom{L}(int64_t *a, integer s, integer n, integer b) =
    \forall integer k; s <= k < s + n ==> -b <= a[k] <= b;
  predicate OneUpdated{L1,L2}(int64_t *a, integer s, integer n, integer q, integer d) =
    s <= q < s + n && \at(a[q],L2) - \at(a[q],L1) == d &&
    (\forall integer j; s <= j < s + n && j != q ==> \at(a[j],L2) == \at(a[j],L1));
  predicate LimbsSmall{L}(int64_t *limbs, integer from, integer to, integer bound) =
    \forall integer k; from <= k < to ==> -bound <= limbs[k] <= bound;

  // element i of (n, 9) limbs
  logic integer ElementSum{L}(int64_t *limbs, integer i) = LimbSumFrom(limbs, 9 * i, 9);
  predicate ElementSettled{L}(int64_t *limbs, integer i) = SettledFrom(limbs, 9 * i, 8);
  predicate SameElement{L1,L2}(int64_t *a, integer i, int64_t *b, integer j) =
    \at(a[9 * i],L1) == \at(b[9 * j],L2) && \at(a[9 * i + 1],L1) == \at(b[9 * j + 1],L2) &&
    \at(a[9 * i + 2],L1) == \at(b[9 * j + 2],L2) && \at(a[9 * i + 3],L1) == \at(b[9 * j + 3],L2) &&
    \at(a[9 * i + 4],L1) == \at(b[9 * j + 4],L2) && \at(a[9 * i + 5],L1) == \at(b[9 * j + 5],L2) &&
    \at(a[9 * i + 6],L1) == \at(b[9 * j + 6],L2) && \at(a[9 * i + 7],L1) == \at(b[9 * j + 7],L2) &&
    \at(a[9 * i + 8],L1) == \at(b[9 * j + 8],L2);
  // k additions since the element was last carried, c additions in all
  predicate ElementBounded{L}(int64_t *limbs, integer i, integer k, integer c) =
    SmallFrom(limbs, 9 * i, 8, (k + 1) * 4294967296) &&
    -Shift32(8, 2097152 * c) <= ElementSum(limbs, i) <= Shift32(8, 2097152 * c);

  // q * n for 0 <= q, without a product (lemma Times_Product)
  logic integer Times(integer q, integer n) = q <= 0 ? 0 : Times(q - 1, n) + n;

  // the bits of word w above 2^d are processed: t = floor(w / 2^d); left is the other bits, shifted
  // left
  predicate WordSplit(integer w, integer d, integer t, integer left) =
    0 <= d && 0 <= left < 4294967296 &&
    4294967296 * w == 4294967296 * Shift2(d, t) + Shift2(d, left);
  predicate WordExtracted(integer w, integer d, integer t, integer left) =
    0 <= d && Shift2(d, t) <= w < Shift2(d, t + 1) && (left == 0 <==> w == Shift2(d, t));
  // the same for v while its part `rest` is not processed
  predicate BitsExtracted(integer v, integer rest, integer last, integer t, integer lower) =
    Shift2(last, t) + rest <= v < Shift2(last, t + 1) &&
    (lower == 0 <==> v == Shift2(last, t) + rest);

  // (q * n + rem) * 2^e is 2 w without its bits below 2^e, and lower is 1 iff one of those is set
  predicate QuotientFloor(integer w, integer e, integer n, integer q, integer rem,
                          integer lower) =
    0 <= e && 0 <= q && 0 <= rem < n &&
    Shift2(e, Times(q, n) + rem) <= 2 * w < Shift2(e, Times(q, n) + rem + 1) &&
    (lower == 0 <==> 2 * w == Shift2(e, Times(q, n) + rem));

  // m * 2^e is a multiple of 2^e nearest to w / n, the even one of two: |w / n - m 2^e| <= 2^e / 2
  predicate NearestQuotient(integer w, integer n, integer e, integer m) =
    2 * w <= Shift2(e, Times(2 * m + 1, n)) &&
    (2 * w == Shift2(e, Times(2 * m + 1, n)) ==> m % 2 == 0) &&
    (1 <= m ==> Shift2(e, Times(2 * m - 1, n)) <= 2 * w) &&
    (1 <= m && 2 * w == Shift2(e, Times(2 * m - 1, n)) ==> m % 2 == 0);
  // m is q / 2, rounded; q's last bit is the half, and rem and lower are 0 iff the bits below it
  // are
  predicate RoundedHalf(integer q, integer rem, integer lower, integer m) =
    0 <= q < 33554432 && (m == q / 2 || m == q / 2 + q % 2) &&
    (q % 2 == 1 && (rem != 0 || lower != 0 || q / 2 % 2 == 1) ==> m == q / 2 + 1) &&
    (q % 2 == 0 || (rem == 0 && lower == 0 && q / 2 % 2 == 0) ==> m == q / 2);
  // the pattern of m * 2^e, m below 2^24, or infinity if no pattern has that value
  logic integer PatternOf(integer e, integer m) =
    8388608 * e + m > 2139095040 ? 2139095040 : 8388608 * e + m;
  // below a power of two, 2^23 2^e, the numbers lie half as far apart
  predicate AboveBoundary(integer w, integer n, integer e) =
    1 <= e ==> Shift2(e - 1, Times(33554431, n)) <= 2 * w;

  // a, without sign, is the fp32 pattern nearest to w / n, ties to even. Infinity from half a unit
  // beyond the largest number on
  predicate RoundedMagnitude(integer w, integer n, integer a) =
    (a == 2139095040 && Shift2(253, Times(33554431, n)) <= 2 * w) ||
    (0 <= a < 2139095040 && NearestQuotient(w, n, Exp32(a), Mant32(a)) &&
     (Mant32(a) == 8388608 ==> AboveBoundary(w, n, Exp32(a))));
  predicate RoundedQuotient32(integer v, integer n, integer u) =
    (v == 0 ==> u == 0) &&
    (0 < v ==> 0 <= u < 2147483648 && RoundedMagnitude(v, n, u)) &&
    (v < 0 ==> 2147483648 <= u && RoundedMagnitude(-v, n, u - 2147483648));
*/

/*@
  lemma LimbSumFrom_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer s;
    (\forall integer k; s <= k < s + n ==> \at(a[k],L2) == \at(a[k],L1)) ==>
    LimbSumFrom{L2}(a, s, n) == LimbSumFrom{L1}(a, s, n);
*/
#endif
