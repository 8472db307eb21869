/* Gradients from a table, and messages that say whose they are. spec: RED-1, PIPE-6 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "../engine/partial.h"
#include "../engine/store.h"

typedef struct instance {
  const zp_table *table;
  zp_place_of where;
  const void *const *params;
  zp_message *in; /* [slots] what forward received */
  char **grad;    /* [n_params] of the stages opened, NULL elsewhere */
} instance;

zp_table *zp_table_new(const zp_config *cfg, int32_t steps)
{
  zp_table *n = calloc(1, sizeof *n);
  const size_t entries = (size_t)cfg->n_params, global = (size_t)(cfg->dp * cfg->micro_batches);
  zp_param *params = calloc(entries + 1, sizeof *params);
  if (n == NULL || params == NULL) {
    free(n);
    free(params);
    return NULL;
  }
  memcpy(params, cfg->params, entries * sizeof *params);
  n->cfg = *cfg;
  n->cfg.params = params;
  n->steps = steps;
  n->value = calloc((size_t)steps * global * entries * (size_t)cfg->tp + 1, sizeof *n->value);
  n->first = calloc(entries * (size_t)(cfg->tp * cfg->ep) + 1, sizeof *n->first);
  n->shape = calloc((size_t)cfg->pp * global, sizeof *n->shape);
  n->loss = calloc((size_t)cfg->pp * global * (size_t)cfg->tp, sizeof *n->loss);
  if (n->value != NULL && n->first != NULL && n->shape != NULL && n->loss != NULL) return n;
  zp_table_free(n);
  return NULL;
}

void zp_table_free(zp_table *n)
{
  if (n == NULL) return;
  const int64_t rows = zp_table_row(n, n->steps, 0, 0, 0),
                first = zp_table_first(n, n->cfg.n_params, 0, 0);
  for (int64_t i = 0; n->value != NULL && i < rows; i++) free(n->value[i]);
  for (int64_t i = 0; n->first != NULL && i < first; i++) free(n->first[i]);
  free(n->value);
  free(n->first);
  free(n->shape);
  free(n->loss);
  free((void *)(uintptr_t)n->cfg.params);
  free(n);
}

int32_t zp_table_rows(const zp_config *cfg, int32_t j)
{
  return cfg->params[j].sharded || zp_is_partial(cfg, j) ? cfg->tp : 1;
}

int64_t zp_table_row(const zp_table *n, int64_t step, int64_t g, int32_t j, int32_t tp)
{
  const zp_config *c = &n->cfg;
  return ((step * c->dp * c->micro_batches + g) * c->n_params + j) * c->tp + tp;
}

int64_t zp_table_first(const zp_table *n, int32_t j, int32_t tp, int32_t ep)
{
  return ((int64_t)j * n->cfg.tp + tp) * n->cfg.ep + ep;
}

double zp_table_rate(int32_t rates, int64_t step)
{
  return rates && step % 2 == 0 ? 2 : 1;
}

int64_t zp_table_loss(const zp_table *n, int32_t stage, int64_t g, int32_t tp)
{
  return (stage * n->cfg.dp * n->cfg.micro_batches + g) * n->cfg.tp + tp;
}

int zp_table_add(float **table, int64_t i, int64_t numel)
{
  table[i] = calloc((size_t)numel + 1, sizeof **table);
  return table[i] == NULL ? -1 : 0;
}

/* ---- The interface --------------------------------------------------------------------------- */

static size_t gradient_size(const zp_table *n, int32_t j)
{
  return (size_t)zp_dtype_bytes(zp_gradient_dtype(&n->cfg, &n->hyper, j));
}

static void table_close(void *inst)
{
  instance *in = inst;
  for (int32_t j = 0; in->grad != NULL && j < in->table->cfg.n_params; j++) free(in->grad[j]);
  free(in->grad);
  free(in->in);
  free(in);
}

