/* The transformer as a workload: stages, messages, decoded parameters, delivered gradients.
 * The layers are in gpt_net.c and gpt_layers.c. */
#include "gpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt_cast.h"
#include "gpt_data.h"
#include "gpt_net.h"

/* What one micro-batch in flight leaves for its backward. */
typedef struct kept {
  int32_t *token;           /* (B,T), first stage */
  int32_t *target;          /* (B,T), last stage, or every stage with tuples */
  zp_gpt_block_kept *block; /* (n_blocks) */
  zp_gpt_head_kept head;    /* last stage */
} kept;

typedef struct instance {
  const zp_gpt *gpt;
  zp_config cfg; /* without its list */
  int32_t first_stage, last_stage, dp_index;
  int32_t first_block, n_blocks;
  int32_t is_first, is_last; /* of the pipeline */
  int32_t slots;
  zp_gpt_pool pool;
  kept *slot;                          /* (slots) */
  const void **params;                 /* (entries) */
  uint8_t *frozen;                     /* (entries) */
  int32_t *dtype;                      /* (entries) of values and gradients */
  void **grad;                         /* (entries) gradients, NULL outside our stages */
  float *value[ZP_GPT_BLOCK_ENTRIES];  /* decoded entries of the layer at work */
  float *dvalue[ZP_GPT_BLOCK_ENTRIES]; /* their gradients in fp32 */
  float *x, *dx, *dy; /* (N,C) activation that leaves the stage; gradients between layers */
  zp_gpt_scratch scratch;
} instance;

static int64_t global_micro_batch(const zp_config *cfg, int32_t dp_index, zp_mb at)
{
  return at.mb * cfg->dp + dp_index;
}

static zp_gpt_dims dims_of(const instance *me, zp_mb at)
{
  const zp_gpt_options *o = &me->gpt->options;
  int64_t T = zp_gpt_context_of(o, global_micro_batch(&me->cfg, me->dp_index, at));
  return (zp_gpt_dims){o->shape.batch, T, o->shape.d_model, o->shape.heads};
}

static void gpt_shape(void *ctx, const zp_config *cfg, int32_t s, int32_t dp, zp_mb at,
                      zp_message *out)
{
  const zp_gpt_options *o = &((const zp_gpt *)ctx)->options;
  int64_t T = zp_gpt_context_of(o, global_micro_batch(cfg, dp, at));
  *out = (zp_message){.n = 0};
  if (s < 0 || s >= cfg->pp - 1) return;
  if (o->tuple)
    out->t[out->n++] = (zp_tensor){.dtype = ZP_I32, .ndim = 2, .dim = {o->shape.batch, T}};
  out->t[out->n++] =
      (zp_tensor){.dtype = cfg->precision, .ndim = 3, .dim = {o->shape.batch, T, o->shape.d_model}};
}

/* Whether a message is what stage s sends for this micro-batch, or with `floats` its gradient
 * (without the integer tensor). */
static int fits(const instance *me, int32_t s, zp_mb at, const zp_message *message, int32_t floats)
{
  zp_message want;
  gpt_shape((void *)me->gpt, &me->cfg, s, me->dp_index, at, &want);
  if (want.n == 0) return !message || message->n == 0;
  const zp_tensor *first = want.t + (floats ? want.n - 1 : 0);
  int32_t n = floats ? 1 : want.n;
  if (!message || message->n != n) return 0;
  for (int32_t i = 0; i < n; i++) {
    const zp_tensor *got = &message->t[i];
    if (got->dtype != first[i].dtype || got->ndim != first[i].ndim || !got->data) return 0;
    for (int32_t k = 0; k < got->ndim; k++)
      if (got->dim[k] != first[i].dim[k]) return 0;
  }
  return 1;
}

/* Room for the entries of the layer that has the most: a block, embeddings or the head. */
static void make_values(instance *me)
{
  const zp_gpt_shape *shape = &me->gpt->options.shape;
  int32_t n = zp_gpt_entries(shape);
  for (int32_t i = 0; i < ZP_GPT_BLOCK_ENTRIES; i++) {
    int64_t most = zp_gpt_block_numel(shape->d_model, i);
    if (i < 2 && zp_gpt_numel(shape, i) > most) most = zp_gpt_numel(shape, i);
    if (i < 3 && zp_gpt_numel(shape, n - 3 + i) > most) most = zp_gpt_numel(shape, n - 3 + i);
    me->value[i] = zp_gpt_take_f32(&me->pool, most);
    me->dvalue[i] = zp_gpt_take_f32(&me->pool, most);
  }
}

