/* Carried limbs are unique. ACSL only.
 * spec: SUM-6
 */
#ifndef ZP_SPEC_ACSL_VALUE_UNIQUE_H
#define ZP_SPEC_ACSL_VALUE_UNIQUE_H
#include "value_sums.h"

/*@
  lemma Element_Unique{L1,L2}: \forall int64_t *a, *b, integer i, j;
    ElementSettled{L1}(a, i) && ElementSettled{L2}(b, j) &&
    ElementSum{L1}(a, i) == ElementSum{L2}(b, j) ==> SameElement{L1,L2}(a, i, b, j);
*/
#endif
