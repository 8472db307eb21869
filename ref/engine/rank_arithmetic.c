/* Local ops on numbers: add a gradient into its bucket, divide, decide, update.
 * spec: RED-1 … RED-6, STAT-1 … STAT-6, STEP-6, STEP-7 */
#include <stdio.h>
#include <string.h>

#include "../num/agree.h"
#include "../num/decide.h"
#include "../num/nonfinite.h"
#include "../num/ordered.h"
#include "../num/packed.h"
#include "../num/value.h"
#include "count.h"
#include "rank_internal.h"

/* Adds run `in` of a gradient to fp32 or limb sums; `first` assigns. RED-4 */
static void add_window(const zp_rank *r, int32_t dtype, const void *in, int64_t offset, zp_range p,
                       void *window, int first)
{
  const int64_t n = p.count;
  if (r->cfg->reduce == ZP_EXACT) {
    int64_t *out = (int64_t *)window + p.at * ZP_LIMBS;
    if (first) memset(out, 0, (size_t)n * ZP_LIMBS * sizeof *out);
    if (!in) return;
    if (dtype == ZP_F32) zp_val_add_f32(out, (const uint32_t *)in + offset, n);
    else if (dtype == ZP_BF16) zp_val_add_bf16(out, (const uint16_t *)in + offset, n);
    else zp_val_add_f16(out, (const uint16_t *)in + offset, n);
    return;
  }
  float *out = (float *)window + p.at;
  for (int64_t done = 0; done < n;) { /* in blocks that stay in the cache */
    float x[256];
    const int64_t m = zp_block(n, done, 256);
    if (in) zp_widen_from(dtype, in, offset + done, m, x);
    else memset(x, 0, sizeof x);
    if (first) memcpy(out + done, x, (size_t)m * sizeof *x);
    else zp_ordered_add_f32(out + done, x, m);
    done += m;
  }
}

static int64_t nonfinite(int32_t dtype, const void *x, int64_t at, int64_t n)
{
  if (dtype == ZP_F32) return zp_nonfinite_f32((const uint32_t *)x + at, n);
  if (dtype == ZP_BF16) return zp_nonfinite_bf16((const uint16_t *)x + at, n);
  return zp_nonfinite_f16((const uint16_t *)x + at, n);
}

/* Takes one run of a gradient into its bucket; a declared-unused entry gives zeros, as does the
 * padding after an entry. RED-3, RED-6, PART-7 */
static void run_add(zp_rank *r, const zp_op *op)
{
  const int32_t i = op->param - r->lay.first_param;
  const int32_t dtype = zp_block_gradients(&r->block, r->cfg->params[op->param].fp32);
  const int64_t size = zp_dtype_bytes(dtype);
  const zp_range whole = zp_add_range(&r->block.cfg, &r->lay, op);
  const void *grad = r->used[i] ? r->arrived[i] : NULL;
  zp_range p = whole;
  p.count = zp_block_own(&r->block, op->param, op->offset, whole.count);
  if (grad && r->cfg->reduce == ZP_EXACT) /* limbs hold finite values only. STAT-3 */
    zp_statistics_nonfinite(&r->stats, nonfinite(dtype, grad, op->offset, p.count));
  if (r->cfg->stage < 2) {
    add_window(r, dtype, grad, op->offset, p, r->flat[op->flat].window, op->mb == 0);
    return;
  }
  char *to = (char *)r->slot[op->slot] + p.at * size;
  if (grad) memcpy(to, (const char *)grad + op->offset * size, (size_t)(p.count * size));
  else memset(to, 0, (size_t)(p.count * size));
  memset(to + p.count * size, 0, (size_t)((whole.count - p.count) * size));
}

/* In place, in blocks that stay in the cache. RED-4 */
static void mean_in_place(float *sum, int64_t divisor, int64_t n)
{
  for (int64_t done = 0; done < n;) {
    float x[256];
    const int64_t m = zp_block(n, done, 256);
    memcpy(x, sum + done, (size_t)m * sizeof *x);
    zp_ordered_mean_f32(sum + done, x, divisor, m);
    done += m;
  }
}

/* The means replace the first words of the packed sums. SUM-8, SUM-9 */
static void mean_of_packed(zp_packed p, int64_t divisor)
{
  for (int64_t i = 0; i < p.n; i++) {
    int64_t limb[ZP_LIMBS];
    zp_packed_get(p, i, limb);
    p.low[i] = zp_val_mean_f32(limb, divisor);
  }
}

