/* Opposite sums, for the code of exact values. ACSL only.
 * spec: SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_OPPOSITE_H
#define ZP_SPEC_ACSL_VALUE_OPPOSITE_H
#include "value_sums.h"

/*@
  lemma Shift32_Opposite: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q, -x) == -Shift32(q, x);
  lemma LimbSum_Opposite{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> \at(a[j],L2) == -\at(a[j],L1)) ==>
    LimbSum{L2}(a, n) == -LimbSum{L1}(a, n);
*/
#endif
