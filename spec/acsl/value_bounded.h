/* Bounds of an element after one more addition and after carrying, for the code of exact values.
 * ACSL only.
 * spec: SUM-6
 */
#ifndef ZP_SPEC_ACSL_VALUE_BOUNDED_H
#define ZP_SPEC_ACSL_VALUE_BOUNDED_H
#include "value_range.h"

/*@
  lemma ElementBounded_Step{L1,L2}: \forall int64_t *limbs, integer i, k, c, u;
    0 <= u <= 4294967295 && 0 <= k && 0 <= c && ElementBounded{L1}(limbs, i, k, c) &&
    (\forall integer j; 9 * i <= j < 9 * i + 8 ==>
      -4294967296 < \at(limbs[j],L2) - \at(limbs[j],L1) < 4294967296) &&
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i) + Value32(u) ==>
    ElementBounded{L2}(limbs, i, k + 1, c + 1);
  lemma ElementBounded_Settled{L1,L2}: \forall int64_t *limbs, integer i, k, c;
    ElementBounded{L1}(limbs, i, k, c) && ElementSettled{L2}(limbs, i) &&
    ElementSum{L2}(limbs, i) == ElementSum{L1}(limbs, i) ==> ElementBounded{L2}(limbs, i, 0, c);
*/
#endif
