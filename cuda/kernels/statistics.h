/* A step's statistics and the decision that follows from them, on the device: it does not wait for
 * the host.
 * spec: STAT-1, STAT-3 … STAT-6, STEP-6, OPT-1 */
#ifndef ZP_CUDA_STATISTICS_H
#define ZP_CUDA_STATISTICS_H
#include "element.h"
#include "update.h"

/* Passes values that only the host has to work on the device. PIPE-6 */
ZP_ON_DEVICE void zp_write_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_write_params *p = (const zp_write_params *)params;
  (void)shared, (void)phase;
  for (int32_t i = (int32_t)t.threadIdx[0]; i < p->n; i += (int32_t)t.blockDim[0])
    p->to[i] = p->value[i];
}

ZP_ON_DEVICE void zp_loss_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_loss_params *p = (const zp_loss_params *)params;
  (void)shared, (void)phase;
  if (t.threadIdx[0] != 0) return;
  for (int64_t i = 0; i < p->n; i++) {
    const uint32_t bits = zp_element(ZP_F32, p->loss, i);
    p->tally->bad_loss += zp_nonfinite_f32(&bits, 1);
    zp_val_add_f32(p->tally->loss, &bits, 1); /* adds nothing if it is not finite */
  }
}

/* One block: after one thread has carried the limbs, thread i stores limb i; one thread stores the
 * words of the agreement on hyperparameters. */
enum { ZP_PACK_PHASES = 3 };

ZP_ON_DEVICE void zp_pack_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_pack_params *p = (const zp_pack_params *)params;
  zp_tally *w = p->tally;
  const uint32_t i = t.threadIdx[0];
  (void)shared;
  if (phase == 0 && i == 0) zp_limbs_normalise(w->squares, ZP_SQ_LIMBS);
  if (phase == 0 && i == 1) zp_val_normalise(w->loss, 1);
  if (phase == 1) {
    if (i < ZP_SQ_LIMBS) p->stats[ZP_STAT_SQUARES + i] = w->squares[i];
    else if (i < ZP_SQ_LIMBS + ZP_VAL_LIMBS)
      p->stats[ZP_STAT_LOSS + i - ZP_SQ_LIMBS] = w->loss[i - ZP_SQ_LIMBS];
    else if (i == ZP_STAT_NONFINITE) p->stats[i] = w->nonfinite != 0; /* a flag: STAT-3 */
    else if (i == ZP_STAT_BAD_LOSS) p->stats[i] = w->bad_loss;
    else if (i == ZP_STAT_AGREE) zp_agree_words(p->digest, p->rank, p->stats + i);
  }
  if (phase == 2) {
    if (i < ZP_SQ_LIMBS) w->squares[i] = 0;
    if (i < ZP_VAL_LIMBS) w->loss[i] = 0;
    if (i == 0) w->nonfinite = 0;
    if (i == 0) w->bad_loss = 0;
  }
}

/* An optimizer group's rule, and the scalars that its elements need. OPT-3 */
ZP_ON_DEVICE void zp_group_scalars(const zp_optim *optim, float clip, int32_t log2_scale,
                                   zp_group_state *g)
{
  const step_scalars k = scalars_of(optim, &g->optim, clip, log2_scale);
  memcpy(g->scalar, &k, sizeof k);
  if (optim->kind == ZP_OPTIM_ADAMW) g->rule = ZP_RULE_ADAMW;
  else if (zp_equal64(optim->momentum, zp_f64_of_bits(0))) g->rule = ZP_RULE_SGD;
  else g->rule = ZP_RULE_MOMENTUM;
}

/* An optimizer group's step: β^t first. OPT-1, OPT-3 */
ZP_ON_DEVICE void zp_tick_group(const zp_optim *optim, const zp_decision *d, zp_group_state *g)
{
  zp_optim_tick(&g->optim, optim);
  zp_group_scalars(optim, (float)d->clip_factor, d->log2_scale, g);
}

/* Steps that are queued already change nothing either: the same kernel of the next step finds the
 * gate shut. All ranks have the same sums, so they do this in the same step. STAT-6 */
ZP_ON_DEVICE void zp_report_difference(const zp_decide_params *p)
{
  if (p->gate.stop == NULL) return;
  p->difference->digest = p->digest;
  for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) p->difference->sums[k] = p->stats[ZP_STAT_AGREE + k];
  ZP_STORE_HOST(&p->difference->step, p->gate.step);
  ZP_STORE_HOST(p->gate.stop, p->gate.step);
}

enum { ZP_DECIDE_PHASES = 2 };

ZP_ON_DEVICE void zp_decide_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_decide_params *p = (const zp_decide_params *)params;
  const uint32_t i = t.threadIdx[0];
  (void)shared;
  if (phase == 0 && i == 0 && zp_is_shut(&p->gate)) p->step->decision.skipped = 1;
  else if (phase == 0 && i == 0 && !zp_agree_same(p->stats + ZP_STAT_AGREE, p->ranks)) {
    p->step->decision.skipped = 1;
    zp_report_difference(p);
  } else if (phase == 0 && i == 0) {
    int64_t *squares = p->stats + ZP_STAT_SQUARES;
    zp_squares_settle(squares);
    p->step->decision =
        zp_decide(squares, p->stats + ZP_STAT_LOSS, p->stats[ZP_STAT_NONFINITE],
                  p->stats[ZP_STAT_BAD_LOSS], p->divisor, p->clip, p->eps, &p->step->scaler);
    p->step->step += 1;
  }
  if (phase == 1 && !p->step->decision.skipped)
    for (int32_t g = (int32_t)i; g < p->groups; g += (int32_t)t.blockDim[0])
      zp_tick_group(&p->optim[g % p->optims], &p->step->decision, p->group + g);
}

#endif
