/* Powers of four: order and sums. ACSL only. */
#ifndef ZP_SPEC_ACSL_NORM_POWERS_H
#define ZP_SPEC_ACSL_NORM_POWERS_H
#include "norm_root.h"

/*@
  lemma Power4_Gap: \forall integer k; 0 <= k ==> \forall integer w, a, b; w < a + b ==>
    Shift4(k, w) < Shift4(k, a) + Shift4(k, b);
  lemma Power4_Less: \forall integer e; 0 <= e ==>
    \forall integer x, y; x < y ==> Shift4(e, x) < Shift4(e, y);
  lemma Power4_NotLess: \forall integer e; 0 <= e ==>
    \forall integer x, y; x <= y ==> Shift4(e, x) <= Shift4(e, y);
  lemma Power4_Zero: \forall integer e; 0 <= e ==> Shift4(e, 0) == 0;
  lemma Power4_One: \forall integer e; 0 <= e ==> 1 <= Shift4(e, 1);
  lemma Power4_Four: \forall integer e; 0 <= e ==> \forall integer x, y; FourOf(y, x) ==>
    Shift4(e + 1, x) == Shift4(e, y);
  lemma Power4_Word: \forall integer d; 0 <= d ==> \forall integer y, t, v; WordOf(y, t, v) ==>
    Shift4(d, y) == 4294967296 * Shift4(d, t) + Shift4(d, v);
  lemma Power4_Small: \forall integer d; 0 <= d ==> \forall integer v; 0 <= v < 4294967296 ==>
    0 <= Shift4(d, v) < 4294967296 * Shift4(d, 1) && (Shift4(d, v) == 0 <==> v == 0);
  lemma Power4_GapUp: \forall integer e; 0 <= e ==> \forall integer a, b, y; a + b <= y ==>
    Shift4(e, a) + Shift4(e, b) <= Shift4(e, y);
*/
#endif
