/* Halves between patterns lie in the order of the patterns, for quotients: for the lemmas of
 * norm_unique.h. A pattern q's lower half is the upper half of q - 1. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_NORM_UNIQUE_QUOTIENT_H
#define ZP_SPEC_ACSL_NORM_UNIQUE_QUOTIENT_H
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
    Shift2(e, y) < 2 * Shift2(e, x);
  lemma Order_QuotientInside: \forall integer e, m, k, n; 0 < n && 0 <= e && 0 <= m &&
    k == m + 1 ==> Shift2(e, Times(2 * m + 1, n)) < Shift2(e, Times(2 * k + 1, n));
  lemma Order_QuotientTwice: \forall integer m, k, n; 0 < n && 1 <= k && m == 2 * k - 1 ==>
    Times(2 * m + 1, n) < 2 * Times(2 * k + 1, n);
  lemma Order_Doubled: \forall integer e, f, x; 0 <= e && f == e + 1 ==>
    Shift2(f, x) == 2 * Shift2(e, x);
  lemma Order_QuotientCarried: \forall integer e, m, k, n; 0 < n && 0 <= e && 1 <= k &&
    m == 2 * k - 1 ==> Shift2(e, Times(2 * m + 1, n)) < 2 * Shift2(e, Times(2 * k + 1, n));
  lemma Order_QuotientStepInside: \forall integer e, m, f, k, n; 0 < n && 0 <= e && 0 <= m &&
    NextInside(e, m, f, k) ==> Shift2(e, Times(2 * m + 1, n)) < Shift2(f, Times(2 * k + 1, n));
  lemma Order_QuotientUp: \forall integer e, m, f, k, half, n; 0 <= e && 1 <= half &&
    NextCarried(e, m, f, k, half) ==>
    Shift2(f, Times(2 * k + 1, n)) == 2 * Shift2(e, Times(2 * k + 1, n));
  lemma Order_QuotientStepCarried: \forall integer e, m, f, k, half, n; 0 < n && 0 <= e &&
    1 <= half && NextCarried(e, m, f, k, half) ==>
    Shift2(e, Times(2 * m + 1, n)) < Shift2(f, Times(2 * k + 1, n));
  lemma Order_NextQuotient: \forall integer n, q; 0 < n && 1 <= q < 2139095040 ==>
    HalfQuotient(n, q - 1) < HalfQuotient(n, q);
  lemma Order_FarQuotient: \forall integer n, p, q; 0 < n && 0 <= p < q < 2139095040 &&
    (p < q - 1 ==> HalfQuotient(n, p) < HalfQuotient(n, q - 1)) ==>
    HalfQuotient(n, p) < HalfQuotient(n, q);
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
  lemma Order_Largest: \forall integer n;
    HalfQuotient(n, 2139095039) == Shift2(253, Times(33554431, n));
  lemma Sides_Large: \forall integer w, n; Shift2(253, Times(33554431, n)) <= 2 * w ==>
    QuotientSides(w, n, 2139095040);
  lemma Sides_Of: \forall integer w, n, a; RoundedMagnitude(w, n, a) ==> QuotientSides(w, n, a);
  lemma Sides_NotLess: \forall integer w, n, a, b; 0 < n && QuotientSides(w, n, a) &&
    QuotientSides(w, n, b) ==> !(a < b);
*/
#endif
