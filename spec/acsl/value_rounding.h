/* Rounding of a quotient, for the code of exact means. ACSL only.
 * spec: SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_ROUNDING_H
#define ZP_SPEC_ACSL_VALUE_ROUNDING_H
#include "value_sums.h"

/*@
  lemma Half_Near: \forall integer w, e, n, q, rem, lower, m; 0 < n &&
    RoundedHalf(q, rem, lower, m) && QuotientFloor(w, e, n, q, rem, lower) ==>
    NearestQuotient(w, n, e, m);
  lemma Half_Range: \forall integer q, rem, lower, m; RoundedHalf(q, rem, lower, m) ==>
    0 <= m <= 16777216 && (16777216 <= q ==> 8388608 <= m) && (q < 16777216 ==> m <= 8388608);
  lemma Pattern_Subnormal: \forall integer w, n, m; 0 < n && 0 <= m <= 8388608 &&
    NearestQuotient(w, n, 0, m) ==> RoundedMagnitude(w, n, m);
  lemma Pattern_Near: \forall integer w, n, e, m; 0 < n && 0 <= e && 8388608 <= m <= 16777216 &&
    NearestQuotient(w, n, e, m) && AboveBoundary(w, n, e) ==>
    RoundedMagnitude(w, n, PatternOf(e, m));
  lemma Pattern_Rounded: \forall integer w, n, e, q, rem, lower, m; 0 < n && 0 <= e &&
    RoundedHalf(q, rem, lower, m) && (q < 16777216 ==> e == 0) &&
    QuotientFloor(w, e, n, q, rem, lower) ==> RoundedMagnitude(w, n, PatternOf(e, m));
*/
#endif
