/* Long division, for the code of exact means. ACSL only.
 * spec: SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_DIVISION_H
#define ZP_SPEC_ACSL_VALUE_DIVISION_H
#include "value_sums.h"

/*@
  lemma Times_Step: \forall integer q; 0 <= q ==> \forall integer n;
    Times(2 * q, n) == 2 * Times(q, n) && Times(2 * q + 1, n) == 2 * Times(q, n) + n;
  lemma Shift2_Word: \forall integer x; Shift2(32, x) == 4294967296 * x;
  lemma Word_Left: \forall integer d, t, v, y, w; 0 <= d && 0 <= v < 4294967296 &&
    y <= 4294967296 * t + v && 4294967296 * t + v <= y && Shift2(d, y) == 4294967296 * w ==>
    WordExtracted(w, d, t, v);
  lemma Bits_Start: \forall integer n, l, v; 0 <= n && 0 <= v < Shift32(n, 1) && l <= 32 * n &&
    32 * n <= l ==> BitsExtracted(v, v, l, 0, 0);
  lemma Word_Joined: \forall integer i, l, t, x; 0 <= i && l <= 32 * (i + 1) &&
    32 * (i + 1) <= l ==> Shift2(l, t) + Shift32(i, x) == Shift32(i, 4294967296 * t + x);
  lemma Bits_Word: \forall integer i, v, s, w, l, d, u, left, lower; 0 <= i && 0 <= d &&
    0 <= s < Shift32(i, 1) && v == s + Shift32(i, w) && WordExtracted(w, d, u, left) &&
    l <= 32 * i + d && 32 * i + d <= l && (lower == 0 <==> left == 0) ==>
    BitsExtracted(v, s, l, u, lower);
  lemma Word_Sum: \forall integer i, l, t, x, w; 0 <= i && l <= 32 * (i + 1) &&
    32 * (i + 1) <= l && w <= 4294967296 * t + x && 4294967296 * t + x <= w ==>
    Shift32(i, w) == Shift2(l, t) + Shift32(i, x);
  lemma Step_Zeros: \forall integer i, v, r, s, l, m; 0 <= i && 0 <= s < Shift32(i, 1) &&
    r <= s && s <= r && m <= 32 * i && 32 * i <= m && BitsExtracted(v, r, l, 0, 0) ==>
    BitsExtracted(v, s, m, 0, 0);
  lemma Bits_None: \forall integer v, r, l, t; BitsExtracted(v, r, l, t, 0) ==>
    v == Shift2(l, t) + r;
  lemma Word_Within: \forall integer i, l, t, r, s, x, w; 0 <= i && l <= 32 * (i + 1) &&
    32 * (i + 1) <= l && w <= 4294967296 * t + x && 4294967296 * t + x <= w &&
    r <= s + Shift32(i, x) && s + Shift32(i, x) <= r ==> Shift2(l, t) + r == s + Shift32(i, w);
  lemma Step_Sum: \forall integer i, v, r, s, x, l, t, w; 0 <= i &&
    l <= 32 * (i + 1) && 32 * (i + 1) <= l && w <= 4294967296 * t + x &&
    4294967296 * t + x <= w && r <= s + Shift32(i, x) && s + Shift32(i, x) <= r &&
    BitsExtracted(v, r, l, t, 0) ==> v == s + Shift32(i, w);
  lemma Step_Bits: \forall integer i, v, s, w, k, d, u, left, lower; 0 <= i && 0 <= d &&
    0 <= s < Shift32(i, 1) && v <= s + Shift32(i, w) && s + Shift32(i, w) <= v &&
    WordExtracted(w, d, u, left) && k <= 32 * i + d && 32 * i + d <= k &&
    (lower == 0 <==> left == 0) ==> BitsExtracted(v, s, k, u, lower);
  lemma Bits_Stopped: \forall integer i, v, r, s, x, t, last, lower, more; 0 <= i && 0 <= x &&
    0 <= s && r <= s + Shift32(i, x) && s + Shift32(i, x) <= r &&
    BitsExtracted(v, r, last, t, lower) &&
    (more == 0 <==> lower == 0 && x == 0) ==> BitsExtracted(v, s, last, t, more);
  lemma Bits_Floor: \forall integer v, last, n, q, rem, lower; 0 <= last && 0 <= q &&
    0 <= rem < n && BitsExtracted(v, 0, last, Times(q, n) + rem, lower) ==>
    QuotientFloor(v, last + 1, n, q, rem, lower);
  lemma Bits_Half: \forall integer v, n, p, r, q, rem; 0 <= q && 0 <= rem < n &&
    BitsExtracted(v, 0, 0, Times(p, n) + r, 0) && Times(q, n) + rem == 2 * (Times(p, n) + r) ==>
    QuotientFloor(v, 0, n, q, rem, 0);
  lemma Shift2_Above: \forall integer e; 0 <= e ==> \forall integer x; 0 <= x ==> x <= Shift2(e, x);
  lemma Times_Above: \forall integer q; 0 <= q ==> \forall integer n; 0 < n ==> q <= Times(q, n);
  lemma Quotient_Positive: \forall integer w, e, n, q, rem, lower; 0 < n && (q != 0 || rem != 0) &&
    QuotientFloor(w, e, n, q, rem, lower) ==> 0 < w;
  lemma Quotient_Zero: \forall integer w, n, lower; 0 < n && 0 <= w &&
    QuotientFloor(w, 0, n, 0, 0, lower) ==> w == 0;
*/
#endif