static int table_open(void *ctx, const zp_config *cfg, zp_place_of where, const void *const *params,
                      void **inst)
{
  const int64_t left = cfg->pp - where.first_stage;
  const int64_t slots = left < cfg->micro_batches ? left : cfg->micro_batches;
  instance *in = calloc(1, sizeof *in);
  if (in == NULL) return -1;
  in->params = params;
  in->table = ctx;
  in->where = where;
  in->in = calloc((size_t)slots, sizeof *in->in);
  in->grad = calloc((size_t)cfg->n_params + 1, sizeof *in->grad);
  int good = in->in != NULL && in->grad != NULL;
  for (int32_t j = 0; good && j < cfg->n_params; j++) {
    const zp_param *p = &cfg->params[j];
    if (p->stage < where.first_stage || p->stage > where.last_stage || p->frozen) continue;
    in->grad[j] = calloc((size_t)p->numel + 1, gradient_size(ctx, j));
    good = in->grad[j] != NULL;
  }
  if (!good) {
    table_close(in);
    return -1;
  }
  *inst = in;
  return 0;
}

static void table_init(void *ctx, const zp_config *cfg, int32_t j, int32_t tp, int32_t ep,
                       float *value)
{
  const zp_table *n = ctx;
  const float *from = n->first[zp_table_first(n, j, tp, ep)];
  memcpy(value, from, (size_t)cfg->params[j].numel * sizeof *value);
}

static const float *row(const zp_table *n, int32_t j, int32_t dp, int32_t tp, zp_mb at)
{
  const zp_param *p = &n->cfg.params[j];
  if (p->frozen || at.step >= n->steps) return NULL;
  return n
      ->value[zp_table_row(n, at.step, at.mb * n->cfg.dp + dp, j, tp % zp_table_rows(&n->cfg, j))];
}

static int table_used(void *ctx, const zp_config *cfg, int32_t j, int32_t dp, int32_t tp, zp_mb at)
{
  (void)cfg;
  return row(ctx, j, dp, tp, at) != NULL;
}

static void table_shape(void *ctx, const zp_config *cfg, int32_t s, int32_t dp, zp_mb at,
                        zp_message *out)
{
  const zp_table *n = ctx;
  const int64_t g = at.mb * cfg->dp + dp;
  *out = n->shape[s * cfg->dp * cfg->micro_batches + g];
}

/* ---- Messages -------------------------------------------------------------------------------- */

static float get(const zp_tensor *t, int64_t e)
{
  float x;
  if (t->data == NULL) return 0; /* an injected fault: nothing was ever received */
  if (t->dtype == ZP_I32) return (float)((const int32_t *)t->data)[e];
  zp_widen_from(t->dtype, t->data, e, 1, &x);
  return x;
}

static void put(const zp_tensor *t, int64_t e, float x)
{
  if (t->dtype == ZP_I32) ((int32_t *)t->data)[e] = (int32_t)x;
  else zp_round_to(t->dtype, &x, 1, t->data, e);
}

/* What a float tensor of micro-batch g is filled with. */
static float mark(int64_t g)
{
  return (float)(1 << g % 3);
}

/* 1 when what was received for g is g's; another number, often 0, when it is not. */
static float factor(const zp_message *in, int64_t g, int32_t j)
{
  float f = 1;
  for (int32_t i = 0; i < in->n; i++) {
    const zp_tensor *t = &in->t[i];
    const int64_t n = zp_tensor_numel(t);
    if (n == 0) continue;
    if (t->dtype != ZP_I32) f *= get(t, j % n) / mark(g);
    for (int64_t e = 0; e < n && t->dtype == ZP_I32; e++)
      if (get(t, e) != (float)g) f = 0;
  }
  return f;
}

/* The first float tensor, through which the loss's gradient travels. */
static const zp_tensor *carrier(const zp_message *m)
{
  for (int32_t i = 0; i < m->n; i++)
    if (m->t[i].dtype != ZP_I32) return &m->t[i];
  return NULL;
}

