/* Unscale, clip, optimizer, rounding: one pass over the shard.
 * spec: STEP-6, STEP-7, OPT-2 … OPT-4 */
#ifndef ZP_CUDA_UPDATE_H
#define ZP_CUDA_UPDATE_H
#include "element.h"

/* The scalars of a step travel from zp_kernel_decide to here as they are. */
#ifdef __cplusplus
static_assert(sizeof(step_scalars) == ZP_STEP_SCALARS * sizeof(float), "scalars of a step");
#else
_Static_assert(sizeof(step_scalars) == ZP_STEP_SCALARS * sizeof(float), "scalars of a step");
#endif

ZP_ON_DEVICE void zp_update_element(const zp_update_params *p, int32_t rule, step_scalars k,
                                    int64_t i)
{
  if (rule == ZP_RULE_ADAMW) adamw_elements(k, 1, p->grad + i, p->master + i, p->m + i, p->v + i);
  else if (rule == ZP_RULE_MOMENTUM) sgd_momentum(k, 1, p->grad + i, p->master + i, p->m + i);
  else sgd_plain(k, 1, p->grad + i, p->master + i);
}

ZP_ON_DEVICE void zp_update_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_update_params *p = (const zp_update_params *)params;
  const zp_memory_run *table = zp_run_table(&p->runs);
  const int64_t real = p->step->decision.skipped ? 0 : p->real;
  const int32_t rule = p->group->rule;
  step_scalars k;
  (void)shared, (void)phase;
  memcpy(&k, p->group->scalar, sizeof k);
  for (int64_t tile = t.blockIdx[0]; tile < p->runs.tiles; tile += t.gridDim[0]) {
    const zp_memory_run *run = zp_run_of(table, p->runs.n, tile);
    const zp_span s = zp_span_of(tile - run->first_tile, run->count, t);
    for (int64_t i = s.i; i < s.end; i += s.step) {
      const int64_t at = run->at + i;
      if (at < real) zp_update_element(p, rule, k, at);
      zp_store_rounded(p->dtype, run->out, i, p->master[at]);
    }
  }
}

#endif
