/* Processing digits, for ref/num/norm.c. ACSL only.
 * spec: NORM-1, NORM-2
 */
#ifndef ZP_SPEC_ACSL_NORM_FLOOR_H
#define ZP_SPEC_ACSL_NORM_FLOOR_H
#include "norm_root.h"

/*@
  // within a word
  lemma Digit_Extracted: \forall integer e; 0 <= e ==> \forall integer x, y; FourOf(y, x) ==>
    Shift4(e + 1, x) == Shift4(e, y);
  lemma Word_Extracted4: \forall integer w, d, t, v, y; 0 <= d && WordOf(y, t, v) &&
    Shift4(d, y) == Shift4(16, w) ==> FloorOf(w, d, t, v);

  // words
  lemma Floor_Limb: \forall integer l, i, d, w, t, left; DigitOf(l, i, d) &&
    FloorOf(w, d, t, left) ==> Shift4(l, t) <= Shift32(i, w) &&
    Shift32(i, w) + Shift32(i, 1) <= Shift4(l, t) + Shift4(l, 1) &&
    (left == 0 <==> Shift32(i, w) == Shift4(l, t));
  lemma Digits_Joined: \forall integer l, i, t, x, y; 0 <= i && WordOf(y, t, x) &&
    DigitOf(l, i, 16) ==> Shift4(l, t) + Shift32(i, x) == Shift32(i, y);
  lemma Digits_Word: \forall integer v, rest, s, i, x, f, t, y, l, d, u, left;
    RestOf(rest, s, i, x) && DigitOf(f, i, 16) && DigitsExtracted(v, rest, f, t, 0) &&
    WordOf(y, t, x) && DigitOf(l, i, d) && FloorOf(y, d, u, left) ==>
    DigitsExtracted(v, s, l, u, left);
  lemma Digits_Stopped: \forall integer v, rest, s, i, x, last, t, lower, more;
    RestOf(rest, s, i, x) && DigitsExtracted(v, rest, last, t, lower) &&
    (more == 0 <==> lower == 0 && x == 0) ==> DigitsExtracted(v, s, last, t, more);
  lemma Digits_Start: \forall integer l, i, v; DigitOf(l, i, 0) && 0 <= v < Shift32(i, 1) ==>
    DigitsExtracted(v, v, l, 0, 0);
  lemma Digits_End: \forall integer v, last, t, lower; DigitsExtracted(v, 0, last, t, lower) ==>
    FloorOf(v, last, t, lower);

  // zero digits below the last
  lemma Floor_Scaled: \forall integer k, w, z, e, f, t, lower; 0 <= k && FloorOf(w, e, t, lower) &&
    PlusOf(f, e, k) && z <= Shift4(k, w) && Shift4(k, w) <= z ==> FloorOf(z, f, t, lower);
  lemma Floor_Digit: \forall integer w, e, x, y; 1 <= e && FourOf(y, x) && FloorOf(w, e, x, 0) ==>
    FloorOf(w, e - 1, y, 0);
*/
#endif
