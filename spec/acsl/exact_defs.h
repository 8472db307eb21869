/* Logic for exact sums of bit patterns. ACSL only: nothing here is compiled.
 *
 * A finite fp32 pattern u has |value| = Mant32(u) * 2^(Exp32(u) - 149), so its square is
 * Square32(u) * 2^-298 with Square32(u) an integer. Every definition below is a recursion with
 * constant factors, because WP's provers handle `4 * f(e-1)` and not `x * 2^e`.
 * spec: SUM-1, SUM-2, SUM-5
 */
#ifndef ZP_SPEC_ACSL_EXACT_DEFS_H
#define ZP_SPEC_ACSL_EXACT_DEFS_H
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

  // The fp32 pattern of a bf16 and of an fp16 pattern. fp16: a subnormal a * 2^-24 with leading bit
  // k has exponent 103 + k, normal numbers change the bias from 15 to 127, a NaN becomes quiet.
  logic integer WidenB16(integer h) = 65536 * h;
  logic integer WidenSubnormalF16(integer a) =
    a < 1 ? 0 :
    a < 2 ? 855638016 + 8388608 * a : a < 4 ? 864026624 + 4194304 * a :
    a < 8 ? 872415232 + 2097152 * a : a < 16 ? 880803840 + 1048576 * a :
    a < 32 ? 889192448 + 524288 * a : a < 64 ? 897581056 + 262144 * a :
    a < 128 ? 905969664 + 131072 * a : a < 256 ? 914358272 + 65536 * a :
    a < 512 ? 922746880 + 32768 * a : 931135488 + 16384 * a;
  logic integer WidenMagnitudeF16(integer a) =
    a < 1024 ? WidenSubnormalF16(a) : a < 31744 ? 939524096 + 8192 * a :
    a == 31744 ? 2139095040 :
    a < 32256 ? 2139095040 + 4194304 + 8192 * (a - 31744) : 2139095040 + 8192 * (a - 31744);
  logic integer WidenF16(integer h) =
    2147483648 * (h / 32768) + WidenMagnitudeF16(h % 32768);

  // x * 4^e, x * 2^(16 q), x * 2^(32 q)
  logic integer Shift4(integer e, integer x) = e <= 0 ? x : 4 * Shift4(e - 1, x);
  logic integer Shift16(integer q, integer x) = q <= 0 ? x : 65536 * Shift16(q - 1, x);
  logic integer Shift32(integer q, integer x) = q <= 0 ? x : 4294967296 * Shift32(q - 1, x);

  // x^2 * 2^298 of a finite pattern, 0 of any other: non-finite elements do not count
  logic integer Square32(integer u) = Shift4(Exp32(u), Mant32(u) * Mant32(u));
  logic integer Counted32(integer u) = BiasedExp32(u) < 255 ? Square32(u) : 0;
  logic integer NonFinite32(integer u) = BiasedExp32(u) < 255 ? 0 : 1;
  logic integer NonFiniteB16(integer h) = (h / 128) % 256 < 255 ? 0 : 1;
  logic integer NonFiniteF16(integer h) = (h / 1024) % 32 < 31 ? 0 : 1;

  logic integer SumSquares32{L}(uint32_t *x, integer n) =
    n <= 0 ? 0 : SumSquares32(x, n - 1) + Counted32(x[n - 1]);
  logic integer CountNonFinite32{L}(uint32_t *x, integer n) =
    n <= 0 ? 0 : CountNonFinite32(x, n - 1) + NonFinite32(x[n - 1]);

  logic integer SumSquaresB16{L}(uint16_t *x, integer n) =
    n <= 0 ? 0 : SumSquaresB16(x, n - 1) + Counted32(WidenB16(x[n - 1]));
  logic integer CountNonFiniteB16{L}(uint16_t *x, integer n) =
    n <= 0 ? 0 : CountNonFiniteB16(x, n - 1) + NonFiniteB16(x[n - 1]);
  logic integer SumSquaresF16{L}(uint16_t *x, integer n) =
    n <= 0 ? 0 : SumSquaresF16(x, n - 1) + Counted32(WidenF16(x[n - 1]));
  logic integer CountNonFiniteF16{L}(uint16_t *x, integer n) =
    n <= 0 ? 0 : CountNonFiniteF16(x, n - 1) + NonFiniteF16(x[n - 1]);

  // bins: bin q has weight 2^(16 q)
  logic integer BinSum{L}(int64_t *a, integer n) =
    n <= 0 ? 0 : BinSum(a, n - 1) + Shift16(n - 1, a[n - 1]);
  logic integer BinPrefix{L}(int64_t *lo, int64_t *hi, integer n) =
    BinSum(lo, n) + 2147483648 * BinSum(hi, n);
  logic integer BinValue{L}(int64_t *lo, int64_t *hi) = BinPrefix(lo, hi, 32);
  // two neighbouring bins, in units of the lower one's weight: 1, 2^16, and 2^31 times those
  logic integer PairValue(integer lo0, integer lo1, integer hi0, integer hi1) =
    lo0 + 65536 * lo1 + 2147483648 * hi0 + 140737488355328 * hi1;
  predicate BinsBounded{L}(int64_t *lo, int64_t *hi, integer k) =
    \forall integer q; 0 <= q < 32 ==>
      0 <= lo[q] <= k * 2147483647 && 0 <= hi[q] <= k * 2147483647;

  // limbs: limb i has weight 2^(32 i)
  logic integer LimbSum{L}(int64_t *a, integer n) =
    n <= 0 ? 0 : LimbSum(a, n - 1) + Shift32(n - 1, a[n - 1]);
  predicate Canonical{L}(int64_t *a, integer n) =
    \forall integer i; 0 <= i < n ==> 0 <= a[i] < 4294967296;
*/

#endif
