/* The oracle. Read it beside spec/reduce.md: it is that text as a program, without any sharding.
 * spec: RED-1 … RED-6, RED-8, RED-9, STAT-1 … STAT-5, STEP-1, STEP-6, STEP-7 */
#include "serial.h"

#include <stdlib.h>
#include <string.h>

#include "../base/invariant.h"
#include "../num/half.h"
#include "../num/nonfinite.h"
#include "../num/norm.h"
#include "../num/value.h"
#include "partial.h"

/* One copy of one entry: tensor-parallel shards and experts have several. Entries of one tied key
 * share everything but their sums. */
typedef struct zp_copy {
  void *param;
  float *master, *moment1, *moment2, *mean;
  float *inner, *total;     /* ordered sums: of the inner loop, and of a block's ranks */
  float *all;               /* of the blocks so far */
  int64_t *limbs;           /* exact sum */
  int64_t inner_n, total_n; /* contributions so far */
} zp_copy;

/* The whole model as one dp and tp coordinate sees it. */
typedef struct zp_view {
  void *inst;
  const void **params;  /* [n_params] */
  const void **arrived; /* [n_params] */
  int32_t dp, tp;
  int32_t entries, unasked; /* unasked: 1 when a gradient came twice, or for no entry (STEP-3) */
} zp_view;

struct zp_serial {
  const zp_config *cfg;
  const zp_hyper *hyper;
  const zp_workload *work;
  int32_t replicas; /* that the hyper had at opening, as the ranks */
  int64_t *base;    /* [n_params] first copy of an entry */
  int32_t *first;   /* [n_params] first entry of the same tied key, or itself */
  zp_copy *copy;
  int64_t copies;
  zp_view *view; /* [dp · tp] */
  zp_scaler scaler;
  zp_optim_state *optim;
  int64_t *since; /* [optgroups] first step with the group */
  int64_t step;
  int64_t nonfinite, bad_loss;
  int64_t loss[ZP_VAL_LIMBS];
  zp_sumsq squares;
};

static int32_t tp_copies(const zp_config *c, int32_t j)
{
  return c->params[j].sharded ? c->tp : 1;
}

/* Copies of an entry's sums: a tp-replicated entry with partial gradients has one for each tp
 * index. The others than that of tp index 0 have no storage. RED-8 */
static int32_t tp_sums(const zp_config *c, int32_t j)
{
  return zp_is_partial(c, j) ? c->tp : tp_copies(c, j);
}

static int32_t ep_copies(const zp_config *c, int32_t j)
{
  return c->params[j].expert ? c->ep : 1;
}

static zp_copy *copy_at(const zp_serial *s, int32_t j, int32_t tp, int32_t ep)
{
  return &s->copy[s->base[j] + (int64_t)tp * ep_copies(s->cfg, j) + ep];
}

static int32_t first_of_key(const zp_config *c, int32_t j)
{
  if (c->params[j].tied < 0) return j;
  for (int32_t i = 0; i < j; i++)
    if (c->params[i].tied == c->params[j].tied) return i;
  return j;
}

static void *zeros(int64_t n, int64_t bytes)
{
  return calloc(n > 0 ? (size_t)n : 1, (size_t)bytes);
}

/* fp32 of element i of a buffer. */
static float widened(int32_t dtype, const void *x, int64_t i)
{
  uint32_t bits;
  float value;
  if (dtype == ZP_F32) bits = ((const uint32_t *)x)[i];
  else if (dtype == ZP_BF16) bits = zp_f32_from_bf16(((const uint16_t *)x)[i]);
  else bits = zp_f32_from_f16(((const uint16_t *)x)[i]);
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* param[i] = master[i] rounded to the entry's dtype. STEP-7 */
static void round_param(int32_t dtype, const float *master, int64_t n, void *param)
{
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &master[i], sizeof bits);
    if (dtype == ZP_F32) ((uint32_t *)param)[i] = bits;
    else if (dtype == ZP_BF16) ((uint16_t *)param)[i] = zp_bf16_from_f32(bits);
    else ((uint16_t *)param)[i] = zp_f16_from_f32(bits);
  }
}

