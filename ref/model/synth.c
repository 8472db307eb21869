/* The workload interface over synth's formulas, and its checked activations. spec: PIPE-6 */
#include "synth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../num/half.h"
#include "synth_internal.h"

typedef struct slot {
  int64_t mb;
  zp_message in; /* what forward received: must still be there at backward (PIPE-4) */
} slot;

typedef struct instance {
  const zp_synth *synth;
  const zp_config *cfg;
  zp_place_of where;
  int32_t slots;
  slot *slot;
  char **grad; /* [n_params] buffer of each entry of the stages, NULL elsewhere */
  const void *const *params;
  char refusal[160];
} instance;

const char *zp_synth_refusal(const void *inst)
{
  return ((const instance *)inst)->refusal;
}

static size_t grad_bytes(const zp_synth *s, const zp_config *cfg, zp_place_of where, int32_t j)
{
  const zp_param *p = &cfg->params[j];
  if (p->stage < where.first_stage || p->stage > where.last_stage || p->frozen) return 0;
  const int64_t size =
      zp_dtype_bytes(zp_dtype_of(s->opt.fp32_gradients || p->fp32, cfg->precision));
  /* 8: an address of its own even when it has no elements */
  return ((size_t)p->numel * (size_t)size + 8 + 7) / 8 * 8;
}

static int synth_open(void *ctx, const zp_config *cfg, zp_place_of where, const void *const *params,
                      void **inst)
{
  const int64_t left = cfg->pp - where.first_stage;
  const size_t slots = (size_t)(left < cfg->micro_batches ? left : cfg->micro_batches);
  size_t bytes = sizeof(instance) + slots * sizeof(slot) + (size_t)cfg->n_params * sizeof(char *);
  instance *in;
  char *at;
  for (int32_t j = 0; j < cfg->n_params; j++) bytes += grad_bytes(ctx, cfg, where, j);
  in = calloc(1, bytes);
  if (in == NULL) return -1;
  in->synth = ctx;
  in->cfg = cfg;
  in->where = where;
  in->params = params; /* for the loss: gradients are given, not computed */
  in->slots = (int32_t)slots;
  in->slot = (slot *)(void *)(in + 1);
  in->grad = (char **)(void *)(in->slot + slots);
  at = (char *)(in->grad + cfg->n_params);
  for (size_t i = 0; i < slots; i++) in->slot[i].mb = -1;
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const size_t n = grad_bytes(ctx, cfg, where, j);
    in->grad[j] = n > 0 ? at : NULL;
    at += n;
  }
  *inst = in;
  return 0;
}

static void synth_close(void *inst)
{
  free(inst);
}

/* Values in (-1, 1), 24 bits, the same for all uses of a key. STEP-1 */
static void synth_init(void *ctx, const zp_config *cfg, int32_t param, int32_t tp, int32_t ep,
                       float *value)
{
  const zp_synth *s = ctx;
  const int32_t home = zp_synth_use_of(cfg, param).home;
  uint64_t h =
      zp_synth_mix(zp_synth_mix(s->opt.seed + s->opt.first, ZP_SYNTH_FOR_VALUES), (uint64_t)home);
  h = zp_synth_mix(h, (uint64_t)tp << 32 | (uint32_t)ep);
  for (int64_t e = 0; e < cfg->params[param].numel; e++)
    value[e] =
        (float)((int64_t)(zp_synth_mix(h, (uint64_t)e) % 33554431u) - 16777215) / 16777216.0f;
}

static int synth_used(void *ctx, const zp_config *cfg, int32_t param, int32_t dp, int32_t tp,
                      zp_mb at)
{
  const zp_synth *s = ctx;
  const int64_t c = zp_synth_number(cfg, param, dp, tp, at.mb);
  const int32_t ep = cfg->params[param].expert ? dp % cfg->ep : 0;
  return zp_synth_used(&s->opt, cfg, at.step, param, ep, c);
}

/* ---- Activations ----------------------------------------------------------------------------- */

static zp_tensor tensor(int32_t dtype, int32_t ndim, int64_t a, int64_t b)
{
  zp_tensor t;
  memset(&t, 0, sizeof t);
  t.dtype = dtype;
  t.ndim = ndim;
  t.dim[0] = a;
  t.dim[1] = ndim > 1 ? b : 0;
  return t;
}

static void synth_shape(void *ctx, const zp_config *cfg, int32_t s, int32_t dp, zp_mb at,
                        zp_message *out)
{
  const zp_synth_options *opt = &((const zp_synth *)ctx)->opt;
  const int64_t g = at.mb * cfg->dp + dp;
  const int64_t rows = opt->vary ? 1 + g % 3 : 2;
  const int32_t swapped = opt->vary && (g + s) % 2 == 1;
  memset(out, 0, sizeof *out);
  out->n = opt->tuple ? 2 : 1;
  if (opt->tuple) out->t[swapped ? 1 : 0] = tensor(ZP_I32, 1, rows, 0);
  out->t[opt->tuple && !swapped ? 1 : 0] = tensor(cfg->precision, 2, rows, 3);
}

