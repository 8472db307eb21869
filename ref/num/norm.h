/* The square root of an exact sum of squares, rounded once.
 *
 * limb: ZP_SQ_LIMBS canonical limbs as written by zp_sumsq_limbs, or merged and carried: V = sum
 * over i of limb[i] * 2^(32 i); the norm is sqrt(V) * 2^-149.
 */
#ifndef ZP_REF_NUM_NORM_H
#define ZP_REF_NUM_NORM_H
#include <stdint.h>

#include "../../spec/acsl/norm.h"
#include "exact.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The bits of the fp64 number nearest to the norm, ties to even.
 * limb: (ZP_SQ_LIMBS), canonical. 0 or within [2^-149, 2^171): never subnormal, never infinite.
 * Errors: none.
 * spec: NORM-1
 */
/*@ requires valid: \valid_read(limb + (0 .. 19));
    requires canonical: Canonical(limb, 20);
    terminates \true; exits \false;
    assigns \nothing;
    ensures finite: 0 <= \result < 9218868437227405312;
    ensures rounded: RoundedRoot64(LimbSum(limb, 20), \result);
*/
uint64_t zp_norm_f64(const int64_t limb[ZP_SQ_LIMBS]);

/* The bits of the fp32 number nearest to the norm, ties to even, rounded from the limbs directly
 * and not from the fp64 norm.
 * limb: (ZP_SQ_LIMBS), canonical. A value that is too large gives +infinity; the result may be
 * subnormal. Errors: none.
 * spec: NORM-2
 */
/*@ requires valid: \valid_read(limb + (0 .. 19));
    requires canonical: Canonical(limb, 20);
    terminates \true; exits \false;
    assigns \nothing;
    ensures not_nan: 0 <= \result <= 2139095040;
    ensures rounded: RoundedRoot32(LimbSum(limb, 20), \result);
*/
uint32_t zp_norm_f32(const int64_t limb[ZP_SQ_LIMBS]);

#ifdef __cplusplus
}
#endif
#endif