/* Storage and first values of one copy. STEP-7 */
static int open_copy(zp_serial *s, int32_t j, int32_t tp, int32_t ep)
{
  const zp_config *c = s->cfg;
  const int64_t n = c->params[j].numel;
  const int32_t dtype = zp_entry_dtype(c, j);
  zp_copy *p = copy_at(s, j, tp, ep);
  if (c->reduce == ZP_EXACT) p->limbs = zeros(n, 8 * ZP_VAL_LIMBS);
  else p->inner = zeros(n, 4), p->total = zeros(n, 4), p->all = zeros(n, 4);
  if (c->reduce == ZP_EXACT ? !p->limbs : !p->inner || !p->total || !p->all) return -1;
  if (tp >= tp_copies(c, j)) return 0;
  if (s->first[j] != j) {
    const zp_copy *q = copy_at(s, s->first[j], tp, ep);
    p->param = q->param;
    p->master = q->master;
    return 0;
  }
  p->param = zeros(n, zp_dtype_bytes(dtype));
  p->master = zeros(n, 4);
  p->moment1 = zeros(n, 4);
  p->moment2 = zeros(n, 4);
  p->mean = zeros(n, 4);
  if (!p->param || !p->master || !p->moment1 || !p->moment2 || !p->mean) return -1;
  s->work->init(s->work->ctx, c, j, tp, ep, p->master);
  round_param(dtype, p->master, n, p->param);
  for (int64_t i = 0; i < n; i++) p->master[i] = widened(dtype, p->param, i);
  return 0;
}

static int open_view(zp_serial *s, int32_t d, int32_t t)
{
  const zp_config *c = s->cfg;
  zp_view *v = &s->view[d * c->tp + t];
  const zp_place_of where = {0, c->pp - 1, d, t};
  v->dp = d;
  v->tp = t;
  v->entries = c->n_params;
  v->params = zeros(c->n_params, sizeof *v->params);
  v->arrived = zeros(c->n_params, sizeof *v->arrived);
  if (!v->params || !v->arrived) return -1;
  for (int32_t j = 0; j < c->n_params; j++)
    v->params[j] =
        copy_at(s, j, c->params[j].sharded ? t : 0, c->params[j].expert ? d % c->ep : 0)->param;
  return s->work->open(s->work->ctx, c, where, v->params, &v->inst);
}

static int open_all(zp_serial *s)
{
  const zp_config *c = s->cfg;
  s->base = zeros(c->n_params, sizeof *s->base);
  s->first = zeros(c->n_params, sizeof *s->first);
  s->optim = zeros(c->optgroups, sizeof *s->optim);
  s->since = zeros(c->optgroups, sizeof *s->since);
  s->view = zeros((int64_t)c->dp * c->tp, sizeof *s->view);
  if (!s->base || !s->first || !s->optim || !s->since || !s->view) return -1;
  for (int32_t j = 0; j < c->n_params; j++) {
    s->base[j] = s->copies;
    s->first[j] = first_of_key(c, j);
    s->copies += (int64_t)tp_sums(c, j) * ep_copies(c, j);
  }
  s->copy = zeros(s->copies, sizeof *s->copy);
  if (!s->copy) return -1;
  for (int32_t j = 0; j < c->n_params; j++)
    for (int32_t t = 0; t < tp_sums(c, j); t++)
      for (int32_t e = 0; e < ep_copies(c, j); e++)
        if (open_copy(s, j, t, e)) return -1;
  for (int32_t d = 0; d < c->dp; d++)
    for (int32_t t = 0; t < c->tp; t++)
      if (open_view(s, d, t)) return -1;
  for (int32_t g = 0; g < c->optgroups; g++) zp_optim_state_init(&s->optim[g]);
  return 0;
}

/* Of an oracle between two steps. */
static int invariant(const zp_serial *s, zp_error *err)
{
  ZP_INVARIANT(err, -1, s->copies >= s->cfg->n_params && s->step >= 0);
  ZP_INVARIANT(err, -1, s->nonfinite >= 0 && s->bad_loss >= 0);
  ZP_INVARIANT(err, -1, s->scaler.log2_scale >= -126 && s->scaler.log2_scale <= 126);
  for (int32_t j = 0; j < s->cfg->n_params; j++) {
    ZP_INVARIANT(err, -1, s->first[j] >= 0 && s->first[j] <= j);
    ZP_INVARIANT(err, -1, s->base[j] >= 0 && s->base[j] < s->copies);
  }
  return ZP_OK;
}

