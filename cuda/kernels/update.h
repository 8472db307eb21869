/* Mean, unscale, clip, optimizer, rounding: one pass over the shard.
 * spec: RED-4, STEP-6, STEP-7, OPT-2 … OPT-4 */
#ifndef ZP_CUDA_UPDATE_H
#define ZP_CUDA_UPDATE_H
#include "vector.h"

/* zp_kernel_decide writes the scalars of a step in this layout. */
#ifdef __cplusplus
static_assert(sizeof(step_scalars) == ZP_STEP_SCALARS * sizeof(float), "scalars of a step");
#else
_Static_assert(sizeof(step_scalars) == ZP_STEP_SCALARS * sizeof(float), "scalars of a step");
#endif

ZP_ON_DEVICE void zp_update_element(const zp_update_params *p, int32_t rule, step_scalars k,
                                    int64_t i)
{
  float grad = p->grad[i];
  if (p->divisor != 0) zp_ordered_mean_f32(&grad, p->grad + i, p->divisor, 1);
  if (rule == ZP_RULE_ADAMW) adamw_elements(k, 1, &grad, p->master + i, p->m + i, p->v + i);
  else if (rule == ZP_RULE_MOMENTUM) sgd_momentum(k, 1, &grad, p->master + i, p->m + i);
  else sgd_plain(k, 1, &grad, p->master + i);
}

/* Element i of a run. */
ZP_ON_DEVICE void zp_update_one(const zp_update_params *p, int32_t rule, step_scalars k,
                                int64_t real, const zp_memory_run *run, int64_t i)
{
  const int64_t at = run->at + i;
  if (at < real) zp_update_element(p, rule, k, at);
  zp_store_rounded(p->dtype, run->out, i, p->master[at]);
}

/* The means of four gradients, of which p->grad has the means or the sums. */
ZP_ON_DEVICE zp_quad zp_update_grads(const zp_update_params *p, int64_t at)
{
  zp_quad grad = zp_load_raw(p->grad, 4, at);
  if (p->divisor == 0) return grad;
  ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++) grad.bits[e] =
      zp_mean_of(grad.bits[e], p->divisor);
  return grad;
}

/* Four elements, all before `real`: in registers, so that all loads are before all stores. The
 * division comes before the other loads: it would not have enough registers after them. */
ZP_ON_DEVICE zp_quad zp_update_quad(const zp_update_params *p, int32_t rule, step_scalars k,
                                    int64_t at)
{
  const zp_quad grad = zp_update_grads(p, at);
  zp_quad w = zp_load_raw(p->master, 4, at), m = {{0, 0, 0, 0}}, v = {{0, 0, 0, 0}};
  if (rule != ZP_RULE_SGD) m = zp_load_raw(p->m, 4, at);
  if (rule == ZP_RULE_ADAMW) v = zp_load_raw(p->v, 4, at);
  ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++)
  {
    float g1 = zp_float_of(grad.bits[e]), w1 = zp_float_of(w.bits[e]);
    float m1 = zp_float_of(m.bits[e]), v1 = zp_float_of(v.bits[e]);
    if (rule == ZP_RULE_ADAMW) adamw_elements(k, 1, &g1, &w1, &m1, &v1);
    else if (rule == ZP_RULE_MOMENTUM) sgd_momentum(k, 1, &g1, &w1, &m1);
    else sgd_plain(k, 1, &g1, &w1);
    w.bits[e] = zp_bits_of(w1);
    m.bits[e] = zp_bits_of(m1);
    v.bits[e] = zp_bits_of(v1);
  }
  zp_store_raw(p->master, 4, at, w);
  if (rule != ZP_RULE_SGD) zp_store_raw(p->m, 4, at, m);
  if (rule == ZP_RULE_ADAMW) zp_store_raw(p->v, 4, at, v);
  return w;
}

/* All tiles of a block. rule: a compile-time constant. Quads are aligned in the shard's arrays. */
ZP_ON_DEVICE void zp_update_tiles(const zp_update_params *p, int32_t rule, int64_t real,
                                  simdev_thread t)
{
  step_scalars k;
  for (int32_t i = 0; i < ZP_STEP_SCALARS; i++) ((float *)&k)[i] = p->group->scalar[i];
  for (zp_walk to = zp_walk_of(&p->runs, t); to.tile < to.end; zp_walk_on(&to)) {
    const zp_memory_run *run = to.run;
    const zp_vectors v =
        zp_quads_of(to.tile - run->first_tile, run->count, zp_quad_lead(p->master + run->at, 4), t);
    for (int32_t x = v.x; x < v.end; x += v.step) {
      const int64_t i = v.first + (int64_t)x * ZP_QUAD;
      if (zp_is_whole(&v, x) && run->at + i + ZP_QUAD <= real)
        zp_store_quad(p->dtype, run->out, i, zp_update_quad(p, rule, k, run->at + i));
      else
        for (int32_t e = 0; e < ZP_QUAD; e++)
          if (i + e >= 0 && i + e < run->count) zp_update_one(p, rule, k, real, run, i + e);
    }
  }
}

ZP_ON_DEVICE void zp_update_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_update_params *p = (const zp_update_params *)params;
  const int64_t real = p->step->decision.skipped ? 0 : p->real;
  const int32_t rule = p->group->rule;
  (void)shared, (void)phase;
  if (rule == ZP_RULE_ADAMW) zp_update_tiles(p, ZP_RULE_ADAMW, real, t);
  else if (rule == ZP_RULE_MOMENTUM) zp_update_tiles(p, ZP_RULE_MOMENTUM, real, t);
  else zp_update_tiles(p, ZP_RULE_SGD, real, t);
}

#endif
