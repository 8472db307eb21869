/* Sums of limbs and of elements, for the code of exact values. ACSL only.
 * spec: SUM-5, SUM-6
 */
#ifndef ZP_SPEC_ACSL_VALUE_FROM_H
#define ZP_SPEC_ACSL_VALUE_FROM_H
#include "value_sums.h"

/*@
  lemma LimbSumFrom_Update{L1,L2}: \forall integer n; 0 <= n ==>
    \forall int64_t *a, integer s, q, d; OneUpdated{L1,L2}(a, s, n, q, d) ==>
    LimbSumFrom{L2}(a, s, n) == LimbSumFrom{L1}(a, s, n) + Shift32(q - s, d);
  lemma LimbSumFrom_Shift{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer s;
    LimbSumFrom(a, s, n) == LimbSum(a + s, n);
  lemma LimbSumFrom_Zero{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    LimbSumFrom(a, 0, n) == LimbSum(a, n);
  lemma ElementSum_First{L}: \forall int64_t *a; ElementSum(a, 0) == LimbSum(a, 9);
  lemma SettledFrom_Canonical{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer s;
    Canonical(a + s, n) ==> SettledFrom(a, s, n);
  lemma ElementSum_Limbs{L}: \forall int64_t *limbs, integer i;
    ElementSum(limbs, i) == LimbSum(limbs + 9 * i, 9);
  lemma ElementSum_Frame{L1,L2}: \forall int64_t *limbs, integer i;
    (\forall integer k; 9 * i <= k < 9 * i + 9 ==> \at(limbs[k],L2) == \at(limbs[k],L1)) ==>
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i);
*/
#endif
