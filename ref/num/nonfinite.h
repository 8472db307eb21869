/* Counts of infinities and NaNs. */
#ifndef ZP_REF_NUM_NONFINITE_H
#define ZP_REF_NUM_NONFINITE_H
#include <stdint.h>

#include "../../spec/acsl/exact_defs.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The number of infinities and NaNs among n fp32 patterns.
 * x: (n). n >= 0. Errors: none.
 * spec: NUM-3
 */
/*@ requires valid: \valid_read(x + (0 .. n - 1)) && 0 <= n;
    terminates \true; exits \false;
    assigns \nothing;
    ensures count: \result == CountNonFinite32(x, n);
    ensures range: 0 <= \result <= n;
*/
int64_t zp_nonfinite_f32(const uint32_t *x, int64_t n);

/* The number of infinities and NaNs among n bf16 patterns.
 * x: (n). n >= 0. Errors: none.
 * spec: NUM-3
 */
/*@ requires valid: \valid_read(x + (0 .. n - 1)) && 0 <= n;
    terminates \true; exits \false;
    assigns \nothing;
    ensures count: \result == CountNonFiniteB16(x, n);
    ensures range: 0 <= \result <= n;
*/
int64_t zp_nonfinite_bf16(const uint16_t *x, int64_t n);

/* The number of infinities and NaNs among n fp16 patterns.
 * x: (n). n >= 0. Errors: none.
 * spec: NUM-3
 */
/*@ requires valid: \valid_read(x + (0 .. n - 1)) && 0 <= n;
    terminates \true; exits \false;
    assigns \nothing;
    ensures count: \result == CountNonFiniteF16(x, n);
    ensures range: 0 <= \result <= n;
*/
int64_t zp_nonfinite_f16(const uint16_t *x, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
