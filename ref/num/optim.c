#include "optim.h"

#include "ieee.h"

/* The scalars of one step, each rounded once: the left column of the table in optim.h. */
typedef struct step_scalars {
  float unscale, factor_clip, decay;
  float b1, c1, b2, c2, root, size, eps;
  float lr, mu;
} step_scalars;

/*@ predicate Scalars(step_scalars k, integer log2_scale, integer clip) =
      Bits32(k.unscale) == Power32(-log2_scale) && Bits32(k.factor_clip) == clip;
    predicate Rates(step_scalars k, integer lr, integer wd, integer mu) =
      Bits32(k.decay) == Decay(lr, wd) && Bits32(k.lr) == Narrow(lr) &&
      Bits32(k.mu) == Narrow(mu);
    predicate Betas(step_scalars k, integer beta1, integer beta2) =
      Bits32(k.b1) == Narrow(beta1) && Bits32(k.c1) == OneLess32(beta1) &&
      Bits32(k.b2) == Narrow(beta2) && Bits32(k.c2) == OneLess32(beta2);
    predicate Bias(step_scalars k, integer lr, integer eps, integer pow1, integer pow2) =
      Bits32(k.root) == Root(pow2) && Bits32(k.size) == Size(lr, pow1) &&
      Bits32(k.eps) == Narrow(eps);
*/

void zp_optim_state_init(zp_optim_state *state)
{
  state->beta1_pow = zp_one64();
  state->beta2_pow = zp_one64();
  state->t = 0;
}

void zp_optim_tick(zp_optim_state *state, const zp_optim *optim)
{
  state->beta1_pow = zp_mul64(state->beta1_pow, optim->beta1);
  state->beta2_pow = zp_mul64(state->beta2_pow, optim->beta2);
  state->t += 1;
}

double zp_clip_factor(double norm_unscaled, double clip, double eps)
{
  if (!zp_less64(zp_f64_of_bits(0), clip)) return zp_one64();
  double factor = zp_div64(clip, zp_add64(norm_unscaled, eps));
  return zp_less64(factor, zp_one64()) ? factor : zp_one64();
}

/* (float)(1 - x).
 * x: any. Errors: none.
 * spec: OPT-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures value: Bits32(\result) == OneLess32(Bits64(x));
*/
static float one_less(double x)
{
  return zp_narrow(zp_sub64(zp_one64(), x));
}

/* The scalars of a step.
 * optim, state, factor_clip, log2_scale (-126 to 126): as for zp_optim_step. Errors: none.
 * spec: OPT-3
 */
/*@ requires valid: \valid_read(optim) && \valid_read(state);
    requires scale: -126 <= log2_scale <= 126;
    terminates \true; exits \false;
    assigns \nothing;
    ensures scalars: Scalars(\result, log2_scale, Bits32(factor_clip));
    ensures rates: Rates(\result, Bits64(optim->lr), Bits64(optim->weight_decay),
      Bits64(optim->momentum));
    ensures betas: Betas(\result, Bits64(optim->beta1), Bits64(optim->beta2));
    ensures bias: Bias(\result, Bits64(optim->lr), Bits64(optim->eps), Bits64(state->beta1_pow),
      Bits64(state->beta2_pow));
*/
static step_scalars scalars_of(const zp_optim *optim, const zp_optim_state *state,
                               float factor_clip, int32_t log2_scale)
{
  step_scalars k = {0};
  k.unscale = zp_f32_of_bits((uint32_t)(127 - log2_scale) * 8388608u);
  k.factor_clip = factor_clip;
  k.decay = one_less(zp_mul64(optim->lr, optim->weight_decay));
  k.b1 = zp_narrow(optim->beta1);
  k.c1 = one_less(optim->beta1);
  k.b2 = zp_narrow(optim->beta2);
  k.c2 = one_less(optim->beta2);
  k.root = zp_narrow(zp_sqrt64(zp_sub64(zp_one64(), state->beta2_pow)));
  k.size = zp_narrow(zp_div64(optim->lr, zp_sub64(zp_one64(), state->beta1_pow)));
  k.eps = zp_narrow(optim->eps);
  k.lr = zp_narrow(optim->lr);
  k.mu = zp_narrow(optim->momentum);
  return k;
}

