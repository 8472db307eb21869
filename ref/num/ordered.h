/* Ordered fp32 accumulation, one IEEE addition per element and call, in the order of the calls; and
 * its mean. */
#ifndef ZP_REF_NUM_ORDERED_H
#define ZP_REF_NUM_ORDERED_H
#include <stdint.h>

#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/step.h"
#ifdef __cplusplus
extern "C" {
#endif

/* acc[i] = acc[i] + x[i], rounded to nearest even in fp32, for every i.
 * acc, x: (n), not overlapping. n >= 0. Infinities and NaNs propagate. Errors: none.
 * spec: RED-4
 */
/*@ requires valid: \valid(acc + (0 .. n - 1)) && \valid_read(x + (0 .. n - 1)) && 0 <= n;
    requires apart: \separated(acc + (0 .. n - 1), x + (0 .. n - 1));
    terminates \true; exits \false;
    assigns acc[0 .. n - 1];
    ensures sum: \forall integer i; 0 <= i < n ==>
      Bits32(acc[i]) == Add32(\old(Bits32(acc[i])), Bits32(x[i]));
*/
void zp_ordered_add_f32(float *acc, const float *x, int64_t n);

/* mean[i] = sum[i] / divisor, in fp64, rounded to nearest even to fp32, for every i.
 * sum, mean: (n), not overlapping. n >= 0. divisor: 1 to 2^40. Infinities and NaNs propagate.
 * Errors: none.
 * spec: RED-2
 */
/*@ requires valid: \valid(mean + (0 .. n - 1)) && \valid_read(sum + (0 .. n - 1)) && 0 <= n;
    requires apart: \separated(mean + (0 .. n - 1), sum + (0 .. n - 1));
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    terminates \true; exits \false;
    assigns mean[0 .. n - 1];
    ensures mean: \forall integer i; 0 <= i < n ==>
      Bits32(mean[i]) == OrderedMean(Bits32(sum[i]), divisor);
*/
void zp_ordered_mean_f32(float *mean, const float *sum, int64_t divisor, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
