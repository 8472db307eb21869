/* Products and neighbours, for lemmas of rounding that the code does not include. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_ROUND_STEPS_H
#define ZP_SPEC_ACSL_VALUE_ROUND_STEPS_H
#include "value_linear.h"

/*@
  lemma Times_Product: \forall integer q; 0 <= q ==> \forall integer n; Times(q, n) == q * n;
  lemma Times_NotLess: \forall integer q; 0 <= q ==> \forall integer p, n; 0 < n && 0 <= p <= q ==>
    Times(p, n) <= Times(q, n);
  lemma Times_Less: \forall integer q; 0 <= q ==> \forall integer p, n; 0 < n && 0 <= p < q ==>
    Times(p, n) + n <= Times(q, n);
  lemma Times_Even: \forall integer q; 0 <= q ==> \forall integer n;
    Times(2 * q, n) == 2 * Times(q, n);
  lemma Times_Odd: \forall integer q; 0 <= q ==> \forall integer n;
    Times(2 * q + 1, n) == 2 * Times(q, n) + n;
  lemma Times_Large: \forall integer n; Times(33554432, n) == 2 * Times(16777216, n) &&
    Times(33554434, n) == 2 * Times(16777217, n) && Times(33554430, n) == 2 * Times(16777215, n);
  lemma Carried_Above: \forall integer e, n; 0 <= e && 0 < n ==>
    Shift2(e, Times(33554433, n)) < Shift2(e + 1, Times(16777217, n));
  lemma Carried_Below: \forall integer e, n; 0 <= e && 0 < n ==>
    Shift2(e + 1, Times(16777215, n)) < Shift2(e, Times(33554431, n));
  lemma Boundary_Below: \forall integer e, n; 1 <= e && 0 < n ==>
    Shift2(e - 1, Times(33554431, n)) <= Shift2(e, Times(16777216, n));
  lemma Boundary_Floor: \forall integer e, n, q, x; 0 <= e && 0 < n && 16777216 <= q &&
    Times(q, n) <= x ==> Shift2(e, Times(16777216, n)) <= Shift2(e, x);
  lemma Nearest_Carried: \forall integer w, n, e; 0 < n && 0 <= e &&
    NearestQuotient(w, n, e, 16777216) ==>
    NearestQuotient(w, n, e + 1, 8388608) && AboveBoundary(w, n, e + 1);
  lemma Pattern_Normal: \forall integer a, e, m; 0 <= e < 254 && 8388608 <= m < 16777216 &&
    a <= 8388608 * e + m && 8388608 * e + m <= a ==>
    Exp32(a) == e && Mant32(a) == m && 0 <= a < 2139095040;
*/
#endif
