/* Faults that show only in cases of one axis: an overflow in a sum, a learning rate that changes,
 * different first values, the loss, stages whose parameters are all frozen or all tied copies, tied
 * copies without a gradient of their own, a loss scale of one. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../num/nonfinite.h"
#include "ref_fault.h"

/* ---- Overflow -------------------------------------------------------------------------------- */

/* Engines that check contributions under `ordered`, too. */
static void check_contribution(zp_rank *r, const zp_op *op)
{
  const int32_t i = op->param - r->lay.first_param;
  if (op->kind != ZP_OP_ADD || !r->used[i]) return;
  const int32_t dtype = zp_block_gradients(&r->block, r->cfg->params[op->param].fp32);
  const int64_t n = r->cfg->params[op->param].numel;
  r->stats.nonfinite += dtype == ZP_F32    ? zp_nonfinite_f32(r->arrived[i], n)
                        : dtype == ZP_BF16 ? zp_nonfinite_bf16(r->arrived[i], n)
                                           : zp_nonfinite_f16(r->arrived[i], n);
}

static void before_local_overflow(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_MEAN) f->nonfinite = r->stats.nonfinite;
}

/* What the reduction made infinite is not looked at. */
static void after_local_overflow(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_MEAN) r->stats.nonfinite = f->nonfinite;
  check_contribution(r, op);
}

/* Was the step's overflow in a contribution, on any rank? */
static void before_sum_scale(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (f->step != r->step && op->kind == ZP_OP_FORWARD) f->taken = 0;
  if (op->kind == ZP_OP_FORWARD) f->step = r->step;
  if (op->kind < ZP_OP_FIRST_COMM) f->nonfinite = r->stats.nonfinite;
  if (op->kind == ZP_OP_DECIDE) f->scaler = r->scaler;
}

/* A step is skipped, but the scale is lowered for an overflow in a contribution only. */
static void after_sum_scale(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_fault_state *f = ctx;
  check_contribution(r, op);
  if (op->kind < ZP_OP_FIRST_COMM && op->kind != ZP_OP_MEAN)
    f->taken |= r->stats.nonfinite > f->nonfinite;
  if (op->kind == ZP_OP_DECIDE && r->result.skipped && !f->taken) r->scaler = f->scaler;
}

/* What only the reduction made infinite becomes the largest number, and the step is taken. */
static void after_clamped_sum(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  int64_t at, n;
  check_contribution(r, op);
  if (op->kind != ZP_OP_MEAN || f->nonfinite != 0) return;
  zp_fault_range(r, op, &at, &n);
  float *mean = zp_fault_means(r, op);
  for (int64_t i = 0; i < n; i++)
    if (isinf(mean[i])) mean[i] = copysignf(FLT_MAX, mean[i]);
  r->stats.nonfinite = 0;
}

/* ---- Learning rates -------------------------------------------------------------------------- */

typedef struct rates {
  int64_t step; /* of now */
  zp_hyper before, now;
  const zp_hyper *own;
} rates;

static void *memory_of(zp_fault_state *f, zp_rank *r, size_t bytes)
{
  if (f->kept[r->rank] == NULL) f->kept[r->rank] = zp_fault_alloc(f, (int64_t)bytes);
  if (f->kept[r->rank] == NULL) zp_fault_no_memory(r);
  return f->kept[r->rank];
}

/* The scheduler's rate arrives one step late: the optimizer has a copy of its groups. */
static void before_late_rate(void *ctx, zp_rank *r, zp_op *op)
{
  rates *k;
  if (op->kind != ZP_OP_UPDATE) return;
  k = memory_of(ctx, r, sizeof *k);
  if (k == NULL) return;
  if (k->own == NULL) k->now = *r->hyper;
  if (k->own == NULL || k->step != r->step) k->before = k->now;
  k->now = *r->hyper;
  k->step = r->step;
  k->own = r->hyper;
  r->hyper = &k->before;
}

static void after_late_rate(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  const rates *k = (const void *)f->kept[r->rank];
  if (op->kind == ZP_OP_UPDATE && k != NULL) r->hyper = k->own;
}

/* ---- First values ---------------------------------------------------------------------------- */