static void make_slot(instance *me, kept *slot)
{
  const zp_gpt_shape *shape = &me->gpt->options.shape;
  int64_t N = (int64_t)shape->batch * shape->context;
  slot->token = zp_gpt_take(&me->pool, N, sizeof *slot->token);
  slot->target = zp_gpt_take(&me->pool, N, sizeof *slot->target);
  slot->block = zp_gpt_take(&me->pool, me->n_blocks, sizeof *slot->block);
  for (int32_t l = 0; slot->block && l < me->n_blocks; l++)
    zp_gpt_make_block(&me->pool, &slot->block[l], shape);
  if (me->is_last) zp_gpt_make_head(&me->pool, &slot->head, shape);
}

static void make_entries(instance *me, const zp_param *list, const void *const *params)
{
  int32_t n = me->cfg.n_params;
  me->params = zp_gpt_take(&me->pool, n, sizeof *me->params);
  me->frozen = zp_gpt_take(&me->pool, n, sizeof *me->frozen);
  me->dtype = zp_gpt_take(&me->pool, n, sizeof *me->dtype);
  me->grad = zp_gpt_take(&me->pool, n, sizeof *me->grad);
  if (me->pool.failed) return;
  for (int32_t j = 0; j < n; j++) {
    me->params[j] = params[j];
    me->frozen[j] = (uint8_t)list[j].frozen;
    me->dtype[j] = zp_dtype_of(list[j].fp32, me->cfg.precision);
    if (list[j].stage < me->first_stage || list[j].stage > me->last_stage) continue;
    me->grad[j] = zp_gpt_take(&me->pool, list[j].numel, (size_t)zp_dtype_bytes(me->dtype[j]));
  }
}

static void make_all(instance *me, const zp_param *list, const void *const *params)
{
  const zp_gpt_shape *shape = &me->gpt->options.shape;
  int64_t rows = (int64_t)shape->batch * shape->context;
  make_entries(me, list, params);
  make_values(me);
  zp_gpt_make_scratch(&me->pool, &me->scratch, shape);
  me->x = zp_gpt_take_f32(&me->pool, rows * shape->d_model);
  me->dx = zp_gpt_take_f32(&me->pool, rows * shape->d_model);
  me->dy = zp_gpt_take_f32(&me->pool, rows * shape->d_model);
  me->slot = zp_gpt_take(&me->pool, me->slots, sizeof *me->slot);
  for (int32_t i = 0; me->slot && i < me->slots; i++) make_slot(me, &me->slot[i]);
}

static void gpt_close(void *inst)
{
  instance *me = inst;
  if (!me) return;
  zp_gpt_pool_free(&me->pool);
  free(me);
}

/* The list must be the model's: an instance trusts numel and stage of every entry. */
static int is_model(const zp_gpt_shape *shape, const zp_config *cfg)
{
  if (cfg->n_params != zp_gpt_entries(shape)) return 0;
  if (cfg->pp < 1 || cfg->pp > zp_gpt_max_pp(shape)) return 0;
  if (cfg->precision != ZP_F32 && cfg->precision != ZP_BF16 && cfg->precision != ZP_F16) return 0;
  for (int32_t j = 0; j < cfg->n_params; j++)
    if (cfg->params[j].numel != zp_gpt_numel(shape, j)) return 0;
  return 1;
}

