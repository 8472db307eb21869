/* Lemmas used only by other lemmas of exact sums. proofs/lemmas/exact.c includes them; the code
 * does not, because its proofs are faster without them. ACSL only.
 */
#ifndef ZP_SPEC_ACSL_EXACT_STEPS_H
#define ZP_SPEC_ACSL_EXACT_STEPS_H
#include "exact_sums.h"

/*@
  // bounds of bins
  lemma Shift16_LessEqual: \forall integer q; 0 <= q ==>
    \forall integer x, y; x <= y ==> Shift16(q, x) <= Shift16(q, y);
  lemma BinSum_Bound{L}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer b;
    0 <= b && (\forall integer j; 0 <= j < n ==> 0 <= a[j] <= b) ==>
    0 <= BinSum(a, n) <= Shift16(n, b);
*/

/*@
  // powers of four
  lemma Shift4_Eight: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e + 8, x) == 65536 * Shift4(e, x);
  lemma Shift4_Split: \forall integer q; 0 <= q ==>
    \forall integer r, x; 0 <= r ==> Shift4(8 * q + r, x) == Shift16(q, Shift4(r, x));
  lemma Shift4_Monotone: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e <= f && 0 <= x ==> Shift4(e, x) <= Shift4(f, x);
  lemma Shift4_Less: \forall integer e; 0 <= e ==>
    \forall integer x; 0 <= x < 281474976710656 ==> 0 <= Shift4(e, x) < Shift4(e, 281474976710656);
  lemma Shift4_Seven: Shift4(7, 281474976710656) == 4611686018427387904;
*/

/*@
  // carries
  lemma Shift32_Scale: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q, 4294967296 * x) == 4294967296 * Shift32(q, x);
  lemma Shift32_Next: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q + 1, x) == 4294967296 * Shift32(q, x);
  lemma Shift32_Succ: \forall integer q; 0 <= q ==> \forall integer x;
    Shift32(q, x + 1) == Shift32(q, x) + Shift32(q, 1);
  lemma Shift32_Top: \forall integer q; 0 <= q ==> \forall integer p, x; p == q + 1 &&
    0 <= x < 4294967296 ==> 0 <= Shift32(q, x) <= Shift32(p, 1) - Shift32(q, 1);
  lemma LimbSum_Step{L}: \forall integer n; 1 <= n ==> \forall int64_t *a;
    0 <= LimbSum(a, n - 1) < Shift32(n - 1, 1) && 0 <= a[n - 1] < 4294967296 ==>
    0 <= LimbSum(a, n) < Shift32(n, 1);
  lemma LimbSum_Last{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    LimbSum(a, n + 1) == LimbSum(a, n) + Shift32(n, a[n]);
*/

/*@
  // from bins to limbs
  lemma Shift16_Sub: \forall integer q; 0 <= q ==>
    \forall integer x, y; Shift16(q, x - y) == Shift16(q, x) - Shift16(q, y);
  lemma Shift32_Half: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q, 2147483648 * x) == 2147483648 * Shift32(q, x);
  lemma Shift32_Scale16: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q, 65536 * x) == 65536 * Shift32(q, x);

  lemma Shift16_Even: \forall integer q; 0 <= q ==>
    \forall integer x; Shift16(2 * q, x) == Shift32(q, x);
  lemma Shift16_Odd: \forall integer q; 0 <= q ==>
    \forall integer x; Shift16(2 * q + 1, x) == 65536 * Shift32(q, x);
  lemma BinSum_Pair{L}: \forall integer q; 0 <= q ==> \forall int64_t *a;
    BinSum(a, 2 * q + 2) ==
      BinSum(a, 2 * q) + Shift16(2 * q, a[2 * q]) + Shift16(2 * q + 1, a[2 * q + 1]);
  lemma Shift32_Pair: \forall integer q; 0 <= q ==> \forall integer a, b, c, d;
    Shift32(q, PairValue(a, b, c, d)) == Shift32(q, a) + 65536 * Shift32(q, b) +
      2147483648 * (Shift32(q, c) + 65536 * Shift32(q, d));
  lemma Shift16_Halved: \forall integer e; 0 <= e && e % 2 == 0 ==>
    \forall integer x; Shift16(e, x) == Shift32(e / 2, x);
  lemma Shift16_HalvedNext: \forall integer e; 0 <= e && e % 2 == 0 ==>
    \forall integer x; Shift16(e + 1, x) == 65536 * Shift32(e / 2, x);
  lemma BinSum_Two{L}: \forall integer e; 0 <= e && e % 2 == 0 ==> \forall int64_t *a;
    BinSum(a, e + 2) == BinSum(a, e) + Shift32(e / 2, a[e]) + 65536 * Shift32(e / 2, a[e + 1]);
  lemma BinSum_Bound32{L}: \forall int64_t *a;
    (\forall integer j; 0 <= j < 32 ==> 0 <= a[j] <= 4611686018427387904) ==>
    0 <= BinSum(a, 32) <= Shift32(16, 4611686018427387904);
  lemma Shift32_Nineteen:
    Shift32(19, 1) == 18446744073709551616 * Shift32(16, 4294967296) &&
    2147483649 * Shift32(16, 4611686018427387904) < Shift32(19, 1);
*/

#endif