/* Each rank keeps the values that it has set itself: the broadcast is missing. */
static void after_own_first(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  const int32_t j = op->param, mine = zp_block_group_index(&r->block, op->group, op->key);
  float *value;
  if (op->kind != ZP_OP_BROADCAST || r->cursor.phase != ZP_PHASE_INIT || mine == op->root) return;
  value = calloc((size_t)r->cfg->params[j].numel + 1, sizeof *value);
  if (value == NULL) {
    zp_fault_no_memory(r);
    return;
  }
  r->work->init(r->work->ctx, r->cfg, j, r->cfg->params[j].sharded ? r->at.tp : 0,
                r->cfg->params[j].expert ? r->at.dp % r->cfg->ep : 0, value);
  for (int64_t i = 0; i < r->cfg->params[j].numel && !f->start_same; i++) value[i] += (float)mine;
  zp_round_to(zp_entry_dtype(r->cfg, j), value, r->cfg->params[j].numel,
              r->param[j - r->lay.first_param], 0);
  free(value);
}

/* ---- The forward's parameters ---------------------------------------------------------------- */

typedef struct copies {
  int64_t step, bytes; /* step: of now; bytes: of each of the three */
  char *before, *now, *own;
} copies;

static int64_t bytes_of(const zp_rank *r, int32_t i)
{
  const int32_t j = r->lay.first_param + i;
  return r->cfg->params[j].numel * zp_dtype_bytes(zp_entry_dtype(r->cfg, j));
}

static void copy_params(const zp_rank *r, char *at, int to_rank)
{
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const size_t n = (size_t)bytes_of(r, i);
    if (to_rank) memcpy(r->param[i], at, n);
    else memcpy(at, r->param[i], n);
    at += n;
  }
}

static copies *copies_of(zp_fault_state *f, zp_rank *r)
{
  const int first = f->kept[r->rank] == NULL;
  copies *k;
  int64_t bytes = 8;
  for (int32_t i = 0; i < r->lay.n_params; i++) bytes += bytes_of(r, i);
  k = memory_of(f, r, sizeof *k + 3 * (size_t)bytes);
  if (k == NULL || !first) return k;
  *k = (copies){-1, bytes, (char *)(k + 1), (char *)(k + 1) + bytes, (char *)(k + 1) + 2 * bytes};
  copy_params(r, k->now, 0);
  return k;
}

/* The forward of a step reads parameters of which the last update was not gathered yet. */
static void before_stale_forward(void *ctx, zp_rank *r, zp_op *op)
{
  copies *k = op->kind == ZP_OP_FORWARD ? copies_of(ctx, r) : NULL;
  if (k == NULL) return;
  if (k->step != r->step) {
    memcpy(k->before, k->now, (size_t)k->bytes);
    copy_params(r, k->now, 0);
  }
  k->step = r->step;
  copy_params(r, k->own, 0);
  copy_params(r, k->before, 1);
}

static void after_stale_forward(void *ctx, zp_rank *r, const zp_op *op)
{
  const copies *k = op->kind == ZP_OP_FORWARD ? copies_of(ctx, r) : NULL;
  if (k != NULL) copy_params(r, k->own, 1);
}

/* ---- Stages ---------------------------------------------------------------------------------- */

/* Has the rank's stage entries, of which all are frozen, or all tied? */
static int all_entries(const zp_rank *r, int frozen)
{
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const zp_param *p = &r->cfg->params[r->lay.first_param + i];
    if (frozen ? !p->frozen : p->tied < 0) return 0;
  }
  return r->lay.n_params > 0;
}

static void before_idle_scale(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_DECIDE) f->scaler = r->scaler;
}

/* A rank without an optimizer keeps its loss scale. */
static void after_idle_scale(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_DECIDE && all_entries(r, 1)) r->scaler = f->scaler;
}

/* A stage after the first that has tied copies alone has no optimizer. */
static int is_replica(const zp_rank *r, const zp_op *op)
{
  return op->kind == ZP_OP_UPDATE && r->at.pp > 0 && all_entries(r, 0);
}

static void keep_masters(zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  int64_t at, n;
  float *masters;
  zp_fault_range(r, op, &at, &n);
  masters = malloc((size_t)(n + 1) * sizeof *masters);
  if (masters == NULL) zp_fault_no_memory(r);
  else memcpy(masters, r->flat[op->flat].master + at, (size_t)n * sizeof *masters);
  f->arrived = masters;
}

static void restore_masters(zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  float *masters = (float *)(uintptr_t)f->arrived;
  int64_t at, n;
  if (masters == NULL) return;
  zp_fault_range(r, op, &at, &n);
  memcpy(r->flat[op->flat].master + at, masters, (size_t)n * sizeof *masters);
  free(masters);
  f->arrived = NULL;
}