/* SGD without momentum: its column of the table for n elements.
 * grad, master: (n), not overlapping. n >= 0. Errors: none.
 * spec: OPT-4
 */
/*@ requires valid: \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1)) && 0 <= n;
    requires apart: \separated(grad + (0 .. n - 1), master + (0 .. n - 1));
    terminates \true; exits \false;
    assigns master[0 .. n - 1];
    ensures master: \forall integer i, e, clip, lr, wd, mu; 0 <= i < n &&
      Scalars(k, e, clip) && Rates(k, lr, wd, mu) ==>
        Bits32(master[i]) == SgdMaster(lr, wd, \old(Bits32(master[i])),
          StepGradient(Bits32(grad[i]), e, clip));
*/
static void sgd_plain(step_scalars k, int64_t n, const float *grad, float *master)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant master: \forall integer j; 0 <= j < i ==>
        Bits32(master[j]) == Stepped(\at(Bits32(master[j]),Pre), Bits32(k.decay),
          Mul32(Bits32(k.lr),
            Scaled32(Bits32(grad[j]), Bits32(k.unscale), Bits32(k.factor_clip))));
      loop invariant rest: \forall integer j; i <= j < n ==>
        Bits32(master[j]) == \at(Bits32(master[j]),Pre);
      loop assigns i, master[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    float g = zp_mul32(grad[i], k.unscale);
    g = zp_mul32(g, k.factor_clip);
    float w = zp_mul32(master[i], k.decay);
    float a = zp_mul32(k.lr, g);
    master[i] = zp_sub32(w, a);
  }
}

/* SGD with momentum: its columns of the table for n elements.
 * grad, master, m: (n), not overlapping. n >= 0. Errors: none.
 * spec: OPT-4
 */
/*@ requires valid: \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1)) && 0 <= n;
    requires moment: \valid(m + (0 .. n - 1));
    requires apart: \separated(grad + (0 .. n - 1), master + (0 .. n - 1), m + (0 .. n - 1));
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1];
    ensures moment: \forall integer i, e, clip, lr, wd, mu; 0 <= i < n &&
      Scalars(k, e, clip) && Rates(k, lr, wd, mu) ==>
        Bits32(m[i]) == SgdMoment(mu, \old(Bits32(m[i])),
          StepGradient(Bits32(grad[i]), e, clip));
    ensures master: \forall integer i, lr, wd, mu; 0 <= i < n && Rates(k, lr, wd, mu) ==>
        Bits32(master[i]) == SgdMaster(lr, wd, \old(Bits32(master[i])), Bits32(m[i]));
*/
static void sgd_momentum(step_scalars k, int64_t n, const float *grad, float *master, float *m)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant moment: \forall integer j; 0 <= j < i ==>
        Bits32(m[j]) == SgdMoment32(Bits32(k.mu), \at(Bits32(m[j]),Pre),
          Scaled32(Bits32(grad[j]), Bits32(k.unscale), Bits32(k.factor_clip)));
      loop invariant master: \forall integer j; 0 <= j < i ==>
        Bits32(master[j]) == Stepped(\at(Bits32(master[j]),Pre), Bits32(k.decay),
          Mul32(Bits32(k.lr), Bits32(m[j])));
      loop invariant rest: \forall integer j; i <= j < n ==>
        Bits32(master[j]) == \at(Bits32(master[j]),Pre);
      loop invariant rest_m: \forall integer j; i <= j < n ==>
        Bits32(m[j]) == \at(Bits32(m[j]),Pre);
      loop assigns i, master[0 .. n - 1], m[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    float g = zp_mul32(grad[i], k.unscale);
    g = zp_mul32(g, k.factor_clip);
    float w = zp_mul32(master[i], k.decay);
    float a = zp_mul32(k.mu, m[i]);
    g = zp_add32(a, g);
    m[i] = g;
    a = zp_mul32(k.lr, g);
    master[i] = zp_sub32(w, a);
  }
}

/* AdamW: its columns of the table for n elements.
 * grad, master, m, v: (n), not overlapping. n >= 0. Errors: none.
 * spec: OPT-3, OPT-4
 */
