/* Exact signed sums of floating-point numbers, one per element, and their rounded means.
 *
 * An element's sum is the integer sum over q of limb[q] * 2^(32 q), times 2^-149: the smallest fp32
 * subnormal is the unit, the largest fp32 number is below 2^277 units and 2^40 of them below 2^317.
 * So the top limb, of weight 2^256, stays below 2^61 in magnitude.
 */
#ifndef ZP_REF_NUM_VALUE_H
#define ZP_REF_NUM_VALUE_H
#include <stdint.h>

#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/value.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { ZP_VAL_LIMBS = 9 };

/* Adds x[i] exactly to the sum of element i; a non-finite x[i] adds nothing.
 * limbs: (n, ZP_VAL_LIMBS), element-major, zeroed by the caller before the first addition. x: (n)
 * fp32 patterns, not overlapping limbs. n from 0 to 2^59. Before the call each limb has magnitude
 * at most 2^63 - 2^33. This holds with at most 2^30 additions to an element between two calls of
 * zp_val_normalise and 2^40 in total (lemma ElementBounded_Small). Errors: none; non-finite
 * elements are counted by zp_nonfinite_f32.
 * spec: SUM-5, SUM-6
 */
/*@ requires valid: \valid(limbs + (0 .. 9 * n - 1)) && \valid_read(x + (0 .. n - 1));
    requires size: 0 <= n <= 576460752303423488;
    requires apart: \separated(limbs + (0 .. 9 * n - 1), x + (0 .. n - 1));
    requires small: LimbsSmall(limbs, 0, 9 * n, 9223372028264841216);
    terminates \true; exits \false;
    assigns limbs[0 .. 9 * n - 1];
    ensures added: \forall integer i; 0 <= i < n ==>
      ElementSum(limbs, i) == \old(ElementSum(limbs, i)) + \old(Value32(x[i]));
    ensures step: \forall integer k; 0 <= k < 9 * n ==>
      -4294967296 < limbs[k] - \old(limbs[k]) < 4294967296;
    ensures bounded: \forall integer i, k, c; 0 <= i < n && 0 <= k && 0 <= c &&
      \old(ElementBounded(limbs, i, k, c)) ==> ElementBounded(limbs, i, k + 1, c + 1);
*/
void zp_val_add_f32(int64_t *limbs, const uint32_t *x, int64_t n);

/* Adds x[i], a bf16 pattern, exactly to the sum of element i; a non-finite x[i] adds nothing.
 * limbs, n: as for zp_val_add_f32. x: (n), not overlapping limbs. Errors: none.
 * spec: SUM-5
 */
/*@ requires valid: \valid(limbs + (0 .. 9 * n - 1)) && \valid_read(x + (0 .. n - 1));
    requires size: 0 <= n <= 576460752303423488;
    requires apart: \separated(limbs + (0 .. 9 * n - 1), x + (0 .. n - 1));
    requires small: LimbsSmall(limbs, 0, 9 * n, 9223372028264841216);
    terminates \true; exits \false;
    assigns limbs[0 .. 9 * n - 1];
    ensures added: \forall integer i; 0 <= i < n ==>
      ElementSum(limbs, i) == \old(ElementSum(limbs, i)) + \old(Value32(WidenB16(x[i])));
    ensures step: \forall integer k; 0 <= k < 9 * n ==>
      -4294967296 < limbs[k] - \old(limbs[k]) < 4294967296;
    ensures bounded: \forall integer i, k, c; 0 <= i < n && 0 <= k && 0 <= c &&
      \old(ElementBounded(limbs, i, k, c)) ==> ElementBounded(limbs, i, k + 1, c + 1);
*/
void zp_val_add_bf16(int64_t *limbs, const uint16_t *x, int64_t n);

/* Adds x[i], an fp16 pattern, exactly to the sum of element i; a non-finite x[i] adds nothing.
 * limbs, n: as for zp_val_add_f32. x: (n), not overlapping limbs. Errors: none.
 * spec: SUM-5
 */
/*@ requires valid: \valid(limbs + (0 .. 9 * n - 1)) && \valid_read(x + (0 .. n - 1));
    requires size: 0 <= n <= 576460752303423488;
    requires apart: \separated(limbs + (0 .. 9 * n - 1), x + (0 .. n - 1));
    requires small: LimbsSmall(limbs, 0, 9 * n, 9223372028264841216);
    terminates \true; exits \false;
    assigns limbs[0 .. 9 * n - 1];
    ensures added: \forall integer i; 0 <= i < n ==>
      ElementSum(limbs, i) == \old(ElementSum(limbs, i)) + \old(Value32(WidenF16(x[i])));
    ensures step: \forall integer k; 0 <= k < 9 * n ==>
      -4294967296 < limbs[k] - \old(limbs[k]) < 4294967296;
    ensures bounded: \forall integer i, k, c; 0 <= i < n && 0 <= k && 0 <= c &&
      \old(ElementBounded(limbs, i, k, c)) ==> ElementBounded(limbs, i, k + 1, c + 1);
*/
void zp_val_add_f16(int64_t *limbs, const uint16_t *x, int64_t n);

/* Carries within each of the n elements, keeping their values: limbs 0 to 7 end in [0, 2^32), the
 * top limb carries the sign.
 * limbs: (n, ZP_VAL_LIMBS), each limb of magnitude at most 2^63 - 2^33. n from 0 to 2^59.
 * Errors: none.
 * spec: SUM-6
 */
/*@ requires valid: \valid(limbs + (0 .. 9 * n - 1));
    requires size: 0 <= n <= 576460752303423488;
    requires small: LimbsSmall(limbs, 0, 9 * n, 9223372028264841216);
    terminates \true; exits \false;
    assigns limbs[0 .. 9 * n - 1];
    ensures settled: \forall integer i; 0 <= i < n ==> ElementSettled(limbs, i);
    ensures kept: \forall integer i; 0 <= i < n ==>
      ElementSum(limbs, i) == \old(ElementSum(limbs, i));
    ensures bounded: \forall integer i, k, c; 0 <= i < n &&
      \old(ElementBounded(limbs, i, k, c)) ==> ElementBounded(limbs, i, 0, c);
*/
void zp_val_normalise(int64_t *limbs, int64_t n);

/* The bits of the fp32 number nearest to (exact sum) / divisor, ties to even: one rounding.
 * limb: (ZP_VAL_LIMBS), carried or not; each of magnitude at most 2^63 - 2^33. divisor: 1 to 2^40.
 * An exact zero gives +0; a non-zero sum that rounds to zero keeps its sign; a value that is too
 * large gives an infinity. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid_read(limb + (0 .. 8));
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires small: LimbsSmall(limb, 0, 9, 9223372028264841216);
    terminates \true; exits \false;
    assigns \nothing;
    ensures not_nan: \result % 2147483648 <= 2139095040;
    ensures rounded: RoundedQuotient32(LimbSum(limb, 9), divisor, \result);
*/
uint32_t zp_val_mean_f32(const int64_t limb[ZP_VAL_LIMBS], int64_t divisor);

#ifdef __cplusplus
}
#endif
#endif
