/* Bounds, for lemmas that the code does not include. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_BOUND_STEPS_H
#define ZP_SPEC_ACSL_VALUE_BOUND_STEPS_H
#include "bounds.h"
#include "value_linear.h"
#include "value_range.h"

/*@
  lemma Shift32_Within: \forall integer q; 0 <= q ==> \forall integer x, b; -b <= x <= b ==>
    -Shift32(q, b) <= Shift32(q, x) <= Shift32(q, b);
  lemma Shift32_Twice: \forall integer q; 1 <= q ==> \forall integer b; 0 <= b ==>
    2 * Shift32(q - 1, b) <= Shift32(q, b);
  lemma SmallFrom_Last{L}: \forall int64_t *a, integer s, n, b; 1 <= n && SmallFrom(a, s, n, b) ==>
    -b <= a[s + n - 1] <= b && SmallFrom(a, s, n - 1, b);
  lemma From_BoundNext{L}: \forall int64_t *a, integer s, n, b; 1 <= n && 0 <= b &&
    SmallFrom(a, s, n, b) &&
    -Shift32(n - 1, b) <= LimbSumFrom(a, s, n - 1) <= Shift32(n - 1, b) ==>
    -Shift32(n, b) <= LimbSumFrom(a, s, n) <= Shift32(n, b);
  lemma From_Bound{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer s, b; 0 <= b &&
    SmallFrom(a, s, n, b) ==> -Shift32(n, b) <= LimbSumFrom(a, s, n) <= Shift32(n, b);
  lemma Element_Top{L}: \forall int64_t *limbs, integer i;
    ElementSum(limbs, i) == LimbSumFrom(limbs, 9 * i, 8) + Shift32(8, limbs[9 * i + 8]);
  lemma SmallFrom_Wider{L}: \forall int64_t *a, integer s, n, b, c; b <= c &&
    SmallFrom(a, s, n, b) ==> SmallFrom(a, s, n, c);
  lemma Element_LowSmall{L}: \forall int64_t *limbs, integer i, k, c; 0 <= k <= 1073741824 &&
    ElementBounded(limbs, i, k, c) ==> SmallFrom(limbs, 9 * i, 8, 4611686022722355200);
  lemma Element_LowBound{L}: \forall int64_t *limbs, integer i, k, c; 0 <= k <= 1073741824 &&
    ElementBounded(limbs, i, k, c) ==> -Shift32(8, 4611686022722355200) <=
    LimbSumFrom(limbs, 9 * i, 8) <= Shift32(8, 4611686022722355200);
  lemma Element_SumBound{L}: \forall int64_t *limbs, integer i, k, c;
      0 <= c <= ZP_LIMIT_CONTRIBUTIONS &&
    ElementBounded(limbs, i, k, c) ==> -Shift32(8, 2305843009213693952) <=
    ElementSum(limbs, i) <= Shift32(8, 2305843009213693952);
  lemma Top_Sum: Shift32(8, 2305843009213693952) + Shift32(8, 4611686022722355200) ==
    Shift32(8, 6917529031936049152);
  lemma Top_Largest: \forall integer t;
    -Shift32(8, 6917529031936049152) <= Shift32(8, t) <= Shift32(8, 6917529031936049152) ==>
    -6917529031936049152 <= t <= 6917529031936049152;
  lemma Top_Below: \forall integer t;
    -Shift32(8, 2305843009213693952) - Shift32(8, 4611686022722355200) <= Shift32(8, t) &&
    Shift32(8, t) <= Shift32(8, 2305843009213693952) + Shift32(8, 4611686022722355200) ==>
    -6917529031936049152 <= t <= 6917529031936049152;
  lemma Element_TopRange{L}: \forall int64_t *limbs, integer i, k, c; 0 <= k <= 1073741824 &&
    0 <= c <= ZP_LIMIT_CONTRIBUTIONS && ElementBounded(limbs, i, k, c) ==>
    -6917529031936049152 <= limbs[9 * i + 8] <= 6917529031936049152;
*/
#endif