zp_serial *zp_serial_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                          zp_error *err)
{
  zp_serial *s = calloc(1, sizeof *s);
  if (s) {
    s->cfg = cfg;
    s->hyper = hyper;
    s->work = work;
    s->scaler = hyper->scaler;
    s->replicas = zp_replicas(hyper);
    if (open_all(s) == 0 && invariant(s, err) == ZP_OK) return s;
  }
  zp_fail(err, ZP_E_MEMORY, -1, "not enough memory for the serial oracle");
  zp_serial_close(s);
  return NULL;
}

void zp_serial_without_group(zp_serial *s, int32_t group, int64_t until)
{
  s->since[group] = until;
}

void zp_serial_close(zp_serial *s)
{
  if (!s) return;
  for (int32_t v = 0; s->view && v < s->cfg->dp * s->cfg->tp; v++) {
    if (s->view[v].inst) s->work->close(s->view[v].inst);
    free(s->view[v].params);
    free(s->view[v].arrived);
  }
  for (int32_t j = 0; s->copy && j < s->cfg->n_params; j++) {
    for (int64_t i = 0; i < (int64_t)tp_sums(s->cfg, j) * ep_copies(s->cfg, j); i++) {
      zp_copy *p = &s->copy[s->base[j] + i];
      free(p->inner);
      free(p->total);
      free(p->all);
      free(p->limbs);
      free(p->moment1);
      free(p->moment2);
      free(p->mean);
      if (s->first[j] == j) {
        free(p->param);
        free(p->master);
      }
    }
  }
  free(s->view);
  free(s->copy);
  free(s->base);
  free(s->first);
  free(s->optim);
  free(s->since);
  free(s);
}

/* ---- Contributions --------------------------------------------------------------------------- */

static void arrive(void *ctx, int32_t param, const void *grad)
{
  zp_view *v = ctx;
  if (param < 0 || param >= v->entries || v->arrived[param]) v->unasked = 1;
  else v->arrived[param] = grad;
}

static int64_t nonfinite(int32_t dtype, const void *x, int64_t n)
{
  if (dtype == ZP_F32) return zp_nonfinite_f32(x, n);
  if (dtype == ZP_BF16) return zp_nonfinite_bf16(x, n);
  return zp_nonfinite_f16(x, n);
}

