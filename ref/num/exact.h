/* Exact sum of squares of floating-point numbers, as integers.
 *
 * The square of a finite fp32 number is an integer times 2^-298. Squares are added in 64-bit bins
 * and carried into limbs of 32 bits; integer addition is associative, so the limbs are the same
 * for every order, every split over ranks, and every vector width. bf16 and fp16 numbers are fp32
 * numbers and are summed as such.
 */
#ifndef ZP_REF_NUM_EXACT_H
#define ZP_REF_NUM_EXACT_H
#include <stdint.h>

#include "../../spec/acsl/exact_defs.h"
#ifdef __cplusplus
extern "C" {
#endif

/* 32 bins: exponents 0..253 of fp32, 8 to a bin (a square moves two bits per exponent: 16 bits).
 * 20 limbs: the largest square is below 2^554, 2^63 of them below 2^617, 20 limbs hold 2^640.
 */
enum { ZP_SQ_BINS = 32, ZP_SQ_LIMBS = 20 };

/* A running exact sum of squares. lo, hi (ZP_SQ_BINS): bin q has weight 2^(16 q - 298), and in hi
 * 2^31 times that; `pending` elements were added since the bins were last carried into the limbs.
 * limb (ZP_SQ_LIMBS): canonical. Only the functions below write it.
 */
typedef struct zp_sumsq {
  int64_t lo[ZP_SQ_BINS];
  int64_t hi[ZP_SQ_BINS];
  int64_t pending;
  int64_t limb[ZP_SQ_LIMBS];
} zp_sumsq;

/*@ logic integer SumsqValue{L}(zp_sumsq *s) =
      BinValue(&s->lo[0], &s->hi[0]) + LimbSum(&s->limb[0], 20);
    predicate SumsqOk{L}(zp_sumsq *s) =
      0 <= s->pending <= 2147483648 &&
      BinsBounded(&s->lo[0], &s->hi[0], s->pending) && Canonical(&s->limb[0], 20);
    // a flush, at most one in 2^31 elements, raises the top limb by at most 1
    logic integer SumsqLoad{L}(zp_sumsq *s) = 2147483648 * s->limb[19] + s->pending;
    predicate SumsqRoom{L}(zp_sumsq *s, integer n) = SumsqLoad(s) + n < 9223372028264841216;
*/

/* Sets the sum to zero.
 * s: owned by the caller, may be uninitialized. Errors: none.
 * spec: SUM-1
 */
/*@ requires valid: \valid(s);
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s);
    ensures zero: SumsqValue(s) == 0;
    ensures load: SumsqLoad(s) == 0;
*/
void zp_sumsq_clear(zp_sumsq *s);

/* Adds the squares of the finite ones of the n fp32 patterns x exactly, and returns the number of
 * non-finite ones.
 * s: a sum initialized by zp_sumsq_clear. x: (n), not overlapping s. n >= 0; fewer than 2^62
 * elements in total are added to one sum. Errors: none.
 * spec: SUM-1, SUM-2
 */
/*@ requires valid: \valid(s) && \valid_read(x + (0 .. n - 1)) && 0 <= n < 4611686018427387904;
    requires apart: \separated(s, x + (0 .. n - 1));
    requires ok: SumsqOk(s);
    requires room: SumsqRoom(s, n);
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s);
    ensures sum: SumsqValue(s) == \old(SumsqValue(s)) + SumSquares32{Pre}(x, n);
    ensures load: SumsqLoad(s) <= \old(SumsqLoad(s)) + n;
    ensures count: \result == CountNonFinite32{Pre}(x, n);
*/
int64_t zp_sumsq_add_f32(zp_sumsq *s, const uint32_t *x, int64_t n);

/* Adds the squares of the finite ones of the n bf16 patterns x exactly, and returns the number of
 * non-finite ones.
 * s, n: as for zp_sumsq_add_f32. x: (n), not overlapping s. Errors: none.
 * spec: SUM-1, SUM-2
 */
/*@ requires valid: \valid(s) && \valid_read(x + (0 .. n - 1)) && 0 <= n < 4611686018427387904;
    requires apart: \separated(s, x + (0 .. n - 1));
    requires ok: SumsqOk(s);
    requires room: SumsqRoom(s, n);
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s);
    ensures sum: SumsqValue(s) == \old(SumsqValue(s)) + SumSquaresB16{Pre}(x, n);
    ensures load: SumsqLoad(s) <= \old(SumsqLoad(s)) + n;
    ensures count: \result == CountNonFiniteB16{Pre}(x, n);
*/
int64_t zp_sumsq_add_bf16(zp_sumsq *s, const uint16_t *x, int64_t n);

/* Adds the squares of the finite ones of the n fp16 patterns x exactly, and returns the number of
 * non-finite ones.
 * s, n: as for zp_sumsq_add_f32. x: (n), not overlapping s. Errors: none.
 * spec: SUM-1, SUM-2
 */
/*@ requires valid: \valid(s) && \valid_read(x + (0 .. n - 1)) && 0 <= n < 4611686018427387904;
    requires apart: \separated(s, x + (0 .. n - 1));
    requires ok: SumsqOk(s);
    requires room: SumsqRoom(s, n);
    terminates \true; exits \false;
    assigns *s;
    ensures ok: SumsqOk(s);
    ensures sum: SumsqValue(s) == \old(SumsqValue(s)) + SumSquaresF16{Pre}(x, n);
    ensures load: SumsqLoad(s) <= \old(SumsqLoad(s)) + n;
    ensures count: \result == CountNonFiniteF16{Pre}(x, n);
*/
int64_t zp_sumsq_add_f16(zp_sumsq *s, const uint16_t *x, int64_t n);

/* Writes the canonical limbs of the sum: value = sum over i of limb[i] * 2^(32 i) * 2^-298 with 0
 * <= limb[i] < 2^32; they are unique for a value, so sums can be compared bit by bit.
 * s: its bins are carried, its value does not change. limb: (ZP_SQ_LIMBS), not overlapping s.
 * Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(s) && \valid(limb + (0 .. 19));
    requires apart: \separated(s, limb + (0 .. 19));
    requires ok: SumsqOk(s);
    requires room: SumsqRoom(s, 0);
    terminates \true; exits \false;
    assigns *s, limb[0 .. 19];
    ensures ok: SumsqOk(s) && s->pending == 0;
    ensures same: SumsqValue(s) == \old(SumsqValue(s));
    ensures load: SumsqLoad(s) <= \old(SumsqLoad(s)) + 2147483648;
    ensures value: LimbSum(limb, 20) == \old(SumsqValue(s));
    ensures canonical: Canonical(limb, 20);
*/
void zp_sumsq_limbs(zp_sumsq *s, int64_t limb[ZP_SQ_LIMBS]);

/* Adds the limbs `from` to the limbs `into`, limb by limb, without carrying, like an all-reduce of
 * int64.
 * into, from: (n), not overlapping. Up to 2^20 canonical vectors may be added into one before
 * zp_limbs_normalise; in general no limb may overflow int64. Errors: none.
 * spec: SUM-4
 */
/*@ requires valid: \valid(into + (0 .. n - 1)) && \valid_read(from + (0 .. n - 1)) && 0 <= n;
    requires apart: \separated(into + (0 .. n - 1), from + (0 .. n - 1));
    requires fits: \forall integer i; 0 <= i < n ==>
      -9223372036854775808 <= into[i] + from[i] <= 9223372036854775807;
    terminates \true; exits \false;
    assigns into[0 .. n - 1];
    ensures added: \forall integer i; 0 <= i < n ==> into[i] == \old(into[i]) + \old(from[i]);
    ensures value: LimbSum(into, n) == \old(LimbSum(into, n)) + \old(LimbSum(from, n));
*/
void zp_limbs_merge(int64_t *into, const int64_t *from, int32_t n);

/* Carries, keeping the value: afterwards all limbs but the top one are in [0, 2^32); the top limb
 * is signed and changes by at most 2^31.
 * limb: (n), n >= 1, each of magnitude at most 2^63 - 2^33. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(limb + (0 .. n - 1)) && 1 <= n;
    requires small: \forall integer i; 0 <= i < n ==>
      -9223372028264841216 <= limb[i] <= 9223372028264841216;
    terminates \true; exits \false;
    assigns limb[0 .. n - 1];
    ensures canonical: Canonical(limb, n - 1);
    ensures top: -2147483648 <= limb[n - 1] - \old(limb[n - 1]) <= 2147483648;
    ensures value: LimbSum(limb, n) == \old(LimbSum(limb, n));
    ensures between: Shift32(n - 1, limb[n - 1]) <= \old(LimbSum(limb, n)) <
      Shift32(n - 1, limb[n - 1] + 1);
*/
void zp_limbs_normalise(int64_t *limb, int32_t n);

#ifdef __cplusplus
}
#endif
#endif
