/* Logic for exact sums of bit patterns. ACSL only: nothing here is compiled.
 *
 * A finite fp32 pattern u has |value| = Mant32(u) * 2^(Exp32(u) - 149), so its square is
 * Square32(u) * 2^-298 with Square32(u) an integer. Every definition below is a recursion with
 * constant factors, because WP's provers handle `4 * f(e-1)` and not `x * 2^e`.
 * spec: SUM-1, SUM-2, SUM-5
 */
#ifndef ZP_SPEC_ACSL_EXACT_H
#define ZP_SPEC_ACSL_EXACT_H
#include <stdint.h>

/*@
  logic integer BiasedExp32(integer u) = (u / 8388608) % 256;
  logic integer Fraction32(integer u) = u % 8388608;
  logic integer Exp32(integer u) = BiasedExp32(u) == 0 ? 0 : BiasedExp32(u) - 1;
  logic integer Mant32(integer u) =
    BiasedExp32(u) == 0 ? Fraction32(u) : Fraction32(u) + 8388608;
  predicate Finite32(integer u) = 0 <= u <= 4294967295 && BiasedExp32(u) < 255;
  predicate FiniteB16(integer h) = (h / 128) % 256 < 255;
  predicate FiniteF16(integer h) = (h / 1024) % 32 < 31;

  // x * 4^e, x * 2^(16 q), x * 2^(32 q)
  logic integer Shift4(integer e, integer x) = e <= 0 ? x : 4 * Shift4(e - 1, x);
  logic integer Shift16(integer q, integer x) = q <= 0 ? x : 65536 * Shift16(q - 1, x);
  logic integer Shift32(integer q, integer x) = q <= 0 ? x : 4294967296 * Shift32(q - 1, x);

  // x^2 * 2^298 of a finite pattern, 0 of any other: a non-finite element is left out
  logic integer Square32(integer u) = Shift4(Exp32(u), Mant32(u) * Mant32(u));
  logic integer Counted32(integer u) = BiasedExp32(u) < 255 ? Square32(u) : 0;
  logic integer NonFinite32(integer u) = BiasedExp32(u) < 255 ? 0 : 1;

  logic integer SumSquares32{L}(uint32_t *x, integer n) =
    n <= 0 ? 0 : SumSquares32(x, n - 1) + Counted32(x[n - 1]);
  logic integer CountNonFinite32{L}(uint32_t *x, integer n) =
    n <= 0 ? 0 : CountNonFinite32(x, n - 1) + NonFinite32(x[n - 1]);

  // bins: bin q has weight 2^(16 q)
  logic integer BinSum{L}(int64_t *a, integer n) =
    n <= 0 ? 0 : BinSum(a, n - 1) + Shift16(n - 1, a[n - 1]);
  logic integer BinValue{L}(int64_t *lo, int64_t *hi) =
    BinSum(lo, 32) + 2147483648 * BinSum(hi, 32);
  predicate BinsBounded{L}(int64_t *lo, int64_t *hi, integer k) =
    \forall integer q; 0 <= q < 32 ==>
      0 <= lo[q] <= k * 2147483647 && 0 <= hi[q] <= k * 2147483647;

  // limbs: limb i has weight 2^(32 i)
  logic integer LimbSum{L}(int64_t *a, integer n) =
    n <= 0 ? 0 : LimbSum(a, n - 1) + Shift32(n - 1, a[n - 1]);
  predicate Canonical{L}(int64_t *a, integer n) =
    \forall integer i; 0 <= i < n ==> 0 <= a[i] < 4294967296;
*/

/*@
  lemma SumSquares32_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall uint32_t *x;
    (\forall integer i; 0 <= i < n ==> \at(x[i],L2) == \at(x[i],L1)) ==>
    SumSquares32{L2}(x, n) == SumSquares32{L1}(x, n);
  lemma CountNonFinite32_Range{L}: \forall integer n; 0 <= n ==> \forall uint32_t *x;
    0 <= CountNonFinite32(x, n) <= n;
  lemma Shift16_Add: \forall integer q; 0 <= q ==>
    \forall integer x, y; Shift16(q, x + y) == Shift16(q, x) + Shift16(q, y);
  lemma Shift16_Zero: \forall integer q; 0 <= q ==> Shift16(q, 0) == 0;
  lemma BinSum_Zero{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> a[j] == 0) ==> BinSum(a, n) == 0;
  lemma BinSum_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> \at(a[j],L2) == \at(a[j],L1)) ==>
    BinSum{L2}(a, n) == BinSum{L1}(a, n);
  lemma BinSum_Update{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer q;
    0 <= q < n && (\forall integer j; 0 <= j < n && j != q ==> \at(a[j],L2) == \at(a[j],L1)) ==>
    BinSum{L2}(a, n) == BinSum{L1}(a, n) + Shift16(q, \at(a[q],L2) - \at(a[q],L1));
  lemma Shift16_Sub: \forall integer q; 0 <= q ==>
    \forall integer x, y; Shift16(q, x - y) == Shift16(q, x) - Shift16(q, y);
  lemma Shift16_Scale: \forall integer q; 0 <= q ==>
    \forall integer x; Shift16(q, 2147483648 * x) == 2147483648 * Shift16(q, x);
  lemma Shift32_Add: \forall integer q; 0 <= q ==>
    \forall integer x, y; Shift32(q, x + y) == Shift32(q, x) + Shift32(q, y);
  lemma Shift32_Zero: \forall integer q; 0 <= q ==> Shift32(q, 0) == 0;
  lemma Shift32_Scale: \forall integer q; 0 <= q ==>
    \forall integer x; Shift32(q, 4294967296 * x) == 4294967296 * Shift32(q, x);
  lemma LimbSum_Zero{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> a[j] == 0) ==> LimbSum(a, n) == 0;
  lemma LimbSum_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> \at(a[j],L2) == \at(a[j],L1)) ==>
    LimbSum{L2}(a, n) == LimbSum{L1}(a, n);
  lemma Shift4_Eight: \forall integer e; 0 <= e ==>
    \forall integer x; Shift4(e + 8, x) == 65536 * Shift4(e, x);
  lemma Shift4_Split: \forall integer q; 0 <= q ==>
    \forall integer r, x; 0 <= r ==> Shift4(8 * q + r, x) == Shift16(q, Shift4(r, x));
  lemma Shift4_DivMod: \forall integer e, x; 0 <= e ==>
    Shift4(e, x) == Shift16(e / 8, Shift4(e % 8, x));
  lemma Shift4_Monotone: \forall integer f; 0 <= f ==>
    \forall integer e, x; 0 <= e <= f && 0 <= x ==> Shift4(e, x) <= Shift4(f, x);
  lemma Shift4_Less: \forall integer e; 0 <= e ==>
    \forall integer x; 0 <= x < 281474976710656 ==> 0 <= Shift4(e, x) < Shift4(e, 281474976710656);
  lemma Shift4_Seven: Shift4(7, 281474976710656) == 4611686018427387904;
  lemma Shift4_Bound: \forall integer r, x; 0 <= r <= 7 && 0 <= x < 281474976710656 ==>
    0 <= Shift4(r, x) < 4611686018427387904;
*/
#endif