/* One contribution enters its sum; NULL stands for zeros. RED-3 … RED-6 */
static void contribute(zp_serial *s, zp_copy *p, int32_t param, const void *grad)
{
  const int32_t dtype = zp_gradient_dtype(s->cfg, s->hyper, param);
  const int64_t n = s->cfg->params[param].numel;
  if (s->cfg->reduce == ZP_EXACT) {
    if (!grad) return;
    if (nonfinite(dtype, grad, n) != 0) s->nonfinite = 1; /* STAT-3 */
    if (dtype == ZP_F32) zp_val_add_f32(p->limbs, grad, n);
    else if (dtype == ZP_BF16) zp_val_add_bf16(p->limbs, grad, n);
    else zp_val_add_f16(p->limbs, grad, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const float x = grad ? widened(dtype, grad, i) : 0.0f;
    p->inner[i] = p->inner_n == 0 ? x : p->inner[i] + x;
  }
  p->inner_n++;
}

/* The inner loop has ended: its sums join the totals. RED-4 */
static void close_inner(zp_serial *s)
{
  for (int32_t j = 0; j < s->cfg->n_params; j++) {
    const int64_t n = s->cfg->params[j].numel;
    for (int64_t c = 0; c < (int64_t)tp_sums(s->cfg, j) * ep_copies(s->cfg, j); c++) {
      zp_copy *p = &s->copy[s->base[j] + c];
      if (p->inner_n == 0) continue;
      for (int64_t i = 0; i < n; i++)
        p->total[i] = p->total_n == 0 ? p->inner[i] : p->total[i] + p->inner[i];
      p->total_n++;
      p->inner_n = 0;
    }
  }
}

/* Forward and backward of micro-batch mb through the whole model; its gradients enter the sums of
 * the copies that this coordinate holds (replicas over tp are one copy, taken from tp index 0,
 * unless each computes a part of their gradient). */
static int run_micro_batch(zp_serial *s, zp_view *v, int64_t mb)
{
  static const zp_message none;
  const zp_config *c = s->cfg;
  const zp_mb at = {s->step, mb, s->scaler.log2_scale};
  const zp_sink sink = {v, arrive};
  float loss = 0;
  uint32_t bits;
  v->unasked = 0;
  for (int32_t j = 0; j < c->n_params; j++) v->arrived[j] = NULL;
  if (s->work->forward(v->inst, at, 0, &none, &none, &loss)) return -1;
  if (s->work->backward(v->inst, at, 0, &none, &none, sink)) return -1;
  for (int32_t j = 0; j < c->n_params; j++) {
    const zp_param *p = &c->params[j];
    const int used = !p->frozen && s->work->used(s->work->ctx, c, j, v->dp, v->tp, at);
    if (v->unasked || used != (v->arrived[j] != NULL)) return -1; /* STEP-3 */
    if (p->frozen || v->tp >= tp_sums(c, j)) continue;
    contribute(s, copy_at(s, j, v->tp, p->expert ? v->dp % c->ep : 0), j, v->arrived[j]);
  }
  if (v->tp != 0) return 0;
  memcpy(&bits, &loss, sizeof bits);
  if (bits / 8388608u % 256u == 255u) s->bad_loss++;
  else zp_val_add_f32(s->loss, &bits, 1);
  return 0;
}

/* All contributions of a block of dp indices in the order of RED-4: stages 0 and 1 a rank's
 * micro-batches, then ranks; stage 2 ranks, then micro-batches. */
static int run_block(zp_serial *s, int64_t block)
{
  const zp_config *c = s->cfg;
  const int64_t M = c->micro_batches, ranks = c->dp / s->replicas;
  const int64_t outer = c->stage == 2 ? M : ranks, inner = c->stage == 2 ? ranks : M;
  for (int64_t o = 0; o < outer; o++) {
    for (int64_t i = 0; i < inner; i++) {
      const int64_t d = block * ranks + (c->stage == 2 ? i : o), mb = c->stage == 2 ? o : i;
      for (int32_t t = 0; t < c->tp; t++)
        if (run_micro_batch(s, &s->view[d * c->tp + t], mb)) return -1;
    }
    if (c->reduce == ZP_ORDERED) close_inner(s);
  }
  return 0;
}

/* A block has ended: its sums join those of the blocks before. RED-9 */
static void close_block(zp_serial *s, int64_t block)
{
  for (int32_t j = 0; j < s->cfg->n_params; j++) {
    const int64_t n = s->cfg->params[j].numel;
    for (int64_t c = 0; c < (int64_t)tp_sums(s->cfg, j) * ep_copies(s->cfg, j); c++) {
      zp_copy *p = &s->copy[s->base[j] + c];
      for (int64_t i = 0; i < n && p->total_n > 0; i++)
        p->all[i] = block == 0 ? p->total[i] : p->all[i] + p->total[i];
      p->total_n = 0;
    }
  }
}

static int run_window(zp_serial *s)
{
  for (int64_t block = 0; block < s->replicas; block++) {
    if (run_block(s, block)) return -1;
    if (s->cfg->reduce == ZP_ORDERED) close_block(s, block);
  }
  return 0;
}

/* ---- From sums to the step ------------------------------------------------------------------- */

/* The sum over all uses of a tied key, into the sums of its first entry: on each stage in backward
 * order, then over the stages. RED-4, TIE-1, TIE-2 */
static void fold_uses(zp_serial *s, int32_t j, int64_t copy)
{
  const zp_config *c = s->cfg;
  const int64_t n = c->params[j].numel;
  zp_copy *into = &s->copy[s->base[j] + copy];
  for (int64_t i = 0; i < n; i++) {
    float all = 0, stage_sum = 0;
    int32_t any = 0;
    for (int32_t stage = 0; c->reduce == ZP_ORDERED && stage < c->pp; stage++) {
      int32_t uses = 0;
      for (int32_t q = c->n_params - 1; q >= j; q--) {
        if (s->first[q] != j || c->params[q].stage != stage) continue;
        const float x = s->copy[s->base[q] + copy].all[i];
        stage_sum = uses == 0 ? x : stage_sum + x;
        uses++;
      }
      if (uses == 0) continue;
      all = any ? all + stage_sum : stage_sum;
      any = 1;
    }
    if (c->reduce == ZP_ORDERED) into->all[i] = all;
  }
  for (int32_t q = j + 1; c->reduce == ZP_EXACT && q < c->n_params; q++) {
    if (s->first[q] != j) continue;
    int64_t *from = s->copy[s->base[q] + copy].limbs;
    zp_val_normalise(from, n); /* SUM-6 */
    for (int64_t i = 0; i < n * ZP_VAL_LIMBS; i++) into->limbs[i] += from[i];
  }
}

/* Divides by D·M and takes the squares of one copy. RED-2, STAT-2, STAT-3 */
static void mean_of(zp_serial *s, zp_copy *p, int64_t n)
{
  const int64_t divisor = s->cfg->micro_batches * s->cfg->dp;
  for (int64_t i = 0; i < n; i++) {
    if (s->cfg->reduce == ZP_EXACT) {
      const uint32_t bits = zp_val_mean_f32(p->limbs + i * ZP_VAL_LIMBS, divisor);
      memcpy(&p->mean[i], &bits, sizeof bits);
    } else {
      p->mean[i] = (float)((double)p->all[i] / (double)divisor);
    }
  }
  if (zp_nonfinite_f32((const uint32_t *)(const void *)p->mean, n) != 0) s->nonfinite = 1;
  zp_sumsq_add_f32(&s->squares, (const uint32_t *)(const void *)p->mean, n);
}

/* Calls for every logical copy that is trained. */
static void each_trained(zp_serial *s, void (*f)(zp_serial *, int32_t j, int64_t copy))
{
  for (int32_t j = 0; j < s->cfg->n_params; j++) {
    if (s->cfg->params[j].frozen || s->first[j] != j) continue;
    for (int64_t c = 0; c < (int64_t)tp_copies(s->cfg, j) * ep_copies(s->cfg, j); c++) f(s, j, c);
  }
}

/* The sum over tp of an entry with partial gradients, into that of tp index 0. RED-8 */
static void fold_tp(zp_serial *s, int32_t j, int64_t copy)
{
  const zp_config *c = s->cfg;
  const int64_t n = c->params[j].numel;
  zp_copy *into = &s->copy[s->base[j] + copy];
  for (int32_t t = 1; t < tp_sums(c, j); t++) {
    zp_copy *from = into + (int64_t)t * ep_copies(c, j);
    if (c->params[j].tied >= 0) fold_uses(s, j, copy + (int64_t)t * ep_copies(c, j));
    if (c->reduce == ZP_EXACT) zp_val_normalise(from->limbs, n); /* SUM-6 */
    for (int64_t i = 0; c->reduce == ZP_EXACT && i < n * ZP_VAL_LIMBS; i++)
      into->limbs[i] += from->limbs[i];
    for (int64_t i = 0; c->reduce == ZP_ORDERED && i < n; i++) into->all[i] += from->all[i];
  }
}

static void reduce_one(zp_serial *s, int32_t j, int64_t copy)
{
  if (s->cfg->params[j].tied >= 0) fold_uses(s, j, copy);
  if (zp_is_partial(s->cfg, j)) fold_tp(s, j, copy);
  mean_of(s, &s->copy[s->base[j] + copy], s->cfg->params[j].numel);
}

static void clear(zp_serial *s)
{
  for (int32_t j = 0; j < s->cfg->n_params; j++) {
    for (int64_t c = 0; c < (int64_t)tp_sums(s->cfg, j) * ep_copies(s->cfg, j); c++) {
      zp_copy *p = &s->copy[s->base[j] + c];
      p->inner_n = p->total_n = 0;
      if (p->limbs) memset(p->limbs, 0, (size_t)s->cfg->params[j].numel * ZP_VAL_LIMBS * 8);
    }
  }
  memset(s->loss, 0, sizeof s->loss);
  s->nonfinite = s->bad_loss = 0;
  zp_sumsq_clear(&s->squares);
}

/* Norm, decision, scaler. STAT-4, STAT-5, STEP-6 */
static void decide(zp_serial *s, zp_step_result *out)
{
  static const uint64_t inf64 = 0x7ff0000000000000u;
  int64_t limbs[ZP_SQ_LIMBS];
  double norm, unscale = 1;
  uint64_t bits;
  memset(out, 0, sizeof *out);
  out->step = s->step;
  out->log2_scale = s->scaler.log2_scale;
  out->nonfinite = s->nonfinite;
  out->skipped = s->nonfinite != 0 || s->bad_loss != 0;
  out->loss =
      s->bad_loss ? 0x7fc00000u : zp_val_mean_f32(s->loss, s->cfg->micro_batches * s->cfg->dp);
  out->clip_factor = 1;
  out->norm_f64 = inf64;
  out->norm_f32 = 0x7f800000u;
  if (!out->skipped) {
    zp_sumsq_limbs(&s->squares, limbs);
    bits = zp_norm_f64(limbs);
    memcpy(&norm, &bits, sizeof norm);
    for (int32_t i = 0; i < out->log2_scale; i++) unscale /= 2;
    for (int32_t i = 0; i > out->log2_scale; i--) unscale *= 2;
    norm *= unscale;
    memcpy(&out->norm_f64, &norm, sizeof norm);
    out->norm_f32 = zp_norm_f32(limbs);
    out->clip_factor = zp_clip_factor(norm, s->hyper->clip, s->hyper->clip_eps);
  }
}

/* The optimizer on every trained entry of its groups, and the rounding of its parameters. STEP-7 */
static void update(zp_serial *s, const zp_step_result *out)
{
  const zp_config *c = s->cfg;
  for (int32_t g = 0; g < c->optgroups; g++)
    if (s->step >= s->since[g]) zp_optim_tick(&s->optim[g], &s->hyper->optim[g % s->hyper->groups]);
  for (int32_t j = 0; j < c->n_params; j++) {
    if (c->params[j].frozen || s->first[j] != j) continue;
    const int32_t g = c->params[j].optgroup;
    if (s->step < s->since[g]) continue;
    for (int64_t i = 0; i < (int64_t)tp_copies(c, j) * ep_copies(c, j); i++) {
      zp_copy *p = &s->copy[s->base[j] + i];
      zp_optim_step(&s->hyper->optim[g % s->hyper->groups], &s->optim[g], (float)out->clip_factor,
                    out->log2_scale, c->params[j].numel, p->mean, p->master, p->moment1,
                    p->moment2);
      round_param(zp_entry_dtype(c, j), p->master, c->params[j].numel, p->param);
    }
  }
}

int zp_serial_step(zp_serial *s, zp_step_result *out, zp_error *err)
{
  if (invariant(s, err)) return err->status;
  clear(s);
  if (run_window(s))
    return zp_fail(
        err, ZP_E_WORKLOAD, -1,
        "serial: in step %lld the workload failed, or the gradients that arrived are not "
        "those of the entries used (STEP-3)",
        (long long)s->step);
  each_trained(s, reduce_one);
  decide(s, out);
  if (!out->skipped) update(s, out);
  zp_scaler_update(&s->scaler, out->skipped);
  s->step++;
  return invariant(s, err);
}

const void *zp_serial_get(const zp_serial *s, int32_t what, int32_t param, int32_t tp, int32_t ep)
{
  const zp_copy *p = copy_at(s, s->first[param], tp, ep);
  if (what == ZP_WHAT_PARAMETER) return p->param;
  if (s->cfg->params[param].frozen) return NULL;
  if (what == ZP_WHAT_MASTER) return p->master;
  if (what == ZP_WHAT_GRADIENT) return p->mean;
  return what == ZP_WHAT_MOMENT1 ? p->moment1 : p->moment2;
}
