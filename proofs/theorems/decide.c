/* Family 7: ranks with equal statistics and equal scalers make equal decisions, bit for bit. The
 * function is a harness: its contract is the theorem, its body makes the calls. equal_scalers in
 * step.c shows that the scalers stay equal. */
#include "../../ref/num/decide.h"
#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/norm_unique.h"

//@ check lemma sentinel: \false;

typedef struct two {
  zp_decision a, b;
} two;

/* Two ranks' decisions from equal statistics, each with its own scaler (_b: the second rank's) in
 * equal states: skipped, scale, losses, norms and clip factors are equal. STEP-6 */
/*@ requires a: \valid_read(squares + (0 .. 19)) && \valid_read(loss + (0 .. 8)) &&
      Canonical(squares, 20) && LimbsSmall(loss, 0, 9, 9223372028264841216);
    requires b: \valid_read(squares_b + (0 .. 19)) && \valid_read(loss_b + (0 .. 8)) &&
      Canonical(squares_b, 20) && LimbsSmall(loss_b, 0, 9, 9223372028264841216);
    requires sum: LimbSum(squares, 20) == LimbSum(squares_b, 20);
    requires sum_loss: LimbSum(loss, 9) == LimbSum(loss_b, 9);
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires scalers: \valid_read(scaler) && \valid_read(scaler_b) && ScalerOk(scaler) &&
      SameScaler{Here,Here}(scaler, scaler_b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures skipped: \result.a.skipped == \result.b.skipped && \result.a.nonfinite ==
          \result.b.nonfinite;
    ensures scale: \result.a.log2_scale == \result.b.log2_scale;
    ensures norm: \result.a.norm_scaled == \result.b.norm_scaled;
    ensures norm_f64: \result.a.norm_f64 == \result.b.norm_f64;
    ensures norm_f32: \result.a.norm_f32 == \result.b.norm_f32;
    ensures loss: \result.a.loss == \result.b.loss;
    ensures factor: Bits64(\result.a.clip_factor) == Bits64(\result.b.clip_factor);
    check ensures control_norm: \result.a.norm_scaled == \result.b.norm_f64;
*/
two equal_decisions(const int64_t *squares, const int64_t *loss, const int64_t *squares_b,
                    const int64_t *loss_b, int64_t nonfinite, int64_t bad_loss, int64_t divisor,
                    double clip, double eps, const zp_scaler *scaler, const zp_scaler *scaler_b)
{
  zp_decision da =
      zp_judge(squares, loss, nonfinite, bad_loss, divisor, clip, eps, scaler->log2_scale);
  zp_decision db =
      zp_judge(squares_b, loss_b, nonfinite, bad_loss, divisor, clip, eps, scaler_b->log2_scale);
  //@ assert positive: 0 <= LimbSum(squares, 20);
  two both = {da, db};
  return both;
}
