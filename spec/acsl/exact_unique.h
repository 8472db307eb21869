/* Carried limbs are unique: two vectors of limbs of one value, all limbs canonical except possibly
 * the top one, are equal limb by limb. ACSL only.
 * spec: SUM-3, SUM-6
 */
#ifndef ZP_SPEC_ACSL_EXACT_UNIQUE_H
#define ZP_SPEC_ACSL_EXACT_UNIQUE_H
#include "exact_bounds.h"

/*@
  // the same limbs at two addresses
  predicate LimbsEqual{L1,L2}(int64_t *a, int64_t *b, integer n) =
    \forall integer i; 0 <= i < n ==> \at(a[i],L1) == \at(b[i],L2);

  lemma Unique_Last{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    LimbSum(a, n + 1) == LimbSum(a, n) + Shift32(n, a[n]);
  lemma Unique_Top{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a, *b;
    Canonical{L1}(a, n) && Canonical{L2}(b, n) &&
    LimbSum{L1}(a, n + 1) == LimbSum{L2}(b, n + 1) ==>
    \at(a[n],L1) == \at(b[n],L2) && LimbSum{L1}(a, n) == LimbSum{L2}(b, n);
  lemma Unique_Down{L1,L2}: \forall integer n; 1 <= n ==> \forall int64_t *a, *b;
    Canonical{L1}(a, n) && Canonical{L2}(b, n) && LimbSum{L1}(a, n) == LimbSum{L2}(b, n) ==>
    Canonical{L1}(a, n - 1) && Canonical{L2}(b, n - 1) &&
    LimbSum{L1}(a, n - 1) == LimbSum{L2}(b, n - 1) && \at(a[n - 1],L1) == \at(b[n - 1],L2);
  lemma Unique_Up{L1,L2}: \forall integer n; 1 <= n ==> \forall int64_t *a, *b;
    LimbsEqual{L1,L2}(a, b, n - 1) && \at(a[n - 1],L1) == \at(b[n - 1],L2) ==>
    LimbsEqual{L1,L2}(a, b, n);
  lemma Canonical_Unique{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a, *b;
    Canonical{L1}(a, n) && Canonical{L2}(b, n) && LimbSum{L1}(a, n) == LimbSum{L2}(b, n) ==>
    LimbsEqual{L1,L2}(a, b, n);
  lemma Settled_Unique{L1,L2}: \forall integer n; 1 <= n ==> \forall int64_t *a, *b;
    Canonical{L1}(a, n - 1) && Canonical{L2}(b, n - 1) && LimbSum{L1}(a, n) == LimbSum{L2}(b, n) ==>
    LimbsEqual{L1,L2}(a, b, n);
*/

#endif