static int gpt_open(void *ctx, const zp_config *cfg, zp_place_of where, const void *const *params,
                    void **inst)
{
  const zp_gpt *gpt = ctx;
  const zp_gpt_shape *shape = &gpt->options.shape;
  if (!is_model(shape, cfg)) return -1;
  if (where.first_stage < 0 || where.last_stage < where.first_stage || where.last_stage >= cfg->pp)
    return -1;
  instance *me = calloc(1, sizeof *me);
  if (!me) return -1;
  me->gpt = gpt;
  me->cfg = *cfg;
  me->cfg.params = NULL;
  me->first_stage = where.first_stage;
  me->last_stage = where.last_stage;
  me->dp_index = where.dp_index;
  me->first_block = zp_gpt_first_block(shape, cfg->pp, where.first_stage);
  me->n_blocks = zp_gpt_first_block(shape, cfg->pp, where.last_stage + 1) - me->first_block;
  me->is_first = where.first_stage == 0;
  me->is_last = where.last_stage == cfg->pp - 1;
  me->slots = cfg->pp - where.first_stage;
  if (cfg->micro_batches < me->slots) me->slots = (int32_t)cfg->micro_batches;
  make_all(me, cfg->params, params);
  if (me->pool.failed) {
    gpt_close(me);
    return -1;
  }
  *inst = me;
  return 0;
}

static void gpt_init(void *ctx, const zp_config *cfg, int32_t param, int32_t tp, int32_t ep,
                     float *value)
{
  (void)cfg, (void)tp, (void)ep; /* replicas: one value everywhere */
  zp_gpt_initial(&((const zp_gpt *)ctx)->options, param, value);
}

static int gpt_used(void *ctx, const zp_config *cfg, int32_t param, int32_t dp, int32_t tp,
                    zp_mb at)
{
  (void)ctx, (void)dp, (void)tp, (void)at;
  return !cfg->params[param].frozen;
}

/* value[i] = entry first + i in fp32, i < n. */
static const float *const *decode_entries(instance *me, int32_t first, int32_t n)
{
  for (int32_t i = 0; i < n; i++)
    zp_gpt_decode(me->value[i], me->params[first + i],
                  zp_gpt_numel(&me->gpt->options.shape, first + i), me->dtype[first + i]);
  return (const float *const *)me->value;
}

/* Rounds dvalue[i], the gradient of entry first + i, once, and hands it over; last entry first. */
static void deliver(instance *me, int32_t first, int32_t n, zp_sink sink)
{
  for (int32_t j = first + n - 1; j >= first; j--) {
    if (me->frozen[j]) continue;
    zp_gpt_encode(me->grad[j], me->dvalue[j - first], zp_gpt_numel(&me->gpt->options.shape, j),
                  me->dtype[j]);
    sink.arrive(sink.ctx, j, me->grad[j]);
  }
}

static int32_t entry_of_block(const instance *me, int32_t l)
{
  return 2 + ZP_GPT_BLOCK_ENTRIES * (me->first_block + l);
}

static int32_t entry_of_head(const instance *me)
{
  return me->cfg.n_params - 3;
}

/* Where the input of our block l lies; for l = n_blocks that of the head or of the message. */
static float *input_of(const instance *me, const kept *slot, int32_t l)
{
  if (l < me->n_blocks) return slot->block[l].x;
  return me->is_last ? slot->head.x : me->x;
}

/* Tokens and targets: read from the text, or the targets from the message. -1 for a bad target. */
static int read_bytes(instance *me, zp_mb at, kept *slot, const zp_message *in, zp_gpt_dims d)
{
  const zp_gpt_options *o = &me->gpt->options;
  int64_t g = global_micro_batch(&me->cfg, me->dp_index, at);
  if (me->is_first || !o->tuple) {
    zp_gpt_read(o, at.step, g, slot->token, slot->target);
    return 0;
  }
  memcpy(slot->target, in->t[0].data, (size_t)(d.B * d.T) * sizeof *slot->target);
  for (int64_t n = 0; n < d.B * d.T; n++)
    if (slot->target[n] < 0 || slot->target[n] >= ZP_GPT_VOCAB) return -1;
  return 0;
}

