/* Limbs from s on, for lemmas that the code does not include. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_FROM_STEPS_H
#define ZP_SPEC_ACSL_VALUE_FROM_STEPS_H
#include "value_sums.h"

/*@
  lemma Shift32_Difference: \forall integer q, x, y; 0 <= q ==>
    Shift32(q, x) == Shift32(q, y) + Shift32(q, x - y);
  lemma From_LastStep{L1,L2}: \forall int64_t *a, integer s, n; 1 <= n &&
    (\forall integer k; s <= k < s + n - 1 ==> \at(a[k],L2) == \at(a[k],L1)) ==>
    LimbSumFrom{L2}(a, s, n) == LimbSumFrom{L1}(a, s, n - 1) +
      Shift32(n - 1, \at(a[s + n - 1],L2));
  lemma From_UpdatedLast{L1,L2}: \forall int64_t *a, integer s, n; 1 <= n &&
    (\forall integer k; s <= k < s + n - 1 ==> \at(a[k],L2) == \at(a[k],L1)) ==>
    LimbSumFrom{L2}(a, s, n) == LimbSumFrom{L1}(a, s, n) +
      Shift32(n - 1, \at(a[s + n - 1],L2) - \at(a[s + n - 1],L1));
  lemma From_Step{L}: \forall integer n; 1 <= n ==> \forall int64_t *a, integer s;
    LimbSum(a + s, n) == LimbSum(a + s, n - 1) + Shift32(n - 1, a[s + n - 1]);
  lemma Canonical_Last{L}: \forall int64_t *a, integer s, n; 1 <= n && Canonical(a + s, n) ==>
    0 <= a[s + n - 1] < 4294967296 && Canonical(a + s, n - 1) &&
    LimbSum(a + s, n) == LimbSum(a + s, n - 1) + Shift32(n - 1, a[s + n - 1]);
  lemma SettledFrom_Next{L}: \forall int64_t *a, integer s, n; 1 <= n &&
    SettledFrom(a, s, n - 1) && 0 <= a[s + n - 1] < 4294967296 ==> SettledFrom(a, s, n);
  lemma OneUpdated_Top{L1,L2}: \forall int64_t *a, integer s, n, q, d;
    OneUpdated{L1,L2}(a, s, n, q, d) && s + n - 1 <= q ==>
    q == s + n - 1 && \at(a[s + n - 1],L2) - \at(a[s + n - 1],L1) == d;
  lemma OneUpdated_Less{L1,L2}: \forall int64_t *a, integer s, n, q, d;
    OneUpdated{L1,L2}(a, s, n, q, d) && q < s + n - 1 ==>
    OneUpdated{L1,L2}(a, s, n - 1, q, d) && \at(a[s + n - 1],L2) == \at(a[s + n - 1],L1);
  lemma OneUpdated_Last{L1,L2}: \forall int64_t *a, integer s, n, q, d;
    OneUpdated{L1,L2}(a, s, n, q, d) && s + n - 1 <= q ==>
    LimbSumFrom{L2}(a, s, n) == LimbSumFrom{L1}(a, s, n) + Shift32(n - 1, d);
*/
#endif
