/* Lemmas used only by the lemmas of norm_floor.h. ACSL only. */
#ifndef ZP_SPEC_ACSL_NORM_FLOOR_STEPS_H
#define ZP_SPEC_ACSL_NORM_FLOOR_STEPS_H
#include "norm_shifts.h"

/*@
  lemma Limb_Less: \forall integer q; 0 <= q ==>
    \forall integer x, y; x < y ==> Shift32(q, x) < Shift32(q, y);
  lemma Limb_NotLess: \forall integer q; 0 <= q ==>
    \forall integer x, y; x <= y ==> Shift32(q, x) <= Shift32(q, y);
  lemma Limb_Zero: \forall integer q; 0 <= q ==> Shift32(q, 0) == 0;
  lemma Limb_Gap: \forall integer q; 0 <= q ==> \forall integer w, a, b; w < a + b ==>
    Shift32(q, w) + Shift32(q, 1) <= Shift32(q, a) + Shift32(q, b);
  lemma Limb_Word: \forall integer q; 0 <= q ==> \forall integer y, t, x; WordOf(y, t, x) ==>
    Shift32(q, y) == 4294967296 * Shift32(q, t) + Shift32(q, x);
  lemma Limb_Scaled: \forall integer q; 0 <= q ==> \forall integer y, t;
    y <= 4294967296 * t && 4294967296 * t <= y ==> Shift32(q, y) == 4294967296 * Shift32(q, t);
  lemma Limb_SixteenOf: \forall integer l, i, t; DigitOf(l, i, 16) ==>
    Shift4(l, t) == Shift32(i, Shift4(16, t));
  lemma Limb_Sixteen: \forall integer l, i, t; DigitOf(l, i, 16) ==>
    Shift4(l, t) == 4294967296 * Shift32(i, t);
  lemma Limb_WholeOf: \forall integer l, i, t; DigitOf(l, i, 0) ==>
    Shift4(l, t) == Shift32(i, Shift4(0, t));
  lemma Limb_Whole: \forall integer l, i, t; DigitOf(l, i, 0) ==> Shift4(l, t) == Shift32(i, t);
  lemma Word_Scaled: \forall integer w, d, t, v, y; 0 <= d && WordOf(y, t, v) &&
    Shift4(d, y) == Shift4(16, w) ==>
    4294967296 * w == 4294967296 * Shift4(d, t) + Shift4(d, v);
  lemma Limb_Below: \forall integer l, i, d, w, t; DigitOf(l, i, d) && Shift4(d, t) <= w ==>
    Shift4(l, t) <= Shift32(i, w);
  lemma Limb_More: \forall integer l, i, d, w, t; DigitOf(l, i, d) && Shift4(d, t) < w ==>
    Shift4(l, t) < Shift32(i, w);
  lemma Limb_Above: \forall integer l, i, d, w, t; DigitOf(l, i, d) &&
    w < Shift4(d, t) + Shift4(d, 1) ==>
    Shift32(i, w) + Shift32(i, 1) <= Shift4(l, t) + Shift4(l, 1);
  lemma Plus_Below: \forall integer f, e, k, w, t; 0 <= k && 0 <= e && PlusOf(f, e, k) &&
    Shift4(e, t) <= w ==> Shift4(f, t) <= Shift4(k, w);
  lemma Plus_More: \forall integer f, e, k, w, t; 0 <= k && 0 <= e && PlusOf(f, e, k) &&
    Shift4(e, t) < w ==> Shift4(f, t) < Shift4(k, w);
  lemma Plus_Above: \forall integer f, e, k, w, t; 0 <= k && 0 <= e && PlusOf(f, e, k) &&
    w < Shift4(e, t) + Shift4(e, 1) ==> Shift4(k, w) < Shift4(f, t) + Shift4(f, 1);
*/
#endif