static int gpt_forward(void *inst, zp_mb at, int32_t slot_index, const zp_message *in,
                       const zp_message *out, float *loss)
{
  instance *me = inst;
  if (slot_index < 0 || slot_index >= me->slots) return -1;
  if (!fits(me, me->first_stage - 1, at, in, 0) || !fits(me, me->last_stage, at, out, 0)) return -1;
  kept *slot = &me->slot[slot_index];
  zp_gpt_dims d = dims_of(me, at);
  int64_t n = d.B * d.T * d.C;
  if (read_bytes(me, at, slot, in, d)) return -1;

  float *x = input_of(me, slot, 0);
  if (me->is_first) {
    const float *const *w = decode_entries(me, 0, 2);
    zp_gpt_embed(x, slot->token, w[0], w[1], d);
    zp_gpt_round(x, n, me->cfg.precision);
  } else {
    zp_gpt_decode(x, in->t[in->n - 1].data, n, me->cfg.precision);
  }
  for (int32_t l = 0; l < me->n_blocks; l++) {
    const float *const *w = decode_entries(me, entry_of_block(me, l), ZP_GPT_BLOCK_ENTRIES);
    x = input_of(me, slot, l + 1);
    zp_gpt_block(x, &slot->block[l], w, &me->scratch, d);
    zp_gpt_round(x, n, me->cfg.precision);
  }
  if (me->is_last) {
    zp_gpt_head(&slot->head, decode_entries(me, entry_of_head(me), 3), &me->scratch, d);
    *loss = zp_gpt_cross_entropy(slot->head.p, slot->target, d);
    return 0;
  }
  zp_gpt_encode(out->t[out->n - 1].data, x, n, me->cfg.precision);
  if (out->n == 2) memcpy(out->t[0].data, slot->target, (size_t)(d.B * d.T) * sizeof(int32_t));
  return 0;
}

static void swap_gradients(instance *me)
{
  float *dx = me->dx;
  me->dx = me->dy;
  me->dy = dx;
}

static int gpt_backward(void *inst, zp_mb at, int32_t slot_index, const zp_message *dout,
                        const zp_message *din, zp_sink sink)
{
  instance *me = inst;
  if (slot_index < 0 || slot_index >= me->slots) return -1;
  if (!fits(me, me->last_stage, at, dout, 1) || !fits(me, me->first_stage - 1, at, din, 1))
    return -1;
  const kept *slot = &me->slot[slot_index];
  zp_gpt_dims d = dims_of(me, at);
  int64_t n = d.B * d.T * d.C;

  if (me->is_last) {
    const float *const *w = decode_entries(me, entry_of_head(me), 3);
    zp_gpt_head_backward(me->dy, me->dvalue, slot->target, zp_pow2f(at.log2_scale), &slot->head, w,
                         &me->scratch, d);
    zp_gpt_round(me->dy, n, me->cfg.precision);
    deliver(me, entry_of_head(me), 3, sink);
  } else {
    zp_gpt_decode(me->dy, dout->t[0].data, n, me->cfg.precision);
  }
  for (int32_t l = me->n_blocks - 1; l >= 0; l--) {
    const float *const *w = decode_entries(me, entry_of_block(me, l), ZP_GPT_BLOCK_ENTRIES);
    zp_gpt_block_backward(me->dx, me->dvalue, me->dy, &slot->block[l], w, &me->scratch, d);
    zp_gpt_round(me->dx, n, me->cfg.precision);
    deliver(me, entry_of_block(me, l), ZP_GPT_BLOCK_ENTRIES, sink);
    swap_gradients(me);
  }
  if (me->is_first) {
    zp_gpt_embed_backward(me->dvalue[0], me->dvalue[1], me->dy, slot->token,
                          me->gpt->options.shape.context, d);
    deliver(me, 0, 2, sink);
  } else {
    zp_gpt_encode(din->t[0].data, me->dy, n, me->cfg.precision);
  }
  return 0;
}

static void gpt_name(void *ctx, const zp_config *cfg, int32_t param, char *text, int64_t cap)
{
  char name[ZP_GPT_NAME];
  (void)cfg;
  zp_gpt_name(&((const zp_gpt *)ctx)->options.shape, param, name);
  snprintf(text, (size_t)cap, "%s", name);
}

zp_workload zp_gpt_workload(zp_gpt *gpt)
{
  return (zp_workload){.ctx = gpt,
                       .open = gpt_open,
                       .close = gpt_close,
                       .init = gpt_init,
                       .used = gpt_used,
                       .shape = gpt_shape,
                       .forward = gpt_forward,
                       .backward = gpt_backward,
                       .name = gpt_name};
}
