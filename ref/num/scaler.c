#include "scaler.h"

int zp_scaler_init(zp_scaler *s, int32_t dynamic, int32_t log2_scale, int32_t log2_min,
                   int32_t log2_max, int64_t window, int32_t hysteresis, int32_t consecutive)
{
  if (dynamic < 0 || dynamic > 1 || consecutive < 0 || consecutive > 1) return -1;
  if (log2_min < -ZP_LOG2_SCALE_MAX || log2_max > ZP_LOG2_SCALE_MAX) return -1;
  if (log2_scale < log2_min || log2_scale > log2_max) return -1;
  if (window < 1 || hysteresis < 1) return -1;
  s->dynamic = dynamic;
  s->log2_scale = log2_scale;
  s->log2_min = log2_min;
  s->log2_max = log2_max;
  s->window = window;
  s->hysteresis = hysteresis;
  s->consecutive = consecutive;
  s->iter = 0;
  s->last_overflow = -1;
  s->hysteresis_left = hysteresis;
  return 0;
}

int zp_scaler_from_f64(uint64_t bits, int32_t *log2_scale)
{
  if (bits % 4503599627370496u != 0) return -1;
  uint64_t be = bits / 4503599627370496u; /* sign and exponent: too large if negative */
  if (be < 1023u - ZP_LOG2_SCALE_MAX || be > 1023u + ZP_LOG2_SCALE_MAX) return -1;
  *log2_scale = (int32_t)be - 1023;
  return 0;
}

/* The rule for a step with an overflow.
 * s: as for zp_scaler_update, dynamic. Errors: none.
 * spec: SCALE-3
 */
/*@ requires valid: \valid(s);
    requires ok: ScalerOk(s);
    requires dynamic: s->dynamic == 1;
    terminates \true; exits \false;
    assigns s->log2_scale, s->hysteresis_left;
    ensures scale: s->log2_scale == \old(NextLog2(s, 1));
    ensures left: s->hysteresis_left == \old(NextLeft(s, 1));
*/
static void lower(zp_scaler *s)
{
  if (s->hysteresis_left > 1) {
    s->hysteresis_left -= 1;
    return;
  }
  if (s->log2_scale > s->log2_min) s->log2_scale -= 1;
}

/* The rule for a clean step: the scale doubles `window` clean steps after the first clean step that
 * follows an overflow, and then after every `window` clean steps.
 * s: as for zp_scaler_update, dynamic, iter < 2^62. Errors: none.
 * spec: SCALE-4
 */
/*@ requires valid: \valid(s);
    requires ok: ScalerOk(s);
    requires dynamic: s->dynamic == 1;
    requires iter: s->iter < 4611686018427387904;
    terminates \true; exits \false;
    assigns s->log2_scale, s->hysteresis_left;
    ensures scale: s->log2_scale == \old(NextLog2(s, 0));
    ensures left: s->hysteresis_left == \old(NextLeft(s, 0));
*/
static void raise_after_window(zp_scaler *s)
{
  if (s->consecutive == 1) s->hysteresis_left = s->hysteresis;
  int64_t clean = s->iter - s->last_overflow - 1; /* clean steps before this one */
  if (clean == 0 || clean % s->window != 0) return;
  s->hysteresis_left = s->hysteresis;
  if (s->log2_scale < s->log2_max) s->log2_scale += 1;
}

void zp_scaler_update(zp_scaler *s, int32_t overflow)
{
  if (s->dynamic == 0) return;
  if (overflow != 0) {
    lower(s);
    s->last_overflow = s->iter;
  } else {
    raise_after_window(s);
  }
  s->iter += 1;
}
