/* Powers of four: lemmas used only by the lemmas of norm_shifts.h. ACSL only. */
#ifndef ZP_SPEC_ACSL_NORM_SHIFT_STEPS_H
#define ZP_SPEC_ACSL_NORM_SHIFT_STEPS_H
#include "norm_root.h"

/*@
  lemma Power4_Next: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e, x + 1) == Shift4(e, x) + Shift4(e, 1);
  lemma Power4_Steps: \forall integer k; 0 <= k ==> \forall integer e, x; 0 <= e ==>
    Shift4(e + k, x) == Shift4(k, Shift4(e, x));
  lemma Power4_Two: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e + 2, x) == 16 * Shift4(e, x);
  lemma Power4_FourUp: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e + 4, x) == 256 * Shift4(e, x);
  lemma Power4_Eight: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e + 8, x) == 65536 * Shift4(e, x);
  lemma Power4_Limb: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e + 16, x) == 4294967296 * Shift4(e, x);
  lemma Power4_Limbs: \forall integer i; 0 <= i ==> \forall integer d, x; 0 <= d ==>
    Shift4(16 * i + d, x) == Shift32(i, Shift4(d, x));
  lemma Power4_Five: \forall integer x; Shift4(5, x) == 1024 * x;
  lemma Power4_21: \forall integer x; Shift4(21, x) == 4294967296 * Shift4(5, x);
  lemma Power4_37: \forall integer x; Shift4(37, x) == 4294967296 * Shift4(21, x);
  lemma Power4_53: \forall integer x; Shift4(53, x) == 4294967296 * Shift4(37, x);
*/
#endif
