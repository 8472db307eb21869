/* AdamW and SGD on fp32 masters: the definition every executor follows bit for bit.
 *
 * Compiled with -ffp-contract=off (nvcc: -fmad=false) and IEEE division and square root, rounding
 * to nearest even, subnormals kept. Every line below is one operation with one rounding; s64 are
 * scalars of the step in fp64, (float) is one rounding to fp32; the rest is fp32, per element.
 *
 * Scalars (s64):                         Every kind, per element:
 *   unscale = 2^-log2_scale (exact)        g = grad[i] * unscale
 *   decay = (float)(1 - lr * wd)           g = g * factor_clip
 *                                          w = master[i] * decay
 * SGD:  lr32 = (float)lr                   SGD, momentum != 0:   a = mu * m[i];  m[i] = g = a + g
 *       mu = (float)momentum               SGD:   a = lr32 * g;  master[i] = w - a
 *
 * AdamW:                                 AdamW:
 *   b1 = (float)beta1                      a = b1 * m[i];  b = c1 * g;  m[i] = a + b
 *   c1 = (float)(1 - beta1)                a = b2 * v[i];  b = g * g;  b = c2 * b;  v[i] = a + b
 *   b2 = (float)beta2                      d = sqrt(v[i]);  d = d / root;  d = d + eps32
 *   c2 = (float)(1 - beta2)                q = m[i] / d;  q = size * q
 *   root = (float)sqrt(1 - beta2_pow)      master[i] = w - q
 *   size = (float)(lr / (1 - beta1_pow))
 *   eps32 = (float)eps
 *
 * Weight decay is decoupled in both kinds. beta1_pow and beta2_pow are running products, one fp64
 * multiplication a step, so that no library's pow() can differ.
 */
#ifndef ZP_REF_NUM_OPTIM_H
#define ZP_REF_NUM_OPTIM_H
#include <stdint.h>

#include "../../spec/acsl/step.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { ZP_OPTIM_SGD = 0, ZP_OPTIM_ADAMW = 1 };

/* kind: ZP_OPTIM_*. The other fields are as named in the table above, wd = weight_decay. */
typedef struct zp_optim {
  int32_t kind;
  double lr, beta1, beta2, eps, weight_decay, momentum;
} zp_optim;

/* beta1_pow = beta1^t, beta2_pow = beta2^t as running products; t: number of updates begun. */
typedef struct zp_optim_state {
  double beta1_pow, beta2_pow;
  int64_t t;
} zp_optim_state;

/* Sets both products to 1 and t to 0.
 * state: owned by the caller. Errors: none.
 * spec: OPT-1
 */
/*@ requires valid: \valid(state);
    terminates \true; exits \false;
    assigns *state;
    ensures beta1: Bits64(state->beta1_pow) == One64;
    ensures beta2: Bits64(state->beta2_pow) == One64;
    ensures t: state->t == 0;
*/
void zp_optim_state_init(zp_optim_state *state);

/* Begins an update that is not skipped: multiplies once by each beta and increments t.
 * Called once before the zp_optim_step calls of a step. state, optim: not overlapping. state->t: 0
 * to 2^62 - 1. Errors: none.
 * spec: OPT-1
 */
/*@ requires valid: \valid(state) && \valid_read(optim) && \separated(state, optim);
    requires t: 0 <= state->t < 4611686018427387904;
    terminates \true; exits \false;
    assigns *state;
    ensures beta1: Bits64(state->beta1_pow) ==
      Mul64(\old(Bits64(state->beta1_pow)), Bits64(optim->beta1));
    ensures beta2: Bits64(state->beta2_pow) ==
      Mul64(\old(Bits64(state->beta2_pow)), Bits64(optim->beta2));
    ensures t: state->t == \old(state->t) + 1;
*/
void zp_optim_tick(zp_optim_state *state, const zp_optim *optim);

/* The factor that clips a gradient of norm norm_unscaled to norm clip: min(1, clip / (norm + eps))
 * in fp64, one addition and one division.
 * norm_unscaled: norm without the loss scale, >= 0. clip: 0 or below turns clipping off. eps >= 0.
 * Errors: none; 1 when off or when the quotient is not below 1.
 * spec: OPT-2
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures factor: Bits64(\result) ==
      ClipFactor(Bits64(norm_unscaled), Bits64(clip), Bits64(eps));
*/
double zp_clip_factor(double norm_unscaled, double clip, double eps);

