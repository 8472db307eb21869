/* The largest value of a pattern. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_RANGE_STEPS_H
#define ZP_SPEC_ACSL_VALUE_RANGE_STEPS_H
#include "value_shifts.h"

/*@
  lemma Shift2_Monotone: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e <= f && 0 <= x ==> Shift2(e, x) <= Shift2(f, x);
  lemma Shift2_Positive: \forall integer e; 0 <= e ==>
    \forall integer x; 0 <= x ==> 0 <= Shift2(e, x);
  lemma Shift2_29: Shift2(29, 16777216) == 9007199254740992;
  lemma Shift2_253: Shift2(253, 16777216) == Shift32(7, Shift2(29, 16777216));
  lemma Shift32_Seven: Shift32(7, 9007199254740992) == Shift32(8, 2097152);
  lemma Shift2_Largest: Shift2(253, 16777216) == Shift32(8, 2097152);
  lemma Magnitude_Range: \forall integer e, m; 0 <= e <= 253 && 0 <= m <= 16777216 ==>
    0 <= Shift2(e, m) <= Shift2(253, m) <= Shift2(253, 16777216);
  lemma Mant32_Range: \forall integer u; 0 <= u ==> 0 <= Mant32(u) < 16777216 &&
    0 <= BiasedExp32(u) <= 255 && 0 <= Exp32(u) && (BiasedExp32(u) < 255 ==> Exp32(u) <= 253);
  lemma Magnitude32_Range: \forall integer u; 0 <= u && BiasedExp32(u) < 255 ==>
    0 <= Magnitude32(u) <= Shift32(8, 2097152);
*/
#endif
