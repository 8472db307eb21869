/* Cases of rounding, for the lemma of value_rounding.h. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_HALF_STEPS_H
#define ZP_SPEC_ACSL_VALUE_HALF_STEPS_H
#include "value_sums.h"

/*@
  lemma Quotient_Down: \forall integer w, e, n, q, rem, lower; 0 < n && q % 2 == 0 &&
    QuotientFloor(w, e, n, q, rem, lower) ==> NearestQuotient(w, n, e, q / 2);
  lemma Quotient_Up: \forall integer w, e, n, q, rem, lower; 0 < n && q % 2 == 1 &&
    (rem != 0 || lower != 0 || q / 2 % 2 == 1) &&
    QuotientFloor(w, e, n, q, rem, lower) ==> NearestQuotient(w, n, e, q / 2 + 1);
  lemma Quotient_Tie: \forall integer w, e, n, q; 0 < n && q % 2 == 1 && q / 2 % 2 == 0 &&
    QuotientFloor(w, e, n, q, 0, 0) ==> NearestQuotient(w, n, e, q / 2);
  // by the one extra bit
  lemma Quotient_Boundary: \forall integer w, e, n, q, rem, lower; 0 < n && 16777216 <= q &&
    QuotientFloor(w, e, n, q, rem, lower) ==> AboveBoundary(w, n, e);
  lemma Magnitude_Subnormal: \forall integer w, n, m; 0 < n && 0 <= m < 8388608 &&
    NearestQuotient(w, n, 0, m) ==> RoundedMagnitude(w, n, m);
  lemma Magnitude_Normal: \forall integer w, n, e, m; 0 < n && 0 <= e < 254 &&
    8388608 <= m < 16777216 && NearestQuotient(w, n, e, m) && AboveBoundary(w, n, e) ==>
    RoundedMagnitude(w, n, 8388608 * e + m);
  lemma Magnitude_Carried: \forall integer w, n, e; 0 < n && 0 <= e < 253 &&
    NearestQuotient(w, n, e, 16777216) ==> RoundedMagnitude(w, n, 8388608 * e + 16777216);
  lemma Magnitude_Large: \forall integer w, n, e; 0 < n && 254 <= e && AboveBoundary(w, n, e) ==>
    RoundedMagnitude(w, n, 2139095040);
  lemma Magnitude_LargeCarried: \forall integer w, n; 0 < n &&
    NearestQuotient(w, n, 253, 16777216) ==> RoundedMagnitude(w, n, 2139095040);
*/
#endif
