/* Shifts are linear: the form that the code's proofs use. A fact such as CarryOf(x, a, b) selects
 * the instance, so provers generate no other. These lemmas use only the definitions; more lemmas
 * would slow the proofs down. ACSL only.
 * spec: SUM-1, SUM-3
 */
#ifndef ZP_SPEC_ACSL_EXACT_SHIFTS_H
#define ZP_SPEC_ACSL_EXACT_SHIFTS_H
#include "exact_defs.h"

/*@
  predicate SumOf(integer x, integer a, integer b) = x == a + b;
  predicate CarryOf(integer x, integer a, integer b) = x == a + 4294967296 * b;
  predicate HighOf(integer x, integer a) = x == 2147483648 * a;
  predicate InBin(integer e, integer q, integer r) = 0 <= q && 0 <= r && e == 8 * q + r;
*/

/*@
  lemma Sum16: \forall integer q; 0 <= q ==> \forall integer x, a, b; SumOf(x, a, b) ==>
    Shift16(q, x) == Shift16(q, a) + Shift16(q, b);
  lemma High16: \forall integer q; 0 <= q ==> \forall integer x, a; HighOf(x, a) ==>
    Shift16(q, x) == 2147483648 * Shift16(q, a);
  lemma Zero32: \forall integer q; 0 <= q ==> Shift32(q, 0) == 0;
  lemma Sum32: \forall integer q; 0 <= q ==> \forall integer x, a, b; SumOf(x, a, b) ==>
    Shift32(q, x) == Shift32(q, a) + Shift32(q, b);
  lemma Carry32: \forall integer q; 0 <= q ==> \forall integer x, a, b; CarryOf(x, a, b) ==>
    Shift32(q, x) == Shift32(q, a) + Shift32(q + 1, b);
  lemma Shift4_Bin: \forall integer e, q, r, x; InBin(e, q, r) ==>
    Shift4(e, x) == Shift16(q, Shift4(r, x));
*/

#endif
