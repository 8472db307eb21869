#include "decide.h"

#include "exact.h"
#include "ieee.h"
#include "norm.h"
#include "optim.h"
#include "value.h"

static const uint64_t inf64 = 9218868437227405312u;
static const uint32_t inf32 = 2139095040u, nan32 = 2143289344u;

/* The norm and the factor of a step that is not skipped.
 * squares, clip, eps: as for zp_decide, out apart from squares; out->log2_scale: -126 to 126.
 * Errors: none.
 * spec: STAT-4, STEP-6
 */
/*@ requires valid: \valid_read(squares + (0 .. 19)) && \valid(out);
    requires apart: \separated(squares + (0 .. 19), out);
    requires squares: \forall integer i; 0 <= i < 20 ==> 0 <= squares[i] <= 4503599627370496;
    requires top: squares[19] < 2147483648;
    requires scale: -126 <= out->log2_scale <= 126;
    terminates \true; exits \false;
    assigns out->norm_scaled, out->norm_f64, out->norm_f32, out->clip_factor;
    ensures norm: RoundedRoot64(\old(LimbSum(squares, 20)), out->norm_scaled);
    ensures norm_f32: RoundedRoot32(\old(LimbSum(squares, 20)), out->norm_f32);
    ensures unscaled: out->norm_f64 == Mul64(out->norm_scaled, Power64(-out->log2_scale));
    ensures factor:
      Bits64(out->clip_factor) == ClipFactor(out->norm_f64, Bits64(clip), Bits64(eps));
*/
static void measure(const int64_t squares[20], double clip, double eps, zp_decision *out)
{
  int64_t limb[ZP_SQ_LIMBS];
  /*@ loop invariant i_range: 0 <= i <= ZP_SQ_LIMBS;
      loop invariant copied: \forall integer j; 0 <= j < i ==> limb[j] == squares[j];
      loop assigns i, limb[0 .. ZP_SQ_LIMBS - 1];
      loop variant ZP_SQ_LIMBS - i; */
  for (int32_t i = 0; i < ZP_SQ_LIMBS; i++) limb[i] = squares[i];
  //@ assert copy: LimbSum(&limb[0], 20) == LimbSum{Pre}(squares, 20);
  zp_limbs_normalise(limb, ZP_SQ_LIMBS);
  //@ assert value: LimbSum(&limb[0], 20) == LimbSum{Pre}(squares, 20);
  //@ assert canonical: Canonical(&limb[0], 20);
  out->norm_scaled = zp_norm_f64(limb);
  out->norm_f32 = zp_norm_f32(limb);
  /* 2^-log2_scale is a normal fp64 number, and the product exact unless it is subnormal */
  uint64_t power = (uint64_t)(1023 - out->log2_scale) * 4503599627370496u;
  double norm = zp_mul64(zp_f64_of_bits(out->norm_scaled), zp_f64_of_bits(power));
  out->norm_f64 = zp_f64_bits(norm);
  out->clip_factor = zp_clip_factor(norm, clip, eps);
}

void zp_decide(const int64_t squares[20], const int64_t loss[9], int64_t nonfinite,
               int64_t bad_loss, int64_t divisor, double clip, double eps, zp_scaler *scaler,
               zp_decision *out)
{
  out->skipped = nonfinite != 0 ? 1 : 0;
  out->nonfinite = nonfinite;
  out->log2_scale = scaler->log2_scale;
  out->loss = nan32;
  if (bad_loss == 0) out->loss = zp_val_mean_f32(loss, divisor);
  if (nonfinite == 0) {
    measure(squares, clip, eps, out);
  } else {
    out->norm_scaled = inf64;
    out->norm_f64 = inf64;
    out->norm_f32 = inf32;
    out->clip_factor = zp_one64();
  }
  zp_scaler_update(scaler, out->skipped);
}
