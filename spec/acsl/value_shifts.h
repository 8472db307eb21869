/* Shifts, for lemmas of exact values that the code does not include. Pairs of inequalities such as
 * `l <= 32 * i && 32 * i <= l` keep a variable that provers can match. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_SHIFTS_H
#define ZP_SPEC_ACSL_VALUE_SHIFTS_H
#include "value_linear.h"

/*@
  lemma Shift2_UpTwo: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 2, x) == 4 * Shift2(e, x);
  lemma Shift2_UpFour: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 4, x) == 16 * Shift2(e, x);
  lemma Shift2_UpEight: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 8, x) == 256 * Shift2(e, x);
  lemma Shift2_Up16: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e + 16, x) == 65536 * Shift2(e, x);
  lemma Shift2_Limb: \forall integer q, r, x; 0 <= q && 0 <= r ==>
    Shift2(32 * q + r, x) == Shift32(q, Shift2(r, x));
  lemma Shift2_Part: \forall integer i, d, l, x; 0 <= i && 0 <= d && l <= 32 * i + d &&
    32 * i + d <= l ==> Shift2(l, x) == Shift32(i, Shift2(d, x));
  lemma Shift2_DivMod: \forall integer e, x; 0 <= e ==>
    Shift2(e, x) == Shift32(e / 32, Shift2(e % 32, x));
  lemma Shift2_Whole: \forall integer i, l, x; 0 <= i && l <= 32 * i && 32 * i <= l ==>
    Shift2(l, x) == Shift32(i, x);
  lemma Shift2_NextLimb: \forall integer i, l, x; 0 <= i && l <= 32 * i + 32 &&
    32 * i + 32 <= l ==> Shift2(l, x) == 4294967296 * Shift32(i, x);
*/
#endif
