/* Lemmas used only by the lemmas of norm_round.h. ACSL only. */
#ifndef ZP_SPEC_ACSL_NORM_ROUND_STEPS_H
#define ZP_SPEC_ACSL_NORM_ROUND_STEPS_H
#include "norm_shifts.h"

/*@
  // squares
  lemma Square_Less: \forall integer x, y; 0 <= x < y ==> Square(x) < Square(y);
  lemma Square_NotLess: \forall integer x, y; 0 <= x <= y ==> Square(x) <= Square(y);
  lemma Square_Down: \forall integer r, k; TwiceOf(r, k) && 0 <= r ==>
    Square(r) + 2 * r < Square(2 * k + 1) && (1 <= k ==> Square(2 * k - 1) < Square(r));
  lemma Square_Up: \forall integer r, k; TwiceOneOf(r, k) && 0 <= r ==>
    Square(r) + 2 * r < Square(2 * (k + 1) + 1) && Square(2 * (k + 1) - 1) == Square(r);
  lemma Square_Tie: \forall integer r, k; TwiceOneOf(r, k) && 0 <= r ==>
    Square(2 * k + 1) == Square(r) && (1 <= k ==> Square(2 * k - 1) < Square(r));
  lemma Square_Full: \forall integer r; 0 <= r < 9007199254740992 ==>
    Square(r) + 2 * r < 81129638414606681695789005144064;
  lemma Square_Large32: \forall integer r; 16777216 <= r ==> 281474976710656 <= Square(r);
  lemma Square_Large64: \forall integer r; 9007199254740992 <= r ==>
    81129638414606681695789005144064 <= Square(r);

  // floors
  lemma Floor_Above: \forall integer w, e, x, lower, y; FloorOf(w, e, x, lower) && x < y ==>
    w < Shift4(e, y);
  lemma Floor_Below: \forall integer w, e, x, lower, y; FloorOf(w, e, x, lower) && y <= x ==>
    Shift4(e, y) <= w;
  lemma Floor_Strict: \forall integer w, e, x, lower, y; FloorOf(w, e, x, lower) && y < x ==>
    Shift4(e, y) < w;
  lemma Floor_Scaled65: \forall integer v, x; FloorOf(Scaled(v), 12, x, 0) ==> x == Shift4(53, v);
  lemma Scaled_Sign: \forall integer v; v <= 0 ==> Scaled(v) <= 0;
  lemma Down_Above: \forall integer w, e, r, rem, lower, k; TwiceOf(r, k) &&
    RootFloor(w, e, r, rem, lower) ==> w < Shift4(e, Square(2 * k + 1));
  lemma Down_Below: \forall integer w, e, r, rem, lower, k; TwiceOf(r, k) && 1 <= k &&
    RootFloor(w, e, r, rem, lower) ==> Shift4(e, Square(2 * k - 1)) < w;
  lemma Up_Above: \forall integer w, e, r, rem, lower, k; TwiceOneOf(r, k) &&
    RootFloor(w, e, r, rem, lower) ==> w < Shift4(e, Square(2 * (k + 1) + 1));
  lemma Up_Below: \forall integer w, e, r, rem, lower, k; TwiceOneOf(r, k) &&
    RootFloor(w, e, r, rem, lower) ==> Shift4(e, Square(2 * (k + 1) - 1)) <= w;
  lemma Up_Strict: \forall integer w, e, r, rem, lower, k; TwiceOneOf(r, k) &&
    (rem != 0 || lower != 0) && RootFloor(w, e, r, rem, lower) ==>
    Shift4(e, Square(2 * (k + 1) - 1)) < w;
  lemma Low32_From: \forall integer w, e, root, rem, lower; 16777216 <= root &&
    RootFloor(w, e, root, rem, lower) ==> AtLeast(w, e, 281474976710656);
  lemma Low64_From: \forall integer w, e, root, rem, lower; 9007199254740992 <= root &&
    RootFloor(w, e, root, rem, lower) ==> AtLeast(w, e, 81129638414606681695789005144064);

  // patterns
  lemma Quarter_Less: \forall integer e, x, y; 1 <= e && y <= 4 * x ==>
    Shift4(e - 1, y) <= Shift4(e, x);
  lemma Quarter_Up: \forall integer e; 0 <= e ==> \forall integer x, y; y < 4 * x ==>
    Shift4(e, y) < Shift4(e + 1, x);
  lemma Quarter_Strict: \forall integer e, x, y; 1 <= e && y < 4 * x ==>
    Shift4(e - 1, y) < Shift4(e, x);
  lemma Low32_Quarter: \forall integer w, e; 1 <= e && AtLeast(w, e, 281474976710656) ==>
    AtLeast(w, e - 1, Square(33554431));
  lemma Low64_Quarter: \forall integer w, e; 1 <= e &&
    AtLeast(w, e, 81129638414606681695789005144064) ==>
    AtLeast(w, e - 1, Square(18014398509481983));
  lemma Carried_Above32: \forall integer f, g; 0 <= f && PlusOf(g, f, 1) ==>
    Shift4(f, Square(33554433)) < Shift4(g, Square(16777217));
  lemma Power4_Higher: \forall integer f; 0 <= f ==> \forall integer e, x; 0 <= e <= f && 0 <= x ==>
    Shift4(e, x) <= Shift4(f, x);
  lemma Pattern32_Parts: \forall integer bits, e, m; Pattern32(bits, e, m) ==>
    Exp32(bits) == e && Mant32(bits) == m && 0 <= bits < 2139095040 && bits % 2 == m % 2;
  lemma Pattern32_Before: \forall integer bits, e, m; Pattern32(bits, e, m) && 1 <= m &&
    (m != 8388608 || e == 0) ==> Pattern32(bits - 1, e, m - 1);
  lemma Pattern32_Low: \forall integer bits, e; Pattern32(bits, e, 8388608) && 1 <= e ==>
    Pattern32(bits - 1, e - 1, 16777215);
  lemma Half32_Of: \forall integer bits, e, m; Pattern32(bits, e, m) ==>
    Halfway32(bits) == Shift4(e + 64, Square(2 * m + 1));
  lemma Half32_Before: \forall integer bits, e, m; Pattern32(bits, e, m) && 1 <= m &&
    (m != 8388608 || e == 0) ==> Halfway32(bits - 1) == Shift4(e + 64, Square(2 * m - 1));
  lemma Half32_Low: \forall integer bits, e; Pattern32(bits, e, 8388608) && 1 <= e ==>
    Halfway32(bits - 1) == Shift4(e + 63, Square(33554431));
  lemma Half32_Largest: Halfway32(2139095039) == Shift4(317, Square(33554431));
  lemma Pattern64_Parts: \forall integer bits, e, m; Pattern64(bits, e, m) ==>
    Exponent64(bits) == e + 862 && Significand64(bits) == m && bits % 2 == m % 2;
  lemma Half64_Of: \forall integer bits, e, m; Pattern64(bits, e, m) ==>
    Halfway64(bits) == Shift4(e, Square(2 * m + 1));
  lemma Half64_Before: \forall integer bits, e, m; Pattern64(bits, e, m) &&
    m != 4503599627370496 ==> Halfway64(bits - 1) == Shift4(e, Square(2 * m - 1));
  lemma Half64_Low: \forall integer bits, e; Pattern64(bits, e, 4503599627370496) && 12 <= e ==>
    Halfway64(bits - 1) == Shift4(e - 1, Square(18014398509481983));
  lemma Round32_Zero: \forall integer w, f; f <= 64 && 64 <= f && NearestRoot(w, f, 0) ==>
    RootOf32(w, 0);
  lemma Round32_Same: \forall integer w, bits, e, f, m; Pattern32(bits, e, m) && 1 <= m &&
    (m != 8388608 || e == 0) && PlusOf(f, e, 64) && NearestRoot(w, f, m) ==> RootOf32(w, bits);
  lemma Round32_Low: \forall integer w, bits, e, f; Pattern32(bits, e, 8388608) && 1 <= e &&
    PlusOf(f, e, 64) && NearestRoot(w, f, 8388608) && AtLeast(w, f - 1, Square(33554431)) ==>
    RootOf32(w, bits);
  lemma Round32_CarriedBelow: \forall integer w, f; NearestRoot(w, f, 16777216) ==>
    Shift4(f, Square(33554431)) <= w <= Shift4(f, Square(33554433));
*/
#endif
