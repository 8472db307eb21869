/* The integer square root digit by digit: the state of ref/num/norm.c. ACSL only.
 * spec: NORM-1, NORM-2
 */
#ifndef ZP_SPEC_ACSL_NORM_ROOT_H
#define ZP_SPEC_ACSL_NORM_ROOT_H
#include "norm.h"

/*@
  // facts that select an instance of a lemma
  predicate FourOf(integer y, integer x) = y == 4 * x;
  predicate PlusOf(integer f, integer e, integer k) = f == e + k;
  predicate TwiceOf(integer r, integer k) = r == 2 * k;
  predicate TwiceOneOf(integer r, integer k) = r == 2 * k + 1;
  predicate WordOf(integer y, integer t, integer v) =
    0 <= v < 4294967296 && y == 4294967296 * t + v;
  predicate DigitOf(integer l, integer i, integer d) = 0 <= i && 0 <= d && l == 16 * i + d;
  predicate AtLeast(integer w, integer e, integer x) = Shift4(e, x) <= w;

  // x is floor(w / 4^e), and lower is 1 iff w has non-zero digits below 4^e
  predicate FloorOf(integer w, integer e, integer x, integer lower) =
    0 <= e && Shift4(e, x) <= w < Shift4(e, x) + Shift4(e, 1) &&
    (lower == 0 <==> w == Shift4(e, x));
  // the same for v while its part `rest` is not processed
  predicate DigitsExtracted(integer v, integer rest, integer last, integer t, integer lower) =
    0 <= last && Shift4(last, t) + rest <= v < Shift4(last, t) + Shift4(last, 1) &&
    (lower == 0 <==> v == Shift4(last, t) + rest);
  // word x at limb i is the next word of the rest
  predicate RestOf(integer rest, integer s, integer i, integer x) =
    0 <= i && 0 <= x < 4294967296 && 0 <= s < Shift32(i, 1) && rest == s + Shift32(i, x);
  // root is floor(sqrt(w / 4^e)), rem the remainder
  predicate RootFloor(integer w, integer e, integer root, integer rem, integer lower) =
    0 <= rem <= 2 * root && FloorOf(w, e, Square(root) + rem, lower);

  // m * 2^e is a multiple of 2^e nearest to sqrt(w / 4), the even one of two
  predicate NearestRoot(integer w, integer e, integer m) =
    w <= Shift4(e, Square(2 * m + 1)) &&
    (w == Shift4(e, Square(2 * m + 1)) ==> m % 2 == 0) &&
    (1 <= m ==> Shift4(e, Square(2 * m - 1)) <= w) &&
    (1 <= m && w == Shift4(e, Square(2 * m - 1)) ==> m % 2 == 0);

  // patterns
  predicate Pattern32(integer bits, integer e, integer m) = 0 <= e <= 253 &&
    0 <= m < 16777216 && (1 <= e ==> 8388608 <= m) && bits == 8388608 * e + m;
  predicate Pattern64(integer bits, integer e, integer m) = 11 <= e <= 1100 &&
    4503599627370496 <= m < 9007199254740992 && bits == 4503599627370496 * (e + 861) + m;
*/
#endif
