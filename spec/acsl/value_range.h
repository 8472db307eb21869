/* The range of a pattern's value. ACSL only.
 * spec: SUM-5
 */
#ifndef ZP_SPEC_ACSL_VALUE_RANGE_H
#define ZP_SPEC_ACSL_VALUE_RANGE_H
#include "value_sums.h"

/*@
  lemma Value32_Range: \forall integer u; 0 <= u <= 4294967295 ==>
    -Shift32(8, 2097152) <= Value32(u) <= Shift32(8, 2097152);
*/
#endif
