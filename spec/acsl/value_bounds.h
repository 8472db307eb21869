/* Bounds of an element's limbs, for the code of exact values. ACSL only.
 * spec: SUM-6
 */
#ifndef ZP_SPEC_ACSL_VALUE_BOUNDS_H
#define ZP_SPEC_ACSL_VALUE_BOUNDS_H
#include "bounds.h"
#include "value_range.h"

/*@
  lemma ElementBounded_Small{L}: \forall int64_t *limbs, integer i, k, c;
    0 <= k <= 1073741824 && 0 <= c <= ZP_LIMIT_CONTRIBUTIONS && ElementBounded(limbs, i, k, c) ==>
    LimbsSmall(limbs, 9 * i, 9 * i + 9, 9223372028264841216);
*/
#endif