/* Divides by D·M: in fp64 rounded to fp32, or with the one rounding of exact sums. RED-2 */
static void run_mean(zp_rank *r, const zp_op *op)
{
  const int64_t n = zp_rank_range(r, op->flat, op->bucket).count;
  const int64_t divisor = r->cfg->micro_batches * r->cfg->dp;
  float *mean = zp_held_of(r, op->flat, op->bucket, ZP_WHAT_GRADIENT);
  if (zp_is_packed(r->cfg->stage, r->cfg->reduce)) {
    mean_of_packed(zp_packed_of(r, op->flat, op->bucket), divisor);
  } else if (r->cfg->reduce == ZP_EXACT) {
    const int64_t *limbs = zp_sums_of(r, op->flat, op->bucket);
    for (int64_t i = 0; i < n; i++) {
      const uint32_t bits = zp_val_mean_f32(limbs + i * ZP_LIMBS, divisor);
      memcpy(&mean[i], &bits, sizeof bits);
    }
  } else {
    mean_in_place(mean, divisor, n);
  }
  zp_count_mean(&r->block.cfg, &r->lay, r->counts, r->block.at, r->block.index, op->flat,
                op->bucket, (const uint32_t *)(const void *)mean, &r->stats);
}

uint64_t zp_rank_digest(const zp_rank *r)
{
  const zp_hyper *h = r->hyper;
  return zp_hyper_digest(h->optim, h->groups, h->clip, h->clip_eps);
}

/* 0, or the error that ranks' hyperparameters differ. STAT-6 */
static int check_hyper(zp_rank *r)
{
  const int64_t *sums = r->stats_in + ZP_STAT_AGREE;
  const int64_t ranks = zp_world(r->cfg);
  char where[96];
  if (zp_agree_same(sums, ranks)) return ZP_OK;
  snprintf(where, sizeof where, "rank %d (stage %d, dp %d, tp %d), step %lld", (int)r->rank,
           (int)r->at.pp, (int)r->at.dp, (int)r->at.tp, (long long)r->step);
  return zp_hyper_differ(r->err, r->rank, ranks, where, zp_rank_digest(r), sums);
}

/* Skip or step, from what all ranks agreed on. STAT-4, STAT-5, STEP-6 */
static int run_decide(zp_rank *r)
{
  zp_step_result *out = &r->result;
  int64_t *squares = r->stats_in + ZP_STAT_SQUARES;
  if (check_hyper(r)) return r->err->status;
  zp_squares_settle(squares);
  const zp_decision d =
      zp_decide(squares, r->stats_in + ZP_STAT_LOSS, r->stats_in[ZP_STAT_NONFINITE],
                r->stats_in[ZP_STAT_BAD_LOSS], r->cfg->micro_batches * r->cfg->dp, r->hyper->clip,
                r->hyper->clip_eps, &r->scaler);
  memset(out, 0, sizeof *out);
  out->step = r->step;
  out->log2_scale = d.log2_scale;
  out->nonfinite = d.nonfinite;
  out->skipped = d.skipped;
  out->loss = d.loss;
  out->norm_f64 = d.norm_f64;
  out->norm_f32 = d.norm_f32;
  out->clip_factor = d.clip_factor;
  if (!d.skipped)
    for (int32_t g = 0; g < r->cfg->optgroups; g++)
      zp_optim_tick(&r->optim[g], &r->hyper->optim[g % r->hyper->groups]);
  r->step++;
  return ZP_OK;
}

/* The optimizer on the elements of bucket b that this rank owns, and their rounding. STEP-7 */
static void run_update(zp_rank *r, const zp_op *op)
{
  zp_flat_state *s = &r->flat[op->flat];
  const zp_flat *f = &r->lay.flat[op->flat];
  const int32_t group = f->optgroup, dtype = zp_dtype_of(f->fp32, r->cfg->precision);
  const zp_range p = zp_rank_range(r, op->flat, op->bucket);
  const zp_optim *optim = &r->hyper->optim[group % r->hyper->groups];
  float *master = s->master + p.at;
  int32_t i = r->lay.n_params;
  zp_piece g;
  zp_optim_step(optim, &r->optim[group], (float)r->result.clip_factor, r->result.log2_scale, p.real,
                zp_held_of(r, op->flat, op->bucket, ZP_WHAT_GRADIENT), master, s->moment1 + p.at,
                s->moment2 + p.at);
  if (r->cfg->stage > 0) {
    zp_round_to(dtype, master, p.count, r->scratch_send, 0);
    return;
  }
  while (zp_next_piece(r, op->flat, p, &i, &g))
    zp_round_to(dtype, master + g.in, g.count, r->param[g.i], g.offset);
}

int zp_rank_arithmetic(zp_rank *r, const zp_op *op)
{
  if (op->kind == ZP_OP_ADD) run_add(r, op);
  else if (op->kind == ZP_OP_MEAN) run_mean(r, op);
  else if (op->kind == ZP_OP_DECIDE) return run_decide(r);
  else run_update(r, op);
  return 0;
}
