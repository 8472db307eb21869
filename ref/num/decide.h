/* The decision of a step from the agreed statistics alone: skip or step, the norm, the clip factor,
 * and the scaler's next state. Equal inputs give equal decisions on every rank. */
#ifndef ZP_REF_NUM_DECIDE_H
#define ZP_REF_NUM_DECIDE_H
#include <stdint.h>

#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/norm.h"
#include "../../spec/acsl/skip.h"
#include "../../spec/acsl/step.h"
#include "../../spec/acsl/value.h"
#include "scaler.h"
#ifdef __cplusplus
extern "C" {
#endif

/* skipped: 1 if a gradient value or a loss was not finite. log2_scale: exponent of the scale that
 * multiplied the loss. nonfinite: the agreed count. loss: fp32 bits of the mean loss, NaN if a
 * loss was not finite. norm_scaled, norm_f64: fp64 bits of the reduced gradient's norm with and
 * without the scale; norm_f32: the norm with the scale in fp32; all +infinity if skipped.
 * clip_factor: 1 if skipped.
 */
typedef struct zp_decision {
  int32_t skipped, log2_scale;
  int64_t nonfinite;
  uint32_t loss, norm_f32;
  uint64_t norm_scaled, norm_f64;
  double clip_factor;
} zp_decision;

/* Carries the agreed squares into canonical limbs, keeping their value.
 * squares: (20) limbs with a value of 0 to 2^640 - 1 (the sum over all ranks is within this range,
 * by the limits), each of magnitude at most 2^63 - 2^33. Errors: none.
 * spec: SUM-3, STAT-4
 */
/*@ requires valid: \valid(squares + (0 .. 19));
    requires small: \forall integer i; 0 <= i < 20 ==>
      -9223372028264841216 <= squares[i] <= 9223372028264841216;
    requires sum: 0 <= LimbSum(squares, 20) < Shift32(19, 4294967296);
    terminates \true; exits \false;
    assigns squares[0 .. 19];
    ensures canonical: Canonical(squares, 20);
    ensures value: LimbSum(squares, 20) == \old(LimbSum(squares, 20));
*/
void zp_squares_settle(int64_t squares[20]);

/* Decides a step without updating the scaler; zp_decide does both.
 * squares: (20) canonical limbs. loss: (9) limbs of magnitude at most 2^63 - 2^33. nonfinite,
 * bad_loss: the agreed counts; the step is skipped if one of them is not zero. divisor:
 * micro-batches times dp, 1 to 2^40. clip, eps: as for zp_clip_factor. log2_scale: exponent of the
 * scale that multiplied the loss, -126 to 126.
 * Errors: none.
 * spec: STEP-6, STAT-3, STAT-4, STAT-5
 */
/*@ requires valid: \valid_read(squares + (0 .. 19)) && \valid_read(loss + (0 .. 8));
    requires canonical: Canonical(squares, 20);
    requires loss: LimbsSmall(loss, 0, 9, 9223372028264841216);
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires scale: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns \nothing;
    ensures skipped: \result.skipped == Skipped(nonfinite, bad_loss);
    ensures counted: \result.nonfinite == nonfinite;
    ensures backward_scale: \result.log2_scale == log2_scale;
    ensures loss: bad_loss == 0 ==> RoundedQuotient32(LimbSum(loss, 9), divisor, \result.loss);
    ensures bad_loss: bad_loss != 0 ==> \result.loss == 2143289344;
    ensures norm: Skipped(nonfinite, bad_loss) == 0 ==>
      RoundedRoot64(LimbSum(squares, 20), \result.norm_scaled);
    ensures norm_f32: Skipped(nonfinite, bad_loss) == 0 ==>
      RoundedRoot32(LimbSum(squares, 20), \result.norm_f32);
    ensures unscaled: Skipped(nonfinite, bad_loss) == 0 ==>
      \result.norm_f64 == Mul64(\result.norm_scaled, Power64(-log2_scale));
    ensures factor: Skipped(nonfinite, bad_loss) == 0 ==>
      Bits64(\result.clip_factor) == ClipFactor(\result.norm_f64, Bits64(clip), Bits64(eps));
    ensures skipped_norm: Skipped(nonfinite, bad_loss) == 1 ==>
      \result.norm_scaled == 9218868437227405312 &&
      \result.norm_f64 == 9218868437227405312 && \result.norm_f32 == 2139095040;
    ensures skipped_factor: Skipped(nonfinite, bad_loss) == 1 ==>
      Bits64(\result.clip_factor) == One64;
*/
zp_decision zp_judge(const int64_t squares[20], const int64_t loss[9], int64_t nonfinite,
                     int64_t bad_loss, int64_t divisor, double clip, double eps,
                     int32_t log2_scale);

/* Decides a step like zp_judge, with the scaler's scale, and then updates the scaler.
 * squares: (20) canonical limbs. loss: (9) limbs of magnitude at most 2^63 - 2^33. nonfinite,
 * bad_loss: the agreed counts; the step is skipped if one of them is not zero. divisor:
 * micro-batches times dp, 1 to 2^40. clip, eps: as for zp_clip_factor. scaler: as for
 * zp_scaler_update, iter < 2^62; not overlapping squares or loss.
 * Errors: none.
 * spec: STEP-6, STAT-3, STAT-4, STAT-5
 */
/*@ requires valid: \valid_read(squares + (0 .. 19)) && \valid_read(loss + (0 .. 8)) &&
      \valid(scaler);
    requires apart: \separated(scaler, squares + (0 .. 19), loss + (0 .. 8));
    requires canonical: Canonical(squares, 20);
    requires loss: LimbsSmall(loss, 0, 9, 9223372028264841216);
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires scaler: ScalerOk(scaler);
    requires iter: scaler->iter < 4611686018427387904;
    terminates \true; exits \false;
    assigns scaler->log2_scale, scaler->iter, scaler->last_overflow, scaler->hysteresis_left;
    ensures skipped: \result.skipped == Skipped(nonfinite, bad_loss);
    ensures counted: \result.nonfinite == nonfinite;
    ensures backward_scale: \result.log2_scale == \old(scaler->log2_scale);
    ensures loss: bad_loss == 0 ==>
      RoundedQuotient32(\old(LimbSum(loss, 9)), divisor, \result.loss);
    ensures bad_loss: bad_loss != 0 ==> \result.loss == 2143289344;
    ensures norm: Skipped(nonfinite, bad_loss) == 0 ==>
      RoundedRoot64(\old(LimbSum(squares, 20)), \result.norm_scaled);
    ensures norm_f32: Skipped(nonfinite, bad_loss) == 0 ==>
      RoundedRoot32(\old(LimbSum(squares, 20)), \result.norm_f32);
    ensures unscaled: Skipped(nonfinite, bad_loss) == 0 ==>
      \result.norm_f64 == Mul64(\result.norm_scaled, Power64(-\old(scaler->log2_scale)));
    ensures factor: Skipped(nonfinite, bad_loss) == 0 ==>
      Bits64(\result.clip_factor) == ClipFactor(\result.norm_f64, Bits64(clip), Bits64(eps));
    ensures skipped_norm: Skipped(nonfinite, bad_loss) == 1 ==>
      \result.norm_scaled == 9218868437227405312 &&
      \result.norm_f64 == 9218868437227405312 && \result.norm_f32 == 2139095040;
    ensures skipped_factor: Skipped(nonfinite, bad_loss) == 1 ==>
      Bits64(\result.clip_factor) == One64;
    ensures scale: scaler->log2_scale ==
      \old(NextLog2(scaler, Skipped(nonfinite, bad_loss)));
    ensures left: scaler->hysteresis_left ==
      \old(NextLeft(scaler, Skipped(nonfinite, bad_loss)));
    ensures last: scaler->last_overflow ==
      \old(NextLast(scaler, Skipped(nonfinite, bad_loss)));
    ensures iter: scaler->iter == \old(NextIter(scaler));
    ensures ok: ScalerOk(scaler);
*/
zp_decision zp_decide(const int64_t squares[20], const int64_t loss[9], int64_t nonfinite,
                      int64_t bad_loss, int64_t divisor, double clip, double eps,
                      zp_scaler *scaler);

#ifdef __cplusplus
}
#endif
#endif
