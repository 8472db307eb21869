/* Dynamic loss scale: DeepSpeed's rule, the scale held as the exponent of a power of two.
 *
 * Every rank holds a copy and updates it with the agreed overflow flag, so copies stay equal.
 * Two things differ from DeepSpeed: at the minimum the scale stays there (no exception), and
 * there is a maximum, so that the scale and its reciprocal are always normal fp32 numbers.
 */
#ifndef ZP_REF_NUM_SCALER_H
#define ZP_REF_NUM_SCALER_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* 2^126 and 2^-126 are both normal fp32 numbers; 2^127 has no normal reciprocal. */
enum { ZP_LOG2_SCALE_MAX = 126 };

/* dynamic: 0 or 1. log2_*: exponents of two, log2_min <= log2_scale <= log2_max. window: clean
 * steps between raises. hysteresis: overflows borne, the last of which lowers the scale.
 * consecutive: 1 if every clean step refills the hysteresis. iter: updates so far. last_overflow:
 * the iter of the latest overflow, -1 before any. hysteresis_left: 1 .. hysteresis.
 */
typedef struct zp_scaler {
  int32_t dynamic;
  int32_t log2_scale, log2_min, log2_max;
  int64_t window;
  int32_t hysteresis, consecutive;
  int64_t iter, last_overflow;
  int32_t hysteresis_left;
} zp_scaler;

/*@ predicate ScalerOk{L}(zp_scaler *s) =
      (s->dynamic == 0 || s->dynamic == 1) && (s->consecutive == 0 || s->consecutive == 1) &&
      -126 <= s->log2_min <= s->log2_scale <= s->log2_max <= 126 &&
      1 <= s->window && 1 <= s->hysteresis_left <= s->hysteresis &&
      0 <= s->iter && -1 <= s->last_overflow && (s->last_overflow < s->iter);
*/

/* Sets up a loss scale of 2^log2_scale.
 * dynamic, consecutive: 0 or 1. -126 <= log2_min <= log2_scale <= log2_max <= 126. window >= 1,
 * hysteresis >= 1.
 * Errors: -1 if any of these does not hold, and s is untouched; otherwise 0.
 * spec: SCALE-1
 */
/*@ requires valid: \valid(s);
    terminates \true; exits \false;
    assigns *s;
    ensures code: \result == 0 || \result == -1;
    ensures ok: \result == 0 ==> ScalerOk(s) && s->log2_scale == log2_scale && s->iter == 0;
    ensures refused: \result == -1 ==> *s == \old(*s);
*/
int zp_scaler_init(zp_scaler *s, int32_t dynamic, int32_t log2_scale, int32_t log2_min,
                   int32_t log2_max, int64_t window, int32_t hysteresis, int32_t consecutive);

/* The exponent of a scale given as the bits of an fp64 number.
 * bits: any pattern. log2_scale: -126 to 126 when accepted.
 * Errors: -1 if the number is not a power of two in that range (so also if negative, zero,
 * non-finite), and *log2_scale is untouched; otherwise 0.
 * spec: SCALE-2
 */
/*@ requires valid: \valid(log2_scale);
    terminates \true; exits \false;
    assigns *log2_scale;
    ensures code: \result == 0 || \result == -1;
    ensures power: \result == 0 ==>
      -126 <= *log2_scale <= 126 && bits == (*log2_scale + 1023) * 4503599627370496;
    ensures refused: \result == -1 ==> *log2_scale == \old(*log2_scale);
*/
int zp_scaler_from_f64(uint64_t bits, int32_t *log2_scale);

/* One step of the rule, after the step's decision.
 * overflow: non-zero if any rank saw a non-finite gradient in this step. s->iter < 2^62.
 * A static scale (dynamic 0) changes nothing. Errors: none.
 * spec: SCALE-3, SCALE-4
 */
/*@ requires valid: \valid(s);
    requires ok: ScalerOk(s);
    requires iter: s->iter < 4611686018427387904;
    terminates \true; exits \false;
    assigns s->log2_scale, s->iter, s->last_overflow, s->hysteresis_left;
    ensures ok: ScalerOk(s);
    ensures step: s->log2_scale - 1 <= \old(s->log2_scale) <= s->log2_scale + 1;
    ensures lower: overflow != 0 ==> s->log2_scale <= \old(s->log2_scale);
    ensures raise: overflow == 0 ==> s->log2_scale >= \old(s->log2_scale);
    ensures fixed: s->dynamic == 0 ==> *s == \old(*s);
*/
void zp_scaler_update(zp_scaler *s, int32_t overflow);

#ifdef __cplusplus
}
#endif
#endif
