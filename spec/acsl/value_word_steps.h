/* Words of a dividend, for lemmas that the code does not include. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_VALUE_WORD_STEPS_H
#define ZP_SPEC_ACSL_VALUE_WORD_STEPS_H
#include "value_shifts.h"

/*@
  lemma Shift2_Succ: \forall integer e; 0 <= e ==>
    \forall integer x; Shift2(e, x + 1) == Shift2(e, x) + Shift2(e, 1);
  lemma Shift2_Small: \forall integer e; 0 <= e ==> \forall integer v; 0 <= v < 4294967296 ==>
    0 <= Shift2(e, v) < 4294967296 * Shift2(e, 1) && (Shift2(e, v) == 0 <==> v == 0);
  lemma Shift32_GapPart: \forall integer i, d, u, w; 0 <= i && w < Shift2(d, u) ==>
    Shift32(i, w) + Shift32(i, 1) <= Shift32(i, Shift2(d, u));
  lemma Shift32_Larger: \forall integer q, x, y; 0 <= q && x < y ==>
    Shift32(q, x) < Shift32(q, y);
  lemma Shift32_Order: \forall integer q, x, y; 0 <= q ==>
    (x <= y <==> Shift32(q, x) <= Shift32(q, y)) && (x == y <==> Shift32(q, x) == Shift32(q, y));
  lemma Word_Above: \forall integer i, d, l, u, w; 0 <= i && 0 <= d &&
    l <= 32 * i + d && 32 * i + d <= l && w < Shift2(d, u) ==>
    Shift32(i, w) + Shift32(i, 1) <= Shift2(l, u);
  lemma Word_Below: \forall integer i, d, l, u, w; 0 <= i && 0 <= d &&
    l <= 32 * i + d && 32 * i + d <= l && Shift2(d, u) <= w ==>
    Shift2(l, u) <= Shift32(i, w) && (Shift2(l, u) == Shift32(i, w) <==> Shift2(d, u) == w);
  lemma Word_Split: \forall integer d, t, v, y, w; 0 <= d && 0 <= v < 4294967296 &&
    y <= 4294967296 * t + v && 4294967296 * t + v <= y && Shift2(d, y) == 4294967296 * w ==>
    WordSplit(w, d, t, v);
  lemma Word_Extracted: \forall integer d, t, v, w; WordSplit(w, d, t, v) ==>
    WordExtracted(w, d, t, v);
*/
#endif
