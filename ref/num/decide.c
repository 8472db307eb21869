#include "decide.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/exact_shifts.h"
#include "exact.h"
#include "ieee.h"
#include "norm.h"
#include "optim.h"
#include "value.h"

void zp_squares_settle(int64_t squares[20])
{
  zp_limbs_normalise(squares, ZP_SQ_LIMBS);
  //@ assert zero: Shift32(19, 0) == 0;
  //@ assert below: squares[19] < 4294967296;
  //@ assert not_negative: 0 <= squares[19];
}

/* Sets the fields that depend on the norm, for a step that is not skipped.
 * d: with its log2_scale, -126 to 126. squares, clip, eps: as for zp_decide. Errors: none.
 * spec: STAT-4, STEP-6
 */
/*@ requires valid: \valid_read(squares + (0 .. 19));
    requires canonical: Canonical(squares, 20);
    requires scale: -126 <= d.log2_scale <= 126;
    terminates \true; exits \false;
    assigns \nothing;
    ensures kept: \result.skipped == d.skipped && \result.nonfinite == d.nonfinite &&
      \result.log2_scale == d.log2_scale && \result.loss == d.loss;
    ensures norm: RoundedRoot64(LimbSum(squares, 20), \result.norm_scaled);
    ensures norm_f32: RoundedRoot32(LimbSum(squares, 20), \result.norm_f32);
    ensures unscaled: \result.norm_f64 == Mul64(\result.norm_scaled, Power64(-d.log2_scale));
    ensures factor:
      Bits64(\result.clip_factor) == ClipFactor(\result.norm_f64, Bits64(clip), Bits64(eps));
*/
static zp_decision measured(zp_decision d, const int64_t squares[20], double clip, double eps)
{
  d.norm_scaled = zp_norm_f64(squares);
  d.norm_f32 = zp_norm_f32(squares);
  /* 2^-log2_scale is a normal fp64 number, and the product exact unless it is subnormal */
  uint64_t power = (uint64_t)(1023 - d.log2_scale) * 4503599627370496u;
  double norm = zp_mul64(zp_f64_of_bits(d.norm_scaled), zp_f64_of_bits(power));
  d.norm_f64 = zp_f64_bits(norm);
  d.clip_factor = zp_clip_factor(norm, clip, eps);
  return d;
}

zp_decision zp_judge(const int64_t squares[20], const int64_t loss[9], int64_t nonfinite,
                     int64_t bad_loss, int64_t divisor, double clip, double eps, int32_t log2_scale)
{
  zp_decision d = {0};
  d.skipped = nonfinite != 0 || bad_loss != 0 ? 1 : 0;
  d.nonfinite = nonfinite;
  d.log2_scale = log2_scale;
  d.loss = 2143289344u; /* NaN */
  if (bad_loss == 0) d.loss = zp_val_mean_f32(loss, divisor);
  d.norm_scaled = 9218868437227405312u; /* infinity */
  d.norm_f64 = 9218868437227405312u;
  d.norm_f32 = 2139095040u;
  d.clip_factor = zp_one64();
  return d.skipped == 0 ? measured(d, squares, clip, eps) : d;
}

zp_decision zp_decide(const int64_t squares[20], const int64_t loss[9], int64_t nonfinite,
                      int64_t bad_loss, int64_t divisor, double clip, double eps, zp_scaler *scaler)
{
  zp_decision d =
      zp_judge(squares, loss, nonfinite, bad_loss, divisor, clip, eps, scaler->log2_scale);
  zp_scaler_update(scaler, d.skipped);
  return d;
}