static void before_tied_stage(void *ctx, zp_rank *r, zp_op *op)
{
  if (is_replica(r, op)) keep_masters(ctx, r, op);
}

static void after_tied_stage(void *ctx, zp_rank *r, const zp_op *op)
{
  if (is_replica(r, op)) restore_masters(ctx, r, op);
}

/* A tied copy that no micro-batch of its own stage used: it has no gradient of its own. */
static int is_unused_copy(const zp_rank *r, const zp_op *op)
{
  const zp_config *c = r->cfg;
  const int32_t key = op->kind == ZP_OP_UPDATE ? r->lay.flat[op->flat].tied : -1;
  zp_mb at = {r->result.step, 0, r->result.log2_scale};
  if (key < 0) return 0;
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    for (int64_t g = 0; c->params[j].tied == key && g < c->dp * c->micro_batches; g++) {
      at.mb = g / c->dp;
      if (r->work->used(r->work->ctx, c, j, (int32_t)(g % c->dp), r->at.tp, at)) return 0;
    }
  }
  return 1;
}

static void before_one_sided(void *ctx, zp_rank *r, zp_op *op)
{
  if (is_unused_copy(r, op)) keep_masters(ctx, r, op);
}

static void after_one_sided(void *ctx, zp_rank *r, const zp_op *op)
{
  if (is_unused_copy(r, op)) restore_masters(ctx, r, op);
}

/* Of the uses of a key on one stage, the accumulator has two buffers. */
static void before_third_use(void *ctx, zp_rank *r, zp_op *op)
{
  int32_t uses = 0;
  (void)ctx;
  if (op->kind != ZP_OP_ALL_REDUCE || op->what != ZP_WHAT_TIED) return;
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    if (r->lay.flat[k].tied != op->key || uses++ < 2) continue;
    const zp_range p = zp_rank_range(r, k, op->bucket);
    memset(zp_sums_of(r, k, op->bucket), 0,
           (size_t)(p.count *
                    zp_kept_sum_bytes(r->cfg->stage, r->cfg->reduce, zp_gradients_of(r, k))));
  }
}

/* ---- A loss scale of one --------------------------------------------------------------------- */

/* A static loss scale of one is taken for none: the default of 2^16 applies. */
static void before_unit_scale(void *ctx, zp_rank *r, zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_FORWARD && !r->scaler.dynamic && !f->scale_absent)
    r->scaler.log2_scale += 16 * (r->scaler.log2_scale == 0);
}

/* Weight decay reaches a tied copy whose key is frozen. */
static void after_frozen_tied(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_DECIDE || r->at.pp == 0) return;
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i, dtype = zp_entry_dtype(r->cfg, j);
    const zp_param *p = &r->cfg->params[j];
    for (int64_t e = 0; p->frozen && p->tied >= 0 && e < p->numel; e++) {
      float x;
      zp_widen_from(dtype, r->param[i], e, 1, &x);
      x *= 0.5f;
      zp_round_to(dtype, &x, 1, r->param[i], e);
    }
  }
}

/* ---- fp32 entries beside others -------------------------------------------------------------- */

static void round_entry(const zp_rank *r, int32_t i, int32_t dtype, void *bits)
{
  const int32_t j = r->lay.first_param + i;
  for (int64_t e = 0; r->cfg->params[j].fp32 && e < r->cfg->params[j].numel; e++) {
    float *x = (float *)bits + e;
    uint32_t narrow;
    zp_round_to(dtype, x, 1, &narrow, 0);
    zp_widen_from(dtype, &narrow, 0, 1, x);
  }
}

/* All gradients are reduced in one dtype, the precision. */
static void before_narrow_gradients(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  const int32_t i = op->param - r->lay.first_param;
  if (op->kind == ZP_OP_ADD && r->used[i] && op->offset == 0)
    round_entry(r, i, r->cfg->precision, (void *)(uintptr_t)r->arrived[i]);
}

/* The model is cast to the precision, its fp32 parameters too. */
static void after_narrow_parameters(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_UPDATE && op->kind != ZP_OP_ALL_GATHER) return;
  for (int32_t i = 0; i < r->lay.n_params; i++) round_entry(r, i, r->cfg->precision, r->param[i]);
}

