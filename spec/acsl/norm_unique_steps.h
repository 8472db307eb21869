/* Halves between patterns lie in the order of the patterns: for the lemmas of norm_unique.h. A pattern
 * q's lower half is the upper half of q - 1. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_NORM_UNIQUE_STEPS_H
#define ZP_SPEC_ACSL_NORM_UNIQUE_STEPS_H
#include "norm_powers.h"
#include "value_linear.h"

/*@
  // of the next pattern, either the significand is one more or the exponent is
  predicate NextInside(integer e, integer m, integer f, integer k) = f == e && k == m + 1;
  predicate NextCarried(integer e, integer m, integer f, integer k, integer half) =
    f == e + 1 && m == 2 * half - 1 && k == half;

  lemma Order_Parts32: \forall integer q; 1 <= q < 2139095040 ==>
    NextInside(Exp32(q - 1), Mant32(q - 1), Exp32(q), Mant32(q)) ||
    NextCarried(Exp32(q - 1), Mant32(q - 1), Exp32(q), Mant32(q), 8388608);
  lemma Order_Range32: \forall integer q; 0 <= q ==> 0 <= Exp32(q) && 0 <= Mant32(q);
  lemma Order_Parts64: \forall integer q; 1 <= q ==>
    NextInside(Exponent64(q - 1), Significand64(q - 1), Exponent64(q), Significand64(q)) ||
    NextCarried(Exponent64(q - 1), Significand64(q - 1), Exponent64(q), Significand64(q),
      4503599627370496);
*/

/*@
  // roots; 3882102878793367552 is the first pattern with exponent 862
  lemma Order_Square: \forall integer m; 0 <= m ==> Square(2 * m + 1) < Square(2 * (m + 1) + 1);
  lemma Order_Quarter: \forall integer e; 0 <= e ==> \forall integer x, y; y < 4 * x ==>
    Shift4(e, y) < Shift4(e + 1, x);
  lemma Order_Inside: \forall integer e, m, f, k; 0 <= e && 0 <= m && NextInside(e, m, f, k) ==>
    Shift4(e, Square(2 * m + 1)) < Shift4(f, Square(2 * k + 1));
  lemma Order_Carried: \forall integer e, m, f, k, half; 0 <= e && 1 <= half &&
    NextCarried(e, m, f, k, half) ==>
    Square(2 * m + 1) < 4 * Square(2 * k + 1) &&
    Shift4(e, Square(2 * m + 1)) < Shift4(f, Square(2 * k + 1));
  lemma Order_Next32: \forall integer q; 1 <= q < 2139095040 ==> Halfway32(q - 1) < Halfway32(q);
  lemma Order_Next64: \forall integer q; 3882102878793367552 < q ==>
    Halfway64(q - 1) < Halfway64(q);
  lemma Order_Less32: \forall integer q; 0 <= q ==> \forall integer p; 0 <= p < q < 2139095040 ==>
    Halfway32(p) < Halfway32(q);
  lemma Order_Less64: \forall integer q; 0 <= q ==> \forall integer p;
    3882102878793367552 <= p < q ==> Halfway64(p) < Halfway64(q);
  lemma Order_From64: \forall integer p; 874 <= Exponent64(p) ==> 3882102878793367552 < p;
  lemma Root64_NotLess: \forall integer w, p, q; RootOf64(w, p) && RootOf64(w, q) ==> !(p < q);
  lemma Root32_NotLess: \forall integer w, p, q; RootOf32(w, p) && RootOf32(w, q) ==> !(p < q);
*/

/*@
  // quotients
  logic integer HalfQuotient(integer n, integer a) =
    Shift2(Exp32(a), Times(2 * Mant32(a) + 1, n));
  predicate QuotientSides(integer w, integer n, integer a) = 0 <= a <= 2139095040 &&
    (1 <= a ==> HalfQuotient(n, a - 1) <= 2 * w) &&
    (1 <= a && 2 * w == HalfQuotient(n, a - 1) ==> a % 2 == 0) &&
    (a < 2139095040 ==> 2 * w <= HalfQuotient(n, a)) &&
    (a < 2139095040 && 2 * w == HalfQuotient(n, a) ==> a % 2 == 0);

  lemma Order_Twice: \forall integer q; 0 <= q ==> \forall integer n;
    Times(2 * q, n) == 2 * Times(q, n);
  lemma Order_Times: \forall integer q; 0 <= q ==> \forall integer n; 0 < n ==>
    Times(q, n) < Times(q + 2, n);
  lemma Order_Half: \forall integer e; 0 <= e ==> \forall integer x, y; y < 2 * x ==>
    Shift2(e, y) < Shift2(e + 1, x);
  lemma Order_QuotientInside: \forall integer e, m, f, k, n; 0 < n && 0 <= e && 0 <= m &&
    NextInside(e, m, f, k) ==>
    Shift2(e, Times(2 * m + 1, n)) < Shift2(f, Times(2 * k + 1, n));
  lemma Order_QuotientTwice: \forall integer half, n; 0 < n && 1 <= half ==>
    Times(4 * half - 1, n) < 2 * Times(2 * half + 1, n);
  lemma Order_QuotientCarried: \forall integer e, m, f, k, half, n; 0 < n && 0 <= e && 1 <= half &&
    NextCarried(e, m, f, k, half) ==>
    Shift2(e, Times(2 * m + 1, n)) < Shift2(f, Times(2 * k + 1, n));
  lemma Order_NextQuotient: \forall integer n, q; 0 < n && 1 <= q < 2139095040 ==>
    HalfQuotient(n, q - 1) < HalfQuotient(n, q);
  lemma Order_LessQuotient: \forall integer q; 0 <= q ==> \forall integer n, p; 0 < n &&
    0 <= p < q < 2139095040 ==> HalfQuotient(n, p) < HalfQuotient(n, q);
  lemma Order_Even32: \forall integer a; 0 <= a ==> a % 2 == Mant32(a) % 2;
  lemma Sides_Inside: \forall integer w, n, a; 1 <= a < 2139095040 &&
    NextInside(Exp32(a - 1), Mant32(a - 1), Exp32(a), Mant32(a)) &&
    NearestQuotient(w, n, Exp32(a), Mant32(a)) ==> QuotientSides(w, n, a);
  lemma Sides_Carried: \forall integer w, n, a; 1 <= a < 2139095040 &&
    NextCarried(Exp32(a - 1), Mant32(a - 1), Exp32(a), Mant32(a), 8388608) &&
    NearestQuotient(w, n, Exp32(a), Mant32(a)) && AboveBoundary(w, n, Exp32(a)) ==>
    QuotientSides(w, n, a);
  lemma Sides_Large: \forall integer w, n; Shift2(253, Times(33554431, n)) <= 2 * w ==>
    QuotientSides(w, n, 2139095040);
  lemma Sides_Of: \forall integer w, n, a; RoundedMagnitude(w, n, a) ==> QuotientSides(w, n, a);
  lemma Sides_NotLess: \forall integer w, n, a, b; 0 < n && QuotientSides(w, n, a) &&
    QuotientSides(w, n, b) ==> !(a < b);
*/
#endif
