/* Powers of four: sums of exponents. ACSL only. */
#ifndef ZP_SPEC_ACSL_NORM_SHIFTS_H
#define ZP_SPEC_ACSL_NORM_SHIFTS_H
#include "norm_powers.h"

/*@
  lemma Power4_Down: \forall integer e, x, y; 1 <= e && FourOf(y, x) ==>
    Shift4(e, x) == Shift4(e - 1, y);
  lemma Power4_Plus: \forall integer f, e, k, x; 0 <= k && 0 <= e && PlusOf(f, e, k) ==>
    Shift4(f, x) == Shift4(k, Shift4(e, x));
  lemma Power4_Sixteen: \forall integer x; Shift4(16, x) == 4294967296 * x;
  lemma Power4_Digit: \forall integer l, i, d, x; DigitOf(l, i, d) ==>
    Shift4(l, x) == Shift32(i, Shift4(d, x));
  lemma Power4_Full: \forall integer v; 1 <= v ==>
    81129638414606681695789005144064 <= Shift4(53, v);
*/
#endif