/* What element e of tensor i of a message must be: 0..255, exact in every precision. */
static int32_t content(const instance *in, int32_t purpose, zp_mb at, int32_t boundary, int32_t i,
                       int64_t e)
{
  const int64_t g = at.mb * in->cfg->dp + in->where.dp_index;
  uint64_t h = zp_synth_mix(in->synth->opt.seed, (uint64_t)purpose);
  h = zp_synth_mix(h, (uint64_t)at.step);
  h = zp_synth_mix(h, (uint64_t)g << 24 | (uint64_t)boundary << 4 | (uint64_t)i);
  h = zp_synth_mix(h, (uint64_t)e << 24 | (uint64_t)in->where.tp_index);
  return (int32_t)(h % 256);
}

static int32_t get(const zp_tensor *t, int64_t e)
{
  float f;
  uint32_t bits;
  if (t->dtype == ZP_I32) return ((const int32_t *)t->data)[e];
  if (t->dtype == ZP_F32) {
    f = ((const float *)t->data)[e];
  } else {
    const uint16_t h = ((const uint16_t *)t->data)[e];
    bits = t->dtype == ZP_BF16 ? zp_f32_from_bf16(h) : zp_f32_from_f16(h);
    memcpy(&f, &bits, sizeof f);
  }
  return f >= 0 && f <= 255 && f == floorf(f) ? (int32_t)f : -1;
}

static void put(const zp_tensor *t, int64_t e, int32_t value)
{
  const float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if (t->dtype == ZP_I32) ((int32_t *)t->data)[e] = value;
  else if (t->dtype == ZP_F32) ((float *)t->data)[e] = f;
  else if (t->dtype == ZP_BF16) ((uint16_t *)t->data)[e] = zp_bf16_from_f32(bits);
  else ((uint16_t *)t->data)[e] = zp_f16_from_f32(bits);
}

static int64_t numel(const zp_tensor *t)
{
  int64_t n = 1;
  for (int32_t d = 0; d < t->ndim; d++) n *= t->dim[d];
  return n;
}

/* The description of what crosses `boundary`, forward or backward (floats only). */
static void describe(const instance *in, int32_t purpose, zp_mb at, int32_t boundary,
                     zp_message *out)
{
  zp_message all;
  synth_shape((void *)(uintptr_t)in->synth, in->cfg, boundary, in->where.dp_index, at, &all);
  *out = all;
  if (purpose == ZP_SYNTH_FOR_ACTIVATION) return;
  out->n = 0;
  for (int32_t i = 0; i < all.n; i++)
    if (all.t[i].dtype != ZP_I32) out->t[out->n++] = all.t[i];
}

static const char *purpose_name(int32_t purpose)
{
  return purpose == ZP_SYNTH_FOR_ACTIVATION ? "activation" : "activation gradient";
}

static int same_shape(const zp_tensor *a, const zp_tensor *b)
{
  if (a->dtype != b->dtype || a->ndim != b->ndim) return 0;
  for (int32_t d = 0; d < a->ndim; d++)
    if (a->dim[d] != b->dim[d]) return 0;
  return 1;
}

/* Refuses anything but what the neighbour must have sent. 0 or -1. */
static int verify(instance *in, int32_t purpose, zp_mb at, int32_t boundary, const zp_message *msg)
{
  zp_message want;
  describe(in, purpose, at, boundary, &want);
  if (msg->n != want.n) {
    snprintf(in->refusal, sizeof in->refusal, "%s of micro-batch %lld: %d tensors instead of %d",
             purpose_name(purpose), (long long)at.mb, msg->n, want.n);
    return -1;
  }
  for (int32_t i = 0; i < want.n; i++) {
    if (!same_shape(&msg->t[i], &want.t[i])) {
      snprintf(in->refusal, sizeof in->refusal,
               "%s of micro-batch %lld: dtype or shape of tensor %d", purpose_name(purpose),
               (long long)at.mb, i);
      return -1;
    }
    if (msg->t[i].data == NULL) {
      snprintf(in->refusal, sizeof in->refusal, "%s of micro-batch %lld: announced, never received",
               purpose_name(purpose), (long long)at.mb);
      return -1;
    }
    for (int64_t e = 0; e < numel(&want.t[i]); e++) {
      const int32_t right = content(in, purpose, at, boundary, i, e), got = get(&msg->t[i], e);
      if (got == right) continue;
      snprintf(in->refusal, sizeof in->refusal,
               "%s of micro-batch %lld: tensor %d element %lld is %d, its sender made %d",
               purpose_name(purpose), (long long)at.mb, i, (long long)e, got, right);
      return -1;
    }
  }
  return 0;
}

static void make(const instance *in, int32_t purpose, zp_mb at, int32_t boundary,
                 const zp_message *out)
{
  for (int32_t i = 0; i < out->n; i++)
    for (int64_t e = 0; e < numel(&out->t[i]); e++)
      put(&out->t[i], e, content(in, purpose, at, boundary, i, e));
}

/* ---- Forward, backward ----------------------------------------------------------------------- */

/* Of an entry's elements, at most so many are read. */
enum { SAMPLES = 64 };