/* Updates n elements of a shard by the table at the top of this file.
 * optim: kind 0 or 1. state: after zp_optim_tick. factor_clip: zp_clip_factor rounded to fp32.
 * log2_scale: exponent of the loss scale in grad, -126 to 126. n >= 0. grad: (n), the mean gradient
 * times the scale. master: (n). m: (n), Adam's first moment, or SGD's momentum buffer; with SGD and
 * momentum == 0 neither read nor written. v: (n), second moment; with SGD neither read nor written.
 * The arrays in use do not overlap each other, optim or state. m and v start as zeros.
 * Errors: none.
 * spec: OPT-3, OPT-4
 */
/*@ requires scalars: \valid_read(optim) && \valid_read(state);
    requires kind: optim->kind == 0 || optim->kind == 1;
    requires scale: -126 <= log2_scale <= 126;
    requires valid: \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1)) && 0 <= n;
    requires moments: optim->kind == 1 ==>
      \valid(m + (0 .. n - 1)) && \valid(v + (0 .. n - 1));
    requires momentum: Momentum(optim->kind, Bits64(optim->momentum)) ==>
      \valid(m + (0 .. n - 1));
    requires apart: \separated(grad + (0 .. n - 1), master + (0 .. n - 1), optim, state);
    requires apart_m: optim->kind == 1 || Momentum(optim->kind, Bits64(optim->momentum)) ==>
      \separated(m + (0 .. n - 1), grad + (0 .. n - 1), master + (0 .. n - 1), optim, state);
    requires apart_v: optim->kind == 1 ==>
      \separated(v + (0 .. n - 1), m + (0 .. n - 1), grad + (0 .. n - 1), master + (0 .. n - 1),
        optim, state);
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1], v[0 .. n - 1];
    ensures adam_moment1: optim->kind == 1 ==> \forall integer i; 0 <= i < n ==>
      Bits32(m[i]) == AdamMoment1(Bits64(optim->beta1), \old(Bits32(m[i])),
        StepGradient(Bits32(grad[i]), log2_scale, Bits32(factor_clip)));
    ensures adam_moment2: optim->kind == 1 ==> \forall integer i; 0 <= i < n ==>
      Bits32(v[i]) == AdamMoment2(Bits64(optim->beta2), \old(Bits32(v[i])),
        StepGradient(Bits32(grad[i]), log2_scale, Bits32(factor_clip)));
    ensures adam_master: optim->kind == 1 ==> \forall integer i; 0 <= i < n ==>
      Bits32(master[i]) ==
        AdamMaster(Bits64(optim->lr), Bits64(optim->weight_decay), \old(Bits32(master[i])),
          AdamMove(Bits64(optim->lr), Bits64(optim->eps), Bits64(state->beta1_pow),
            Bits64(state->beta2_pow), Bits32(m[i]), Bits32(v[i])));
    ensures sgd_momentum: Momentum(optim->kind, Bits64(optim->momentum)) ==>
      \forall integer i; 0 <= i < n ==>
        Bits32(m[i]) == SgdMoment(Bits64(optim->momentum), \old(Bits32(m[i])),
          StepGradient(Bits32(grad[i]), log2_scale, Bits32(factor_clip)));
    ensures sgd_momentum_master: Momentum(optim->kind, Bits64(optim->momentum)) ==>
      \forall integer i; 0 <= i < n ==>
        Bits32(master[i]) == SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
          \old(Bits32(master[i])), Bits32(m[i]));
    ensures sgd_master: Plain(optim->kind, Bits64(optim->momentum)) ==>
      \forall integer i; 0 <= i < n ==>
        Bits32(master[i]) == SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
          \old(Bits32(master[i])),
          StepGradient(Bits32(grad[i]), log2_scale, Bits32(factor_clip)));
    behavior sgd:
      assumes sgd: optim->kind == 0;
      assigns master[0 .. n - 1], m[0 .. n - 1];
    behavior plain:
      assumes plain: Plain(optim->kind, Bits64(optim->momentum));
      assigns master[0 .. n - 1];
*/
void zp_optim_step(const zp_optim *optim, const zp_optim_state *state, float factor_clip,
                   int32_t log2_scale, int64_t n, const float *grad, float *master, float *m,
                   float *v);

#ifdef __cplusplus
}
#endif
#endif
