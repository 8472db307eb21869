/* Rounding a root, for ref/num/norm.c. ACSL only.
 * spec: NORM-1, NORM-2
 */
#ifndef ZP_SPEC_ACSL_NORM_ROUND_H
#define ZP_SPEC_ACSL_NORM_ROUND_H
#include "norm_root.h"

/*@
  // the root's last bit is the half
  lemma Root_Down: \forall integer w, e, r, rem, lower, k; TwiceOf(r, k) &&
    RootFloor(w, e, r, rem, lower) ==> NearestRoot(w, e, k);
  lemma Root_Up: \forall integer w, e, r, rem, lower, k; TwiceOneOf(r, k) &&
    (rem != 0 || lower != 0 || k % 2 == 1) && RootFloor(w, e, r, rem, lower) ==>
    NearestRoot(w, e, k + 1);
  lemma Root_Tie: \forall integer w, e, r, rem, lower, k; TwiceOneOf(r, k) && k % 2 == 0 &&
    rem == 0 && lower == 0 && RootFloor(w, e, r, rem, lower) ==> NearestRoot(w, e, k);

  // no digit below the last one was used
  lemma Root_Nothing: \forall integer v, root, rem; 0 <= root < 9007199254740992 &&
    RootFloor(Scaled(v), 12, root, rem, 0) ==> v <= 0;
  lemma Root_Something: \forall integer v, e, root, rem, lower; 1 <= root &&
    RootFloor(Scaled(v), e, root, rem, lower) ==> 0 < v;

  // below a power of two, by the one extra bit
  lemma Root_Low32: \forall integer w, e, root, rem, lower; 1 <= e && 16777216 <= root &&
    RootFloor(w, e, root, rem, lower) ==> AtLeast(w, e - 1, Square(33554431));
  lemma Root_Low64: \forall integer w, e, root, rem, lower; 1 <= e && 9007199254740992 <= root &&
    RootFloor(w, e, root, rem, lower) ==> AtLeast(w, e - 1, Square(18014398509481983));
*/

/*@
  // patterns
  lemma Round32_Inside: \forall integer w, bits, e, f, m; Pattern32(bits, e, m) &&
    PlusOf(f, e, 64) && NearestRoot(w, f, m) &&
    (1 <= e ==> AtLeast(w, f - 1, Square(33554431))) ==> RootOf32(w, bits);
  lemma Round32_Carried: \forall integer w, bits, e, f; 1 <= e && Pattern32(bits, e, 8388608) &&
    PlusOf(f, e, 63) && NearestRoot(w, f, 16777216) ==> RootOf32(w, bits);
  lemma Round32_Large: \forall integer w, f; 317 <= f && AtLeast(w, f, Square(33554431)) ==>
    RootOf32(w, 2139095040);
  lemma Round32_LargeCarried: \forall integer w; NearestRoot(w, 317, 16777216) ==>
    RootOf32(w, 2139095040);
  lemma Round64_Inside: \forall integer w, bits, e, m; 12 <= e && Pattern64(bits, e, m) &&
    NearestRoot(w, e, m) && AtLeast(w, e - 1, Square(18014398509481983)) ==> RootOf64(w, bits);
  lemma Round64_Carried: \forall integer w, bits, e, f; 12 <= f && PlusOf(e, f, 1) &&
    Pattern64(bits, e, 4503599627370496) && NearestRoot(w, f, 9007199254740992) ==>
    RootOf64(w, bits);
*/
#endif
