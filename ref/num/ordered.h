/* Ordered fp32 accumulation: one IEEE addition per element and call, in the order of the calls. */
#ifndef ZP_REF_NUM_ORDERED_H
#define ZP_REF_NUM_ORDERED_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* acc[i] = acc[i] + x[i], rounded to nearest even in fp32, for every i.
 * acc, x: (n), apart. n >= 0. Infinities and NaNs propagate. Errors: none.
 * spec: RED-4
 */
/*@ requires valid: \valid(acc + (0 .. n - 1)) && \valid_read(x + (0 .. n - 1)) && 0 <= n;
    requires apart: \separated(acc + (0 .. n - 1), x + (0 .. n - 1));
    terminates \true; exits \false;
    assigns acc[0 .. n - 1];
*/
void zp_ordered_add_f32(float *acc, const float *x, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
