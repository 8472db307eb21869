/* Squares halfway between patterns lie in the order of the patterns: for the lemmas of
 * norm_unique.h. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_NORM_UNIQUE_STEPS_H
#define ZP_SPEC_ACSL_NORM_UNIQUE_STEPS_H
#include "norm_powers.h"
#include "norm_unique_quotient.h"

/*@
  lemma Order_Parts64: \forall integer q; 1 <= q ==>
    NextInside(Exponent64(q - 1), Significand64(q - 1), Exponent64(q), Significand64(q)) ||
    NextCarried(Exponent64(q - 1), Significand64(q - 1), Exponent64(q), Significand64(q),
      4503599627370496);
*/

/*@
  // roots; 3882102878793367552 is the first pattern with exponent 862
  lemma Order_Square: \forall integer m; 0 <= m ==> Square(2 * m + 1) < Square(2 * (m + 1) + 1);
  lemma Order_SquareCarried: \forall integer m, k; 1 <= k && m == 2 * k - 1 ==>
    Square(2 * m + 1) < 4 * Square(2 * k + 1);
  lemma Order_Quarter: \forall integer e; 0 <= e ==> \forall integer x, y; y < 4 * x ==>
    Shift4(e, y) < 4 * Shift4(e, x);
  lemma Order_Raised: \forall integer e, f, x; 0 <= e && f == e + 1 ==>
    Shift4(f, x) == 4 * Shift4(e, x);
  lemma Order_Inside: \forall integer e, m, k; 0 <= e && 0 <= m && k == m + 1 ==>
    Shift4(e, Square(2 * m + 1)) < Shift4(e, Square(2 * k + 1));
  lemma Order_Carried: \forall integer e, m, k; 0 <= e && 1 <= k && m == 2 * k - 1 ==>
    Shift4(e, Square(2 * m + 1)) < 4 * Shift4(e, Square(2 * k + 1));
  lemma Order_StepInside: \forall integer e, m, f, k; 0 <= e && 0 <= m &&
    NextInside(e, m, f, k) ==> Shift4(e, Square(2 * m + 1)) < Shift4(f, Square(2 * k + 1));
  lemma Order_StepUp: \forall integer e, m, f, k, half; 0 <= e && 1 <= half &&
    NextCarried(e, m, f, k, half) ==>
    Shift4(f, Square(2 * k + 1)) == 4 * Shift4(e, Square(2 * k + 1));
  lemma Order_StepCarried: \forall integer e, m, f, k, half; 0 <= e && 1 <= half &&
    NextCarried(e, m, f, k, half) ==>
    Shift4(e, Square(2 * m + 1)) < Shift4(f, Square(2 * k + 1));
  lemma Order_Moved32: \forall integer q; 1 <= q < 2139095040 ==>
    NextInside(Exp32(q - 1) + 64, Mant32(q - 1), Exp32(q) + 64, Mant32(q)) ||
    NextCarried(Exp32(q - 1) + 64, Mant32(q - 1), Exp32(q) + 64, Mant32(q), 8388608);
  lemma Order_Moved64: \forall integer q; 1 <= q ==>
    NextInside(Exponent64(q - 1) - 862, Significand64(q - 1), Exponent64(q) - 862,
      Significand64(q)) ||
    NextCarried(Exponent64(q - 1) - 862, Significand64(q - 1), Exponent64(q) - 862,
      Significand64(q), 4503599627370496);
  lemma Order_Next32: \forall integer q; 1 <= q < 2139095040 ==> Halfway32(q - 1) < Halfway32(q);
  lemma Order_Next64: \forall integer q; 3882102878793367552 < q ==>
    Halfway64(q - 1) < Halfway64(q);
  lemma Order_Far32: \forall integer p, q; 0 <= p < q < 2139095040 &&
    (p < q - 1 ==> Halfway32(p) < Halfway32(q - 1)) ==> Halfway32(p) < Halfway32(q);
  lemma Order_Far64: \forall integer p, q; 3882102878793367552 <= p < q &&
    (p < q - 1 ==> Halfway64(p) < Halfway64(q - 1)) ==> Halfway64(p) < Halfway64(q);
  lemma Order_Less32: \forall integer q; 0 <= q ==> \forall integer p; 0 <= p < q < 2139095040 ==>
    Halfway32(p) < Halfway32(q);
  lemma Order_Less64: \forall integer q; 0 <= q ==> \forall integer p;
    3882102878793367552 <= p < q ==> Halfway64(p) < Halfway64(q);
  lemma Order_From64: \forall integer p; 874 <= Exponent64(p) ==> 3882102878793367552 < p;
  lemma Root64_NotLess: \forall integer w, p, q; RootOf64(w, p) && RootOf64(w, q) ==> !(p < q);
  lemma Root32_NotLess: \forall integer w, p, q; RootOf32(w, p) && RootOf32(w, q) ==> !(p < q);
*/

#endif
