/* Shifts keep sums and order. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_LINEAR_H
#define ZP_SPEC_ACSL_VALUE_LINEAR_H
#include "value_sums.h"

/*@
  lemma Shift2_Join: \forall integer e; 0 <= e ==> \forall integer t, v, y;
    y <= 4294967296 * t + v && 4294967296 * t + v <= y ==>
    Shift2(e, y) == 4294967296 * Shift2(e, t) + Shift2(e, v);
  lemma Shift2_Up32: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 32, x) == 4294967296 * Shift2(e, x);
  lemma Shift2_LimbOne: \forall integer q; 0 <= q ==> \forall integer x;
    Shift2(32 * q, x) == Shift32(q, x);
  lemma Shift2_Steps: \forall integer r; 0 <= r ==>
    \forall integer k, x; 0 <= k ==> Shift2(k + r, x) == Shift2(k, Shift2(r, x));
  lemma Shift32_ByWord: \forall integer q; 0 <= q ==> \forall integer x;
    Shift32(q, 4294967296 * x) == 4294967296 * Shift32(q, x);
  lemma Shift32_Gap: \forall integer q; 0 <= q ==> \forall integer x, y; x < y ==>
    Shift32(q, x) + Shift32(q, 1) <= Shift32(q, y);
  lemma Shift2_Larger: \forall integer e; 0 <= e ==>
    \forall integer x, y; x < y ==> Shift2(e, x) < Shift2(e, y);
  lemma Shift2_NotLess: \forall integer e; 0 <= e ==>
    \forall integer x, y; x <= y ==> Shift2(e, x) <= Shift2(e, y);
  lemma Shift2_Next: \forall integer e; 0 <= e ==> \forall integer f, x, y;
    f <= e + 1 && e + 1 <= f && y <= 2 * x && 2 * x <= y ==> Shift2(f, x) == Shift2(e, y);
*/
#endif