/* The terms of each stage's loss, from the parameters as they are now. */
static void note_loss(const instance *in, zp_mb at)
{
  const zp_table *n = in->table;
  const int64_t g = at.mb * n->cfg.dp + in->where.dp_index;
  for (int32_t s = in->where.first_stage; s <= in->where.last_stage; s++) {
    double sum = 0;
    for (int32_t j = 0; j < n->cfg.n_params; j++) {
      const float *x = n->cfg.params[j].stage == s
                           ? row(n, j, in->where.dp_index, in->where.tp_index, at)
                           : NULL;
      for (int64_t e = 0; x != NULL && e < n->cfg.params[j].numel; e++) {
        float w;
        zp_widen_from(zp_entry_dtype(&n->cfg, j), in->params[j], e, 1, &w);
        sum += (double)w * (double)x[e];
      }
    }
    n->loss[zp_table_loss(n, s, g, in->where.tp_index)] = sum;
  }
}

static int table_forward(void *inst, zp_mb at, int32_t slot, const zp_message *in_msg,
                         const zp_message *out, float *loss)
{
  instance *in = inst;
  const int64_t g = at.mb * in->table->cfg.dp + in->where.dp_index;
  note_loss(in, at);
  in->in[slot] = *in_msg; /* read again by backward: it must still be there (PIPE-4) */
  for (int32_t i = 0; i < out->n; i++)
    for (int64_t e = 0; e < zp_tensor_numel(&out->t[i]); e++)
      put(&out->t[i], e, out->t[i].dtype == ZP_I32 ? (float)g : mark(g));
  if (in->where.last_stage == in->table->cfg.pp - 1) *loss = (float)g;
  return 0;
}

/* What arrives from the next stage: 2^log2_scale, read from every element of the carrier. */
static float arriving(const instance *in, zp_mb at, const zp_message *dout)
{
  float one = 1, sum = 0;
  const zp_tensor *t = carrier(dout);
  for (int32_t i = 0; i < at.log2_scale; i++) one *= 2;
  for (int32_t i = 0; i > at.log2_scale; i--) one /= 2;
  if (in->where.last_stage == in->table->cfg.pp - 1) return one;
  if (t == NULL) return 0;
  const int64_t n = zp_tensor_numel(t);
  for (int64_t e = 0; e < n - (n % 2 == 0); e++) sum += e % 2 == 0 ? get(t, e) : -get(t, e);
  return sum;
}

/* The gradient of entry j: its row, times what came from both neighbours. */
static void send(instance *in, zp_mb at, const zp_message *msg, float back, int32_t j, zp_sink sink)
{
  const zp_table *n = in->table;
  const float *x = row(n, j, in->where.dp_index, in->where.tp_index, at);
  const float f = factor(msg, at.mb * n->cfg.dp + in->where.dp_index, j) * back;
  if (x == NULL || in->grad[j] == NULL) return;
  for (int64_t e = 0; e < n->cfg.params[j].numel; e++) {
    const float g = x[e] * f;
    zp_round_to(zp_gradient_dtype(&n->cfg, &n->hyper, j), &g, 1, in->grad[j], e);
  }
  sink.arrive(sink.ctx, j, in->grad[j]);
}

static int table_backward(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                          const zp_message *din, zp_sink sink)
{
  instance *in = inst;
  const float back = arriving(in, at, dout);
  for (int32_t i = 0; i < din->n; i++)
    for (int64_t e = 0; e < zp_tensor_numel(&din->t[i]); e++)
      put(&din->t[i], e, &din->t[i] == carrier(din) ? back : 0);
  for (int32_t j = in->table->cfg.n_params - 1; j >= 0; j--)
    send(in, at, &in->in[slot], back, j, sink);
  return 0;
}

zp_workload zp_table_workload(zp_table *table)
{
  zp_workload w = {0};
  w.ctx = table;
  w.open = table_open;
  w.close = table_close;
  w.init = table_init;
  w.used = table_used;
  w.shape = table_shape;
  w.forward = table_forward;
  w.backward = table_backward;
  return w;
}