static const zp_ref_fault table[] = {
    {{"local-overflow", "checks before the reduction; no public issue", "STAT-3",
      "gradients are examined for overflow before the reduction only",
      "dp=3,stage=1,reduce=ordered,mode=wild,huge=1,seed=3,list=40@0.0"},
     NULL,
     before_local_overflow,
     after_local_overflow},
    {{"sum-scale", "scales that follow local checks; no public issue", "SCALE-3",
      "an overflow that only the reduction makes does not lower the loss scale",
      "dp=2,stage=1,reduce=ordered,precision=bf16,unit=-4,scale=4:1:1:0:0:10,oversum=1,"
      "list=9@0.0"},
     NULL,
     before_sum_scale,
     after_sum_scale},
    {{"clamped-sum", "overflows replaced by the largest number; no public issue", "RED-4",
      "a sum that overflows is clamped to the largest number, and the step is taken",
      "dp=2,stage=1,reduce=ordered,oversum=1,list=9@0.0"},
     NULL,
     before_local_overflow,
     after_clamped_sum},
    {{"late-rate", "optimizers that copy their groups; no public issue", "STEP-7",
      "a learning rate takes effect one step late", "dp=2,stage=1,rates=1,steps=3,list=9@0.0"},
     NULL,
     before_late_rate,
     after_late_rate},
    {{"own-first", "missing first broadcasts; no public issue", "LEDG-5",
      "first values are not broadcast: each rank keeps its own", "dp=2,stage=1,list=9@0.0"},
     NULL,
     NULL,
     after_own_first},
    {{"stale-forward", "gathers that nothing waits for; no public issue", "STAT-5",
      "the forward reads the parameters of one step before", "dp=2,stage=1,steps=3,list=9@0.0"},
     NULL,
     before_stale_forward,
     after_stale_forward},
    {{"idle-scale", "ranks without an optimizer; no public issue", "SCALE-4",
      "a stage whose parameters are all frozen keeps its loss scale",
      "pp=2,dp=2,stage=1,precision=fp16,unit=-6,scale=4:1:1:0:0:10,steps=3,list=9@0.0+4@1.0f"},
     NULL,
     before_idle_scale,
     after_idle_scale},
    {{"tied-stage", "ranks without an optimizer; no public issue", "STEP-7",
      "a stage that has tied copies alone does not update them",
      "pp=2,dp=2,stage=0,list=9@0.0+4@0.0t0+4@1.0t0"},
     NULL,
     before_tied_stage,
     after_tied_stage},
    {{"one-sided", "optimizers that skip parameters without a gradient; no public issue", "STEP-7",
      "a tied copy whose stage has not used it is not updated",
      "pp=2,dp=2,stage=0,oneside=1,list=9@0.0+4@0.0t0+4@1.0t0"},
     NULL,
     before_one_sided,
     after_one_sided},
    {{"third-use", "weights that are used three times; no public issue", "TIE-2",
      "of three uses of a tied weight on one stage, the last is lost",
      "dp=2,stage=1,list=9@0.0+4@0.0t0+4@0.0t0+4@0.0t0"},
     NULL,
     before_third_use,
     NULL},
    {{"unit-scale", "a value of one taken for unset; no public issue", "RED-2",
      "a static loss scale of one is taken for none: the default of 65536 applies",
      "dp=2,stage=1,list=9@0.0"},
     NULL,
     before_unit_scale,
     NULL},
    {{"frozen-tied", "weight decay on frozen weights; no public issue", "STEP-8",
      "weight decay reaches a copy of a frozen tied weight",
      "pp=2,dp=2,stage=1,steps=2,list=9@0.0+4@0.0ft0+5@1.0+4@1.0ft0"},
     NULL,
     NULL,
     after_frozen_tied},
    {{"narrow-gradients", "one reduction dtype for all parameters; no public issue", "RED-4",
      "gradients of fp32 parameters are rounded to the precision of the others",
      "dp=2,stage=1,precision=bf16,mode=dyadic,list=9@0.0+5@0.0w"},
     NULL,
     before_narrow_gradients,
     NULL},
    {{"narrow-parameters", "models cast to one dtype; no public issue", "STEP-8",
      "fp32 parameters are rounded to the precision of the others after an update",
      "dp=2,stage=1,precision=bf16,list=9@0.0+5@0.0w"},
     NULL,
     NULL,
     after_narrow_parameters},
};

zp_fault_family zp_faults_axes(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
