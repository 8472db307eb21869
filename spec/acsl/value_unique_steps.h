/* Digits, for the lemma of value_unique.h. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_UNIQUE_STEPS_H
#define ZP_SPEC_ACSL_VALUE_UNIQUE_STEPS_H
#include "value_linear.h"

/*@
  lemma SettledFrom_Last{L}: \forall int64_t *a, integer s, n; 1 <= n && SettledFrom(a, s, n) ==>
    0 <= a[s + n - 1] < 4294967296 && SettledFrom(a, s, n - 1);
  lemma SettledFrom_Less{L}: \forall int64_t *a, integer s, n;
    SettledFrom(a, s, n) ==> SettledFrom(a, s, n - 1);
  lemma Shift32_Digit: \forall integer q, x, y; 0 <= q &&
    Shift32(q, x) < Shift32(q, y) + Shift32(q, 1) &&
    Shift32(q, y) < Shift32(q, x) + Shift32(q, 1) ==> x == y;
  lemma Shift32_Below: \forall integer q; 0 <= q ==> \forall integer x; 0 <= x < 4294967296 ==>
    0 <= Shift32(q, x) && Shift32(q, x) + Shift32(q, 1) <= 4294967296 * Shift32(q, 1);
  lemma From_RangeNext{L}: \forall int64_t *a, integer s, n; 1 <= n && SettledFrom(a, s, n) &&
    0 <= LimbSumFrom(a, s, n - 1) < Shift32(n - 1, 1) ==>
    0 <= LimbSumFrom(a, s, n) < Shift32(n, 1);
  lemma SettledFrom_Range{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer s;
    SettledFrom(a, s, n) ==> 0 <= LimbSumFrom(a, s, n) < Shift32(n, 1);
  lemma From_SameTop{L1,L2}: \forall int64_t *a, *b, integer s, t, n; 1 <= n &&
    SettledFrom{L1}(a, s, n - 1) && SettledFrom{L2}(b, t, n - 1) &&
    LimbSumFrom{L1}(a, s, n) == LimbSumFrom{L2}(b, t, n) ==>
    \at(a[s + n - 1],L1) == \at(b[t + n - 1],L2) &&
    LimbSumFrom{L1}(a, s, n - 1) == LimbSumFrom{L2}(b, t, n - 1);
  lemma From_SameThree{L1,L2}: \forall int64_t *a, *b, integer s, t, n; 3 <= n &&
    SettledFrom{L1}(a, s, n - 1) && SettledFrom{L2}(b, t, n - 1) &&
    LimbSumFrom{L1}(a, s, n) == LimbSumFrom{L2}(b, t, n) ==>
    \at(a[s + n - 1],L1) == \at(b[t + n - 1],L2) && \at(a[s + n - 2],L1) == \at(b[t + n - 2],L2) &&
    \at(a[s + n - 3],L1) == \at(b[t + n - 3],L2) &&
    SettledFrom{L1}(a, s, n - 4) && SettledFrom{L2}(b, t, n - 4) &&
    LimbSumFrom{L1}(a, s, n - 3) == LimbSumFrom{L2}(b, t, n - 3);
*/
#endif
