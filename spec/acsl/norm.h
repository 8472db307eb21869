/* Logic for the correctly rounded square root of an exact sum. ACSL only: nothing is compiled.
 *
 * The norm is sqrt(V) * 2^-149 with V = LimbSum(limb, 20). Everything is said of integers:
 * |sqrt(w) - m 2^e| <= 2^e / 2 iff (2 m - 1)^2 4^e <= 4 w <= (2 m + 1)^2 4^e.
 * spec: NORM-1, NORM-2
 */
#ifndef ZP_SPEC_ACSL_NORM_H
#define ZP_SPEC_ACSL_NORM_H
#include "exact.acsl.h"

/*@
  // named so that provers need not look inside
  logic integer Square(integer x) = x * x;

  // of a word w, the digits above 4^d were taken: t = floor(w / 4^d), and left tells of the others
  predicate DigitsOfWord(integer w, integer d, integer t, integer left) =
    0 <= d && Shift4(d, t) <= w < Shift4(d, t + 1) && (left == 0 <==> w == Shift4(d, t));
  // the same of v while `rest` of it has not been looked at
  predicate DigitsTaken(integer v, integer rest, integer last, integer t, integer lower) =
    Shift4(last, t) + rest <= v < Shift4(last, t + 1) &&
    (lower == 0 <==> v == Shift4(last, t) + rest);

  // root is floor(sqrt(w / 4^e)), rem what is left, and lower tells whether w has digits below 4^e
  predicate RootFloor(integer w, integer e, integer root, integer rem, integer lower) =
    0 <= e && 0 <= rem <= 2 * root &&
    Shift4(e, Square(root) + rem) <= w < Shift4(e, Square(root) + rem + 1) &&
    (lower == 0 <==> w == Shift4(e, Square(root) + rem));

  // m * 2^e is a multiple of 2^e nearest to sqrt(w4 / 4), the even one of two
  predicate NearestRoot(integer w4, integer e, integer m) =
    w4 <= Shift4(e, Square(2 * m + 1)) &&
    (w4 == Shift4(e, Square(2 * m + 1)) ==> m % 2 == 0) &&
    (1 <= m ==> Shift4(e, Square(2 * m - 1)) <= w4) &&
    (1 <= m && w4 == Shift4(e, Square(2 * m - 1)) ==> m % 2 == 0);

  // bits is the pattern nearest to sqrt(v) * 2^-149, ties to even. 4 v 4^64 stands for 4 v, so
  // that no exponent is negative. Below a power of two the numbers lie half as far apart. fp64:
  // 2^(e - 1075) times a significand of 53 bits; e - 926 is that exponent in units of 2^-149.
  logic integer Exponent64(integer bits) = bits / 4503599627370496;
  logic integer Significand64(integer bits) = bits % 4503599627370496 + 4503599627370496;
  predicate RoundedRoot64(integer v, integer bits) =
    (v == 0 ==> bits == 0) &&
    (0 < v ==> 0 < Exponent64(bits) < 2047 &&
      NearestRoot(Shift4(65, v), Exponent64(bits) - 862, Significand64(bits)) &&
      (Significand64(bits) == 4503599627370496 ==>
        Shift4(Exponent64(bits) - 863, Square(18014398509481983)) <= Shift4(65, v)));

  // infinity from half a unit beyond the largest number on
  predicate RoundedRoot32(integer v, integer bits) =
    (bits == 2139095040 && Shift4(317, Square(33554431)) <= Shift4(65, v)) ||
    (0 <= bits < 2139095040 && NearestRoot(Shift4(65, v), Exp32(bits) + 64, Mant32(bits)) &&
     (Mant32(bits) == 8388608 && 1 <= Exp32(bits) ==>
      Shift4(Exp32(bits) + 63, Square(33554431)) <= Shift4(65, v)));
*/

