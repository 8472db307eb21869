/* What a step does, decided from the agreed statistics alone: skip or step, the norm, the factor
 * that clips, and the scaler's next state. Equal inputs give equal decisions on every rank. */
#ifndef ZP_REF_NUM_DECIDE_H
#define ZP_REF_NUM_DECIDE_H
#include <stdint.h>

#include "../../spec/acsl/norm.h"
#include "../../spec/acsl/step.h"
#include "../../spec/acsl/value.h"
#include "scaler.h"
#ifdef __cplusplus
extern "C" {
#endif

/* skipped: 1 when a value was not finite. log2_scale: the scale that was multiplied into the loss.
 * nonfinite: the agreed count. loss: fp32 bits of the mean loss, NaN when a loss was not finite.
 * norm_scaled, norm_f64: fp64 bits of the reduced gradient's norm as it is and without the scale;
 * norm_f32: fp32 bits of the first; all +infinity when skipped. clip_factor: 1 when skipped.
 */
typedef struct zp_decision {
  int32_t skipped, log2_scale;
  int64_t nonfinite;
  uint32_t loss, norm_f32;
  uint64_t norm_scaled, norm_f64;
  double clip_factor;
} zp_decision;

/* Decides a step and moves the scaler on.
 * squares: (20) limbs, sums of at most 2^20 ranks' canonical limbs: each 0 to 2^52, the top one,
 * far above any sum within the limits, below 2^31. loss: (9) limbs of magnitude at most
 * 2^63 - 2^33. nonfinite, bad_loss: the agreed counts. divisor: micro-batches times dp, 1 to 2^40.
 * clip, eps: as for zp_clip_factor. scaler: as for zp_scaler_update, iter < 2^62. All apart.
 * Errors: none.
 * spec: STEP-6, STAT-4, STAT-5
 */
/*@ requires valid: \valid_read(squares + (0 .. 19)) && \valid_read(loss + (0 .. 8)) &&
      \valid(scaler) && \valid(out);
    requires apart: \separated(squares + (0 .. 19), loss + (0 .. 8), scaler, out);
    requires squares: \forall integer i; 0 <= i < 20 ==> 0 <= squares[i] <= 4503599627370496;
    requires top: squares[19] < 2147483648;
    requires loss: LimbsSmall(loss, 0, 9, 9223372028264841216);
    requires divisor: 1 <= divisor <= 1099511627776;
    requires scaler: ScalerOk(scaler) && scaler->iter < 4611686018427387904;
    terminates \true; exits \false;
    assigns *out, scaler->log2_scale, scaler->iter, scaler->last_overflow, scaler->hysteresis_left;
    ensures skipped: out->skipped == (nonfinite != 0 ? 1 : 0);
    ensures counted: out->nonfinite == nonfinite;
    ensures backward_scale: out->log2_scale == \old(scaler->log2_scale);
    ensures loss: bad_loss == 0 ==> RoundedQuotient32(\old(LimbSum(loss, 9)), divisor, out->loss);
    ensures bad_loss: bad_loss != 0 ==> out->loss == 2143289344;
    ensures norm: nonfinite == 0 ==> RoundedRoot64(\old(LimbSum(squares, 20)), out->norm_scaled);
    ensures norm_f32: nonfinite == 0 ==> RoundedRoot32(\old(LimbSum(squares, 20)), out->norm_f32);
    ensures unscaled: nonfinite == 0 ==>
      out->norm_f64 == Mul64(out->norm_scaled, Power64(-out->log2_scale));
    ensures factor: nonfinite == 0 ==>
      Bits64(out->clip_factor) == ClipFactor(out->norm_f64, Bits64(clip), Bits64(eps));
    ensures skipped_norm: nonfinite != 0 ==> out->norm_scaled == 9218868437227405312 &&
      out->norm_f64 == 9218868437227405312 && out->norm_f32 == 2139095040;
    ensures skipped_factor: nonfinite != 0 ==> Bits64(out->clip_factor) == One64;
    ensures scale: scaler->log2_scale == \old(NextLog2(scaler, nonfinite));
    ensures left: scaler->hysteresis_left == \old(NextLeft(scaler, nonfinite));
    ensures last: scaler->last_overflow == \old(NextLast(scaler, nonfinite));
    ensures iter: scaler->iter == \old(NextIter(scaler));
    ensures scaler: ScalerOk(scaler);
*/
void zp_decide(const int64_t squares[20], const int64_t loss[9], int64_t nonfinite,
               int64_t bad_loss, int64_t divisor, double clip, double eps, zp_scaler *scaler,
               zp_decision *out);

#ifdef __cplusplus
}
#endif
#endif
