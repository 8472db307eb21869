#include "optim.h"

#include <math.h>

/* The scalars of one step, rounded once: the left column of the table in optim.h. */
typedef struct step_scalars {
  float unscale, factor_clip, decay;
  float b1, c1, b2, c2, root, size, eps;
  float lr, mu;
} step_scalars;

void zp_optim_state_init(zp_optim_state *state)
{
  state->beta1_pow = 1.0;
  state->beta2_pow = 1.0;
  state->t = 0;
}

void zp_optim_tick(zp_optim_state *state, const zp_optim *optim)
{
  state->beta1_pow = state->beta1_pow * optim->beta1;
  state->beta2_pow = state->beta2_pow * optim->beta2;
  state->t += 1;
}

double zp_clip_factor(double norm_unscaled, double clip, double eps)
{
  if (clip <= 0.0) return 1.0;
  double sum = norm_unscaled + eps;
  double factor = clip / sum;
  return factor < 1.0 ? factor : 1.0;
}

/* 2^-log2_scale, exact: every factor on the way is a power of two.
 * log2_scale: -126 to 126. Errors: none.
 * spec: OPT-3
 */
/*@ requires range: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns \nothing;
*/
static float reciprocal_power(int32_t log2_scale)
{
  float f = 1.0f;
  /*@ loop invariant i_range: 0 <= i && (log2_scale >= 0 ==> i <= log2_scale) &&
        (log2_scale < 0 ==> i == 0);
      loop assigns i, f;
      loop variant log2_scale - i; */
  for (int32_t i = 0; i < log2_scale; i++) f = f * 0.5f;
  /*@ loop invariant i_range: log2_scale <= i || i == 0;
      loop assigns i, f;
      loop variant i - log2_scale; */
  for (int32_t i = 0; i > log2_scale; i--) f = f * 2.0f;
  return f;
}

/* The scalars of a step.
 * optim, state, factor_clip, log2_scale: as for zp_optim_step. Errors: none.
 * spec: OPT-3
 */
/*@ requires valid: \valid_read(optim) && \valid_read(state);
    requires scale: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns \nothing;
*/
static step_scalars scalars_of(const zp_optim *optim, const zp_optim_state *state,
                               float factor_clip, int32_t log2_scale)
{
  step_scalars k;
  double shrink = optim->lr * optim->weight_decay;
  double bias1 = 1.0 - state->beta1_pow, bias2 = 1.0 - state->beta2_pow;
  k.unscale = reciprocal_power(log2_scale);
  k.factor_clip = factor_clip;
  k.decay = (float)(1.0 - shrink);
  k.b1 = (float)optim->beta1;
  k.c1 = (float)(1.0 - optim->beta1);
  k.b2 = (float)optim->beta2;
  k.c2 = (float)(1.0 - optim->beta2);
  k.root = (float)sqrt(bias2);
  k.size = (float)(optim->lr / bias1);
  k.eps = (float)optim->eps;
  k.lr = (float)optim->lr;
  k.mu = (float)optim->momentum;
  return k;
}

/* The SGD columns of the table for n elements.
 * m: NULL without momentum. Shapes as for zp_optim_step. Errors: none.
 * spec: OPT-4
 */
/*@ requires valid: \valid_read(k) && \valid_read(grad + (0 .. n - 1)) &&
      \valid(master + (0 .. n - 1)) && 0 <= n;
    requires momentum: m != \null ==> \valid(m + (0 .. n - 1));
    requires apart: \separated(grad + (0 .. n - 1), master + (0 .. n - 1), m + (0 .. n - 1), k);
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1];
*/
static void sgd_elements(const step_scalars *k, int64_t n, const float *grad, float *master,
                         float *m)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop assigns i, master[0 .. n - 1], m[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    float g = grad[i] * k->unscale;
    g = g * k->factor_clip;
    float w = master[i] * k->decay;
    if (m) {
      float a = k->mu * m[i];
      g = a + g;
      m[i] = g;
    }
    float a = k->lr * g;
    master[i] = w - a;
  }
}

/* The AdamW columns of the table for n elements.
 * Shapes as for zp_optim_step. Errors: none.
 * spec: OPT-3
 */
/*@ requires valid: \valid_read(k) && \valid_read(grad + (0 .. n - 1)) &&
      \valid(master + (0 .. n - 1)) && 0 <= n;
    requires moments: \valid(m + (0 .. n - 1)) && \valid(v + (0 .. n - 1));
    requires apart: \separated(grad + (0 .. n - 1), master + (0 .. n - 1), m + (0 .. n - 1),
      v + (0 .. n - 1), k);
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1], v[0 .. n - 1];
*/
static void adamw_elements(const step_scalars *k, int64_t n, const float *grad, float *master,
                           float *m, float *v)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop assigns i, master[0 .. n - 1], m[0 .. n - 1], v[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    float g = grad[i] * k->unscale;
    g = g * k->factor_clip;
    float w = master[i] * k->decay;
    float a = k->b1 * m[i];
    float b = k->c1 * g;
    m[i] = a + b;
    a = k->b2 * v[i];
    b = g * g;
    b = k->c2 * b;
    v[i] = a + b;
    float d = sqrtf(v[i]);
    d = d / k->root;
    d = d + k->eps;
    float q = m[i] / d;
    q = k->size * q;
    master[i] = w - q;
  }
}

void zp_optim_step(const zp_optim *optim, const zp_optim_state *state, float factor_clip,
                   int32_t log2_scale, int64_t n, const float *grad, float *master, float *m,
                   float *v)
{
  step_scalars k = scalars_of(optim, state, factor_clip, log2_scale);
  if (optim->kind == ZP_OPTIM_ADAMW) {
    adamw_elements(&k, n, grad, master, m, v);
  } else {
    sgd_elements(&k, n, grad, master, optim->momentum != 0.0 ? m : 0);
  }
}