/*@ requires valid: \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1)) && 0 <= n;
    requires moments: \valid(m + (0 .. n - 1)) && \valid(v + (0 .. n - 1));
    requires apart: \separated(grad + (0 .. n - 1), master + (0 .. n - 1), m + (0 .. n - 1),
      v + (0 .. n - 1));
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1], v[0 .. n - 1];
    ensures moment1: \forall integer i, e, clip, beta1, beta2; 0 <= i < n &&
      Scalars(k, e, clip) && Betas(k, beta1, beta2) ==>
        Bits32(m[i]) == AdamMoment1(beta1, \old(Bits32(m[i])),
          StepGradient(Bits32(grad[i]), e, clip));
    ensures moment2: \forall integer i, e, clip, beta1, beta2; 0 <= i < n &&
      Scalars(k, e, clip) && Betas(k, beta1, beta2) ==>
        Bits32(v[i]) == AdamMoment2(beta2, \old(Bits32(v[i])),
          StepGradient(Bits32(grad[i]), e, clip));
    ensures master: \forall integer i, lr, wd, mu, eps, pow1, pow2; 0 <= i < n &&
      Rates(k, lr, wd, mu) && Bias(k, lr, eps, pow1, pow2) ==>
        Bits32(master[i]) == AdamMaster(lr, wd, \old(Bits32(master[i])),
          AdamMove(lr, eps, pow1, pow2, Bits32(m[i]), Bits32(v[i])));
*/
static void adamw_elements(step_scalars k, int64_t n, const float *grad, float *master, float *m,
                           float *v)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant moment1: \forall integer j; 0 <= j < i ==>
        Bits32(m[j]) == Blend32(Bits32(k.b1), Bits32(k.c1), \at(Bits32(m[j]),Pre),
          Scaled32(Bits32(grad[j]), Bits32(k.unscale), Bits32(k.factor_clip)));
      loop invariant moment2: \forall integer j; 0 <= j < i ==>
        Bits32(v[j]) == Blend32(Bits32(k.b2), Bits32(k.c2), \at(Bits32(v[j]),Pre),
          SquareBits(Scaled32(Bits32(grad[j]), Bits32(k.unscale), Bits32(k.factor_clip))));
      loop invariant master: \forall integer j; 0 <= j < i ==>
        Bits32(master[j]) == Stepped(\at(Bits32(master[j]),Pre), Bits32(k.decay),
          AdamMove32(Bits32(k.size), Bits32(k.root), Bits32(k.eps), Bits32(m[j]), Bits32(v[j])));
      loop invariant rest: \forall integer j; i <= j < n ==>
        Bits32(master[j]) == \at(Bits32(master[j]),Pre);
      loop invariant rest_m: \forall integer j; i <= j < n ==>
        Bits32(m[j]) == \at(Bits32(m[j]),Pre);
      loop invariant rest_v: \forall integer j; i <= j < n ==>
        Bits32(v[j]) == \at(Bits32(v[j]),Pre);
      loop assigns i, master[0 .. n - 1], m[0 .. n - 1], v[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    float g = zp_mul32(grad[i], k.unscale);
    g = zp_mul32(g, k.factor_clip);
    float w = zp_mul32(master[i], k.decay);
    float a = zp_mul32(k.b1, m[i]);
    float b = zp_mul32(k.c1, g);
    float moment1 = zp_add32(a, b);
    a = zp_mul32(k.b2, v[i]);
    b = zp_mul32(g, g);
    b = zp_mul32(k.c2, b);
    float moment2 = zp_add32(a, b);
    float d = zp_sqrt32(moment2);
    d = zp_div32(d, k.root);
    d = zp_add32(d, k.eps);
    float q = zp_div32(moment1, d);
    q = zp_mul32(k.size, q);
    m[i] = moment1;
    v[i] = moment2;
    master[i] = zp_sub32(w, q);
  }
}

void zp_optim_step(const zp_optim *optim, const zp_optim_state *state, float factor_clip,
                   int32_t log2_scale, int64_t n, const float *grad, float *master, float *m,
                   float *v)
{
  step_scalars k = scalars_of(optim, state, factor_clip, log2_scale);
  if (optim->kind == ZP_OPTIM_ADAMW) {
    adamw_elements(k, n, grad, master, m, v);
  } else if (zp_equal64(optim->momentum, zp_f64_of_bits(0))) {
    sgd_plain(k, n, grad, master);
  } else {
    sgd_momentum(k, n, grad, master, m);
  }
}