/* The bits of the last stage's parameters that all tensor-parallel ranks have. Machines differ in
 * the bits of a NaN (NUM-4), so all count as one. */
static uint64_t params_of_loss(const instance *in)
{
  uint64_t h = 0;
  for (int32_t j = 0; j < in->cfg->n_params; j++) {
    const zp_param *p = &in->cfg->params[j];
    const uint8_t *bytes = in->params[j];
    const int32_t type = zp_entry_dtype(in->cfg, j);
    const uint32_t infinity = type == ZP_F32 ? 0x7f800000u : type == ZP_BF16 ? 0x7f80u : 0x7c00u;
    const uint32_t sign = type == ZP_F32 ? 0x80000000u : 0x8000u;
    const int64_t size = zp_dtype_bytes(type);
    if (p->stage != in->cfg->pp - 1 || p->sharded) continue;
    for (int64_t e = 0; e < p->numel; e += p->numel / SAMPLES + 1) {
      uint32_t bits = 0;
      memcpy(&bits, bytes + e * size, (size_t)size);
      h = zp_synth_mix(h, (bits & ~sign) > infinity ? infinity + 1 : bits);
    }
  }
  return h;
}

static float loss_of(const instance *in, zp_mb at)
{
  const zp_synth_options *opt = &in->synth->opt;
  const int64_t all = in->cfg->dp * in->cfg->micro_batches;
  const int64_t g = at.mb * in->cfg->dp + in->where.dp_index;
  uint64_t h = zp_synth_mix(zp_synth_mix(opt->seed, ZP_SYNTH_FOR_LOSS), (uint64_t)at.step);
  if ((opt->bad_loss >> (at.step % 32) & 1u) != 0 && (int64_t)(h % (uint64_t)all) == g) return NAN;
  h = zp_synth_mix(h, (uint64_t)g);
  if (opt->reads) h = zp_synth_mix(h, params_of_loss(in));
  return (float)(h % 16777216u) / 2097152.0f; /* 0..8 in 24 bits: sums round */
}

static int synth_forward(void *inst, zp_mb at, int32_t s, const zp_message *in_msg,
                         const zp_message *out, float *loss)
{
  instance *in = inst;
  if (s < 0 || s >= in->slots) return -1;
  if (in->where.first_stage > 0 &&
      verify(in, ZP_SYNTH_FOR_ACTIVATION, at, in->where.first_stage - 1, in_msg))
    return -1;
  in->slot[s].mb = at.mb;
  in->slot[s].in = *in_msg;
  if (in->where.last_stage < in->cfg->pp - 1)
    make(in, ZP_SYNTH_FOR_ACTIVATION, at, in->where.last_stage, out);
  else *loss = loss_of(in, at);
  return 0;
}

static void send_gradients(const instance *in, zp_mb at, zp_sink sink)
{
  const zp_config *cfg = in->cfg;
  const int32_t dp = in->where.dp_index, tp = in->where.tp_index;
  for (int32_t j = cfg->n_params - 1; j >= 0; j--) {
    const zp_param *p = &cfg->params[j];
    const int32_t ep = p->expert ? dp % cfg->ep : 0;
    const int64_t c = zp_synth_number(cfg, j, dp, tp, at.mb);
    zp_synth_plan plan;
    if (in->grad[j] == NULL || !zp_synth_used(&in->synth->opt, cfg, at.step, j, ep, c)) continue;
    plan = zp_synth_plan_of(&in->synth->opt, cfg, at.step, j, p->sharded ? tp : 0, ep, c);
    zp_synth_fill(&plan, at.log2_scale, p->numel, in->grad[j]);
    sink.arrive(sink.ctx, j, in->grad[j]);
  }
}

static int synth_backward(void *inst, zp_mb at, int32_t s, const zp_message *dout,
                          const zp_message *din, zp_sink sink)
{
  instance *in = inst;
  if (s < 0 || s >= in->slots) return -1;
  if (in->slot[s].mb != at.mb) {
    snprintf(in->refusal, sizeof in->refusal, "backward of micro-batch %lld finds %lld in its slot",
             (long long)at.mb, (long long)in->slot[s].mb);
    return -1;
  }
  if (in->where.first_stage > 0) {
    const int32_t b = in->where.first_stage - 1;
    if (verify(in, ZP_SYNTH_FOR_ACTIVATION, at, b, &in->slot[s].in)) return -1;
    make(in, ZP_SYNTH_FOR_ACTIVATION_GRADIENT, at, b, din);
  }
  if (in->where.last_stage < in->cfg->pp - 1 &&
      verify(in, ZP_SYNTH_FOR_ACTIVATION_GRADIENT, at, in->where.last_stage, dout))
    return -1;
  send_gradients(in, at, sink);
  return 0;
}

zp_workload zp_synth_workload(zp_synth *synth)
{
  zp_workload w = {0};
  w.ctx = synth;
  w.open = synth_open;
  w.close = synth_close;
  w.init = synth_init;
  w.used = synth_used;
  w.shape = synth_shape;
  w.forward = synth_forward;
  w.backward = synth_backward;
  return w;
}
