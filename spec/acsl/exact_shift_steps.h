/* Lemmas used only by the lemmas of exact_shifts.h. ACSL only. */
#ifndef ZP_SPEC_ACSL_EXACT_SHIFT_STEPS_H
#define ZP_SPEC_ACSL_EXACT_SHIFT_STEPS_H
#include "exact_defs.h"

/*@
  lemma Shift4_Up: \forall integer r; 0 <= r ==> \forall integer x;
    Shift4(r + 8, x) == 65536 * Shift4(r, x);
  lemma Shift4_Bins: \forall integer q; 0 <= q ==> \forall integer r, x; 0 <= r ==>
    Shift4(8 * q + r, x) == Shift16(q, Shift4(r, x));
*/

#endif
