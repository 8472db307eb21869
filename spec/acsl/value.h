/* Lemmas on exact values that the code's proofs use, on the logic of value_sums.h. ACSL only.
 * spec: SUM-5, SUM-6, SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_H
#define ZP_SPEC_ACSL_VALUE_H
#include "value_sums.h"

/*@
  // powers of two
  lemma Shift2_Powers: \forall integer e; 0 <= e ==> \forall integer x;
    Shift2(e + 1, x) == 2 * Shift2(e, x) && Shift2(e + 2, x) == 4 * Shift2(e, x) &&
    Shift2(e + 4, x) == 16 * Shift2(e, x) && Shift2(e + 8, x) == 256 * Shift2(e, x) &&
    Shift2(e + 16, x) == 65536 * Shift2(e, x);
  lemma Shift2_Double: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e, 2 * x) == 2 * Shift2(e, x);
  lemma Magnitude32_Split: \forall integer u; 0 <= u ==>
    Magnitude32(u) == Shift32(Exp32(u) / 32, Shift2(Exp32(u) % 32, Mant32(u)));
  lemma Shift32_Opposite: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q, -x) == -Shift32(q, x);

  // elements
  lemma Value32_Range: \forall integer u; 0 <= u <= 4294967295 ==>
    -Shift32(8, 2097152) <= Value32(u) <= Shift32(8, 2097152);
  lemma ElementBounded_Small{L}: \forall int64_t *limbs, integer i, k, c;
    0 <= k <= 1073741824 && 0 <= c <= 1099511627776 && ElementBounded(limbs, i, k, c) ==>
    \forall integer q; 0 <= q < 9 ==>
      -9223372028264841216 <= limbs[9 * i + q] <= 9223372028264841216;
  lemma ElementBounded_Step{L1,L2}: \forall int64_t *limbs, integer i, k, c, u;
    0 <= u <= 4294967295 && 0 <= k && 0 <= c && ElementBounded{L1}(limbs, i, k, c) &&
    (\forall integer q; 0 <= q < 8 ==>
      -4294967296 < \at(limbs[9 * i + q],L2) - \at(limbs[9 * i + q],L1) < 4294967296) &&
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i) + Value32(u) ==>
    ElementBounded{L2}(limbs, i, k + 1, c + 1);
  lemma ElementBounded_Settled{L1,L2}: \forall int64_t *limbs, integer i, k, c;
    ElementBounded{L1}(limbs, i, k, c) && ElementSettled{L2}(limbs, i) &&
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i) ==> ElementBounded{L2}(limbs, i, 0, c);

  // division
  lemma Times_Step: \forall integer q; 0 <= q ==> \forall integer n;
    Times(2 * q, n) == 2 * Times(q, n) && Times(2 * q + 1, n) == 2 * Times(q, n) + n;
  lemma Shift2_Word: \forall integer x; Shift2(32, x) == 4294967296 * x;
  lemma Word_Left: \forall integer d, t, v, y, w; 0 <= d && 0 <= v < 4294967296 &&
    y <= 4294967296 * t + v && 4294967296 * t + v <= y && Shift2(d, y) == 4294967296 * w ==>
    WordTaken(w, d, t, v);
  lemma Bits_Start: \forall integer n, l, v; 0 <= n && 0 <= v < Shift32(n, 1) && l <= 32 * n &&
    32 * n <= l ==> BitsTaken(v, v, l, 0, 0);
  lemma Word_Joined: \forall integer i; 0 <= i ==> \forall integer l, t, x, w;
    l <= 32 * (i + 1) && 32 * (i + 1) <= l && w <= 4294967296 * t + x &&
    4294967296 * t + x <= w ==> Shift2(l, t) + Shift32(i, x) == Shift32(i, w);
  lemma Bits_Word: \forall integer i, v, s, w, l, d, u, left, lower; 0 <= i && 0 <= d &&
    0 <= s < Shift32(i, 1) && v == s + Shift32(i, w) && WordTaken(w, d, u, left) &&
    l <= 32 * i + d && 32 * i + d <= l && (lower == 0 <==> left == 0) ==>
    BitsTaken(v, s, l, u, lower);
  lemma Bits_Stopped: \forall integer i, v, s, x, t, last, lower, more; 0 <= i && 0 <= x &&
    0 <= s && BitsTaken(v, s + Shift32(i, x), last, t, lower) &&
    (more == 0 <==> lower == 0 && x == 0) ==> BitsTaken(v, s, last, t, more);
  lemma Bits_Floor: \forall integer v, last, n, q, rem, lower; 0 <= last && 0 <= q &&
    0 <= rem < n && BitsTaken(v, 0, last, Times(q, n) + rem, lower) ==>
    QuotientFloor(v, last + 1, n, q, rem, lower);
  lemma Bits_Half: \forall integer v, n, p, r, q, rem; 0 <= q && 0 <= rem < n &&
    BitsTaken(v, 0, 0, Times(p, n) + r, 0) && Times(q, n) + rem == 2 * (Times(p, n) + r) ==>
    QuotientFloor(v, 0, n, q, rem, 0);
  lemma Quotient_Zero: \forall integer w, n, lower; 0 < n && 0 <= w &&
    QuotientFloor(w, 0, n, 0, 0, lower) ==> w == 0;

  // rounding
  lemma Quotient_Down: \forall integer w, e, n, q, rem, lower; 0 < n && q % 2 == 0 &&
    QuotientFloor(w, e, n, q, rem, lower) ==> NearestQuotient(w, n, e, q / 2);
  lemma Quotient_Up: \forall integer w, e, n, q, rem, lower; 0 < n && q % 2 == 1 &&
    (rem != 0 || lower != 0 || q / 2 % 2 == 1) &&
    QuotientFloor(w, e, n, q, rem, lower) ==> NearestQuotient(w, n, e, q / 2 + 1);
  lemma Quotient_Tie: \forall integer w, e, n, q; 0 < n && q % 2 == 1 && q / 2 % 2 == 0 &&
    QuotientFloor(w, e, n, q, 0, 0) ==> NearestQuotient(w, n, e, q / 2);
  // by the bit that was taken to spare
  lemma Quotient_Boundary: \forall integer w, e, n, q, rem, lower; 0 < n && 16777216 <= q &&
    QuotientFloor(w, e, n, q, rem, lower) ==> AboveBoundary(w, n, e);
  lemma Magnitude_Subnormal: \forall integer w, n, m; 0 < n && 0 <= m < 8388608 &&
    NearestQuotient(w, n, 0, m) ==> RoundedMagnitude(w, n, m);
  lemma Magnitude_Normal: \forall integer w, n, e, m; 0 < n && 0 <= e < 254 &&
    8388608 <= m < 16777216 && NearestQuotient(w, n, e, m) && AboveBoundary(w, n, e) ==>
    RoundedMagnitude(w, n, 8388608 * e + m);
  lemma Magnitude_Carried: \forall integer w, n, e; 0 < n && 0 <= e < 253 &&
    NearestQuotient(w, n, e, 16777216) ==> RoundedMagnitude(w, n, 8388608 * e + 16777216);
  lemma Magnitude_Large: \forall integer w, n, e; 0 < n && 254 <= e && AboveBoundary(w, n, e) ==>
    RoundedMagnitude(w, n, 2139095040);
  lemma Magnitude_LargeCarried: \forall integer w, n; 0 < n &&
    NearestQuotient(w, n, 253, 16777216) ==> RoundedMagnitude(w, n, 2139095040);
*/
#endif
