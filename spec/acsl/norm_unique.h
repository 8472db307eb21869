/* A correctly rounded root and a correctly rounded quotient are unique: no two patterns are
 * roundings of one number. ACSL only.
 * spec: NORM-1, NORM-2, SUM-7
 */
#ifndef ZP_SPEC_ACSL_NORM_UNIQUE_H
#define ZP_SPEC_ACSL_NORM_UNIQUE_H
#include "norm.h"
#include "value_sums.h"

/*@
  lemma RoundedRoot64_Unique: \forall integer v, p, q; 0 <= v &&
    RoundedRoot64(v, p) && RoundedRoot64(v, q) ==> p == q;
  lemma RoundedRoot32_Unique: \forall integer v, p, q;
    RoundedRoot32(v, p) && RoundedRoot32(v, q) ==> p == q;
  lemma RoundedQuotient32_Unique: \forall integer v, n, p, q; 0 < n &&
    RoundedQuotient32(v, n, p) && RoundedQuotient32(v, n, q) ==> p == q;
*/
#endif
