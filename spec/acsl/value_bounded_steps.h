/* One more addition, for the lemma of value_bounded.h. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_BOUNDED_STEPS_H
#define ZP_SPEC_ACSL_VALUE_BOUNDED_STEPS_H
#include "value_linear.h"
#include "value_range.h"

/*@
  lemma SmallFrom_Step{L1,L2}: \forall int64_t *a, integer s, n, b, c; SmallFrom{L1}(a, s, n, b) &&
    b + 4294967296 <= c && (\forall integer j; s <= j < s + n ==>
      -4294967296 < \at(a[j],L2) - \at(a[j],L1) < 4294967296) ==> SmallFrom{L2}(a, s, n, c);
  lemma Shift32_AddOne: \forall integer x;
    Shift32(8, x + 2097152) == Shift32(8, x) + Shift32(8, 2097152);
  lemma Shift32_AddMore: \forall integer x, y; x + 2097152 <= y ==>
    Shift32(8, x) + Shift32(8, 2097152) <= Shift32(8, y);
  lemma Shift32_AddValue: \forall integer x, y, u; 0 <= u <= 4294967295 && x + 2097152 <= y ==>
    Shift32(8, x) + Value32(u) <= Shift32(8, y) && -Shift32(8, y) <= Value32(u) - Shift32(8, x);
*/
#endif