/*@
  lemma Shift4_Add: \forall integer e; 0 <= e ==>
    \forall integer x, y; Shift4(e, x + y) == Shift4(e, x) + Shift4(e, y);
  lemma Shift4_LessX: \forall integer e; 0 <= e ==>
    \forall integer x, y; x < y ==> Shift4(e, x) < Shift4(e, y);
  lemma Shift4_Zero: \forall integer e; 0 <= e ==> Shift4(e, 0) == 0;
  lemma Shift4_Four: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e, 4 * x) == 4 * Shift4(e, x);
  lemma Shift4_Compose: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e ==> Shift4(f + e, x) == Shift4(f, Shift4(e, x));
  lemma Shift4_Limb: \forall integer q; 0 <= q ==>
    \forall integer r, x; 0 <= r ==> Shift4(16 * q + r, x) == Shift32(q, Shift4(r, x));
  lemma Shift4_Word: \forall integer x; Shift4(16, x) == 4294967296 * x;

  lemma Square_Step: \forall integer x; Square(2 * x) == 4 * Square(x) &&
    Square(2 * x + 1) == 4 * Square(x) + 4 * x + 1;
  lemma Square_Next: \forall integer x; Square(x + 1) == Square(x) + 2 * x + 1;
  lemma Square_Less: \forall integer x, y; 0 <= x < y ==> Square(x) < Square(y);

  lemma Word_Digits: \forall integer d, t, v, w; 0 <= d && 0 <= v < 4294967296 &&
    Shift4(d, 4294967296 * t + v) == Shift4(16, w) ==> DigitsOfWord(w, d, t, v);
  lemma Digits_Word: \forall integer i, v, s, x, t, d, u, left, lower; 0 <= i && 0 <= d &&
    0 <= s < Shift32(i, 1) && DigitsTaken(v, s + Shift32(i, x), 16 * (i + 1), t, 0) &&
    DigitsOfWord(4294967296 * t + x, d, u, left) && (lower == 0 <==> left == 0) ==>
    DigitsTaken(v, s, 16 * i + d, u, lower);
  lemma Digits_Stopped: \forall integer i, v, s, x, t, last, lower, more; 0 <= i && 0 <= x &&
    0 <= s && DigitsTaken(v, s + Shift32(i, x), last, t, lower) &&
    (more == 0 <==> lower == 0 && x == 0) ==> DigitsTaken(v, s, last, t, more);
  lemma Root_Start: \forall integer v, last, root, rem, lower; 0 <= last && 0 <= rem <= 2 * root &&
    DigitsTaken(v, 0, last, Square(root) + rem, lower) ==>
    RootFloor(Shift4(65, v), last + 65, root, rem, lower);
  lemma Root_Digit: \forall integer w, e, f, root, rem, r, m; 0 <= f && e == f + 1 &&
    RootFloor(w, e, root, rem, 0) && 0 <= m <= 2 * r &&
    Square(r) + m == 4 * (Square(root) + rem) ==> RootFloor(w, f, r, m, 0);

  lemma Root_Rounded: \forall integer w4, e, root, rem, lower, m;
    RootFloor(w4, e, root, rem, lower) &&
    (root % 2 == 1 && (rem != 0 || lower != 0 || root / 2 % 2 == 1) ==> m == root / 2 + 1) &&
    (root % 2 == 0 || (rem == 0 && lower == 0 && root / 2 % 2 == 0) ==> m == root / 2) ==>
    NearestRoot(w4, e, m);
  // below a power of two, by the bit that was taken to spare
  lemma Root_Boundary: \forall integer w4, e, root, rem, lower; 1 <= e && 16777216 <= root &&
    RootFloor(w4, e, root, rem, lower) ==> Shift4(e - 1, Square(33554431)) <= w4;
  lemma Root_Boundary64: \forall integer w4, e, root, rem, lower; 1 <= e &&
    9007199254740992 <= root && RootFloor(w4, e, root, rem, lower) ==>
    Shift4(e - 1, Square(18014398509481983)) <= w4;
  lemma Root_Zero64: \forall integer v, root, rem, lower; root < 9007199254740992 &&
    RootFloor(Shift4(65, v), 12, root, rem, lower) ==> v <= 0;
  lemma Root_Positive: \forall integer v, e, root, rem, lower; 1 <= root &&
    RootFloor(Shift4(65, v), e, root, rem, lower) ==> 0 < v;

  lemma Root32_Subnormal: \forall integer v, m; 0 <= m < 8388608 &&
    NearestRoot(Shift4(65, v), 64, m) ==> RoundedRoot32(v, m);
  lemma Root32_Normal: \forall integer v, e, m; 0 <= e < 254 && 8388608 <= m < 16777216 &&
    NearestRoot(Shift4(65, v), e + 64, m) &&
    (1 <= e ==> Shift4(e + 63, Square(33554431)) <= Shift4(65, v)) ==>
    RoundedRoot32(v, 8388608 * e + m);
  lemma Root32_Carried: \forall integer v, e; 0 <= e < 253 &&
    NearestRoot(Shift4(65, v), e + 64, 16777216) ==> RoundedRoot32(v, 8388608 * e + 16777216);
  lemma Root32_Large: \forall integer v, e; 254 <= e &&
    Shift4(e + 63, Square(33554431)) <= Shift4(65, v) ==> RoundedRoot32(v, 2139095040);
  lemma Root32_LargeCarried: \forall integer v;
    NearestRoot(Shift4(65, v), 317, 16777216) ==> RoundedRoot32(v, 2139095040);
  lemma Root64_Normal: \forall integer v, e, q; 12 <= e <= 385 && 0 < v &&
    4503599627370496 <= q < 9007199254740992 && NearestRoot(Shift4(65, v), e, q) &&
    Shift4(e - 1, Square(18014398509481983)) <= Shift4(65, v) ==>
    RoundedRoot64(v, (e + 861) * 4503599627370496 + q);
  lemma Root64_Carried: \forall integer v, e; 12 <= e <= 385 && 0 < v &&
    NearestRoot(Shift4(65, v), e, 9007199254740992) ==>
    RoundedRoot64(v, (e + 861) * 4503599627370496 + 9007199254740992);
*/
#endif
