/* Dynamic loss scale: DeepSpeed's rule, the scale held as the exponent of a power of two.
 *
 * Every rank has a copy and updates it with the agreed overflow flag, so copies stay equal. Two
 * differences from DeepSpeed: at the minimum the scale stays constant (no exception), and there is
 * a maximum, so that the scale and its reciprocal are always normal fp32 numbers.
 */
#ifndef ZP_REF_NUM_SCALER_H
#define ZP_REF_NUM_SCALER_H
#include <stdint.h>

#include "../../spec/acsl/ieee.h"
#ifdef __cplusplus
extern "C" {
#endif

/* 2^126 and 2^-126 are both normal fp32 numbers; 2^127 has no normal reciprocal. */
enum { ZP_LOG2_SCALE_MAX = 126 };

/* dynamic: 0 or 1. log2_*: exponents of two, log2_min <= log2_scale <= log2_max. window: clean
 * steps between raises. hysteresis: number of overflows until the scale is lowered. consecutive: 1
 * if every clean step refills the hysteresis. iter: updates so far. last_overflow: the iter of the
 * latest overflow, -1 before any. hysteresis_left: 1 .. hysteresis.
 */
typedef struct zp_scaler {
  int32_t dynamic;
  int32_t log2_scale, log2_min, log2_max;
  int64_t window;
  int32_t hysteresis, consecutive;
  int64_t iter, last_overflow;
  int32_t hysteresis_left;
} zp_scaler;

#include "../../spec/acsl/scaler.h"

/* Initializes a loss scale of 2^log2_scale.
 * dynamic, consecutive: 0 or 1. -126 <= log2_min <= log2_scale <= log2_max <= 126. window >= 1,
 * hysteresis >= 1.
 * s: caller's, need not be initialised.
 * Errors: -1 if a condition does not hold, and s is unchanged; otherwise 0.
 * spec: SCALE-1
 */
/*@ requires valid: \valid(s);
    terminates \true; exits \false;
    assigns *s;
    ensures accepts: \result == 0 <==> ScalerValid(dynamic, log2_scale, log2_min, log2_max, window,
      hysteresis, consecutive);
    ensures code: \result == 0 || \result == -1;
    ensures ok: \result == 0 ==> ScalerOk(s);
    ensures arguments: \result == 0 ==> s->dynamic == dynamic && s->log2_scale == log2_scale &&
      s->log2_min == log2_min && s->log2_max == log2_max && s->window == window &&
      s->hysteresis == hysteresis && s->consecutive == consecutive;
    ensures fresh: \result == 0 ==> s->iter == 0 && s->last_overflow == -1 &&
      s->hysteresis_left == hysteresis;
    ensures refused: \result == -1 ==> *s == \old(*s);
*/
int zp_scaler_init(zp_scaler *s, int32_t dynamic, int32_t log2_scale, int32_t log2_min,
                   int32_t log2_max, int64_t window, int32_t hysteresis, int32_t consecutive);

/* The exponent of a scale given as the bits of an fp64 number.
 * bits: any pattern. log2_scale: -126 to 126 when accepted.
 * Errors: -1 if the number is not a power of two in that range (for example negative, zero or
 * non-finite), and *log2_scale is unchanged; otherwise 0.
 * spec: SCALE-2
 */
/*@ requires valid: \valid(log2_scale);
    terminates \true; exits \false;
    assigns *log2_scale;
    ensures accepts: \forall integer e; -126 <= e <= 126 && bits == Power64(e) ==> \result == 0;
    ensures code: \result == 0 || \result == -1;
    ensures power: \result == 0 ==> -126 <= *log2_scale <= 126 && bits == Power64(*log2_scale);
    ensures refused: \result == -1 ==> *log2_scale == \old(*log2_scale);
*/
int zp_scaler_from_f64(uint64_t bits, int32_t *log2_scale);

/* Updates the scale after the step's decision.
 * s: initialized by zp_scaler_init and changed only by this function; iter < 2^62. overflow:
 * non-zero if any rank found a non-finite gradient or loss in this step. A static scale (dynamic 0)
 * does not change. Errors: none.
 * spec: SCALE-3, SCALE-4
 */
/*@ requires valid: \valid(s);
    requires ok: ScalerOk(s);
    requires iter: s->iter < 4611686018427387904;
    terminates \true; exits \false;
    assigns s->log2_scale, s->iter, s->last_overflow, s->hysteresis_left;
    ensures scale: s->log2_scale == \old(NextLog2(s, overflow));
    ensures left: s->hysteresis_left == \old(NextLeft(s, overflow));
    ensures last: s->last_overflow == \old(NextLast(s, overflow));
    ensures iter: s->iter == \old(NextIter(s));
    ensures ok: ScalerOk(s);
*/
void zp_scaler_update(zp_scaler *s, int32_t overflow);

#ifdef __cplusplus
}
#endif
#endif
