/* Powers of two, for the code of exact values. ACSL only.
 * spec: SUM-5
 */
#ifndef ZP_SPEC_ACSL_VALUE_POWERS_H
#define ZP_SPEC_ACSL_VALUE_POWERS_H
#include "value_sums.h"

/*@
  lemma Shift2_Powers: \forall integer e, x; 0 <= e ==>
    Shift2(e + 1, x) == 2 * Shift2(e, x) && Shift2(e + 2, x) == 4 * Shift2(e, x) &&
    Shift2(e + 4, x) == 16 * Shift2(e, x) && Shift2(e + 8, x) == 256 * Shift2(e, x) &&
    Shift2(e + 16, x) == 65536 * Shift2(e, x);
  lemma Shift2_Double: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e, 2 * x) == 2 * Shift2(e, x);
  lemma Shift32_Halves: \forall integer q, a, b; 0 <= q ==>
    Shift32(q, a + 4294967296 * b) == Shift32(q, a) + Shift32(q + 1, b);
  lemma Magnitude32_Split: \forall integer u; 0 <= u ==>
    Magnitude32(u) == Shift32(Exp32(u) / 32, Shift2(Exp32(u) % 32, Mant32(u)));
*/
#endif
