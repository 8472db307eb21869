#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/model/gpt_cast.h"
#include "../../ref/verify/backend.h"
#include "state.h"

enum { ALIGN = 256, CHUNK = 256 };

/* ---- The engine ------------------------------------------------------------------------------ */

static int64_t room_of(const zp_tensor *t)
{
  return (zp_tensor_bytes(t) + ALIGN - 1) / ALIGN * ALIGN;
}

static char *kept_at(const zp_diff_rank *w, int32_t which, int64_t mb)
{
  return w->tape.messages + ((int64_t)which * w->t->cfg->micro_batches + mb) * w->tape.bytes;
}

int zp_tape_open(zp_diff_rank *w)
{
  const int64_t M = w->t->cfg->micro_batches;
  if (!w->t->watch.products) return 0;
  w->tape.bytes = zp_diff_message_bytes(w) + ZP_MSG_TENSORS * ALIGN;
  ZP_HOST_TRY(
      cudaMalloc((void **)&w->tape.messages, (size_t)(w->tape.bytes * M * ZP_TAPE_MESSAGES)));
  ZP_HOST_TRY(cudaMalloc((void **)&w->tape.losses, (size_t)M * sizeof *w->tape.losses));
  return 0;
}

void zp_tape_close(zp_diff_rank *w)
{
  if (w->tape.messages) cudaFree(w->tape.messages);
  if (w->tape.losses) cudaFree(w->tape.losses);
}

void zp_tape_record(zp_diff_rank *w, int32_t which, int64_t mb, const zp_message *m)
{
  char *to = w->tape.messages ? kept_at(w, which, mb) : NULL;
  for (int32_t i = 0; to && i < m->n; i++) {
    memcpy(to, m->t[i].data, (size_t)zp_tensor_bytes(&m->t[i]));
    to += room_of(&m->t[i]);
  }
}

/* ---- The workload of ref's ranks ------------------------------------------------------------- */

typedef struct instance {
  zp_diff *t;
  int32_t rank;
  void *own;
} instance;

/* One backward: the sink of its gradients. */
typedef struct delivery {
  const instance *in;
  zp_sink to;
  int64_t mb;
} delivery;

static const zp_workload *own(const zp_diff *t)
{
  return t->work;
}

static int open_tape(void *ctx, const zp_config *cfg, zp_place_of where, const void *const *params,
                     void **inst)
{
  zp_diff *t = ctx;
  instance *in = calloc(1, sizeof *in);
  if (!in) return -1;
  in->t = t;
  in->rank = zp_rank_of(cfg, (zp_coord){where.first_stage, where.dp_index, where.tp_index});
  if (own(t)->open(own(t)->ctx, cfg, where, params, &in->own)) {
    free(in);
    return -1;
  }
  *inst = in;
  return 0;
}

static void close_tape(void *inst)
{
  instance *in = inst;
  own(in->t)->close(in->own);
  free(in);
}

static void init_tape(void *ctx, const zp_config *cfg, int32_t param, int32_t tp, int32_t ep,
                      float *value)
{
  own(ctx)->init(own(ctx)->ctx, cfg, param, tp, ep, value);
}

static int used_tape(void *ctx, const zp_config *cfg, int32_t param, int32_t dp, int32_t tp,
                     zp_mb at)
{
  return own(ctx)->used(own(ctx)->ctx, cfg, param, dp, tp, at);
}

static void shape_tape(void *ctx, const zp_config *cfg, int32_t s, int32_t dp, zp_mb at,
                       zp_message *out)
{
  own(ctx)->shape(own(ctx)->ctx, cfg, s, dp, at, out);
}

/* 0: ref's rank has received the same message as the engine's. */
static int same_message(const instance *in, int32_t which, zp_mb at, const zp_message *m)
{
  const zp_diff_rank *w = in->t->simulation.hosts[in->rank].w;
  const char *kept = kept_at(w, which, at.mb);
  for (int32_t i = 0; i < m->n; i++) {
    if (memcmp(kept, m->t[i].data, (size_t)zp_tensor_bytes(&m->t[i])) != 0)
      return zp_diff_fail(in->t, "PIPE-6",
                          "rank %d: in step %lld, micro-batch %lld, it received %s that stage %d "
                          "has not sent",
                          in->rank, (long long)at.step, (long long)at.mb,
                          which == ZP_TAPE_RECEIVED ? "an activation" : "a gradient",
                          w->at.pp + (which == ZP_TAPE_RECEIVED ? -1 : 1));
    kept += room_of(&m->t[i]);
  }
  return 0;
}

static void replay_message(const instance *in, int32_t which, zp_mb at, const zp_message *m)
{
  const char *kept = kept_at(in->t->simulation.hosts[in->rank].w, which, at.mb);
  for (int32_t i = 0; i < m->n; i++) {
    memcpy(m->t[i].data, kept, (size_t)zp_tensor_bytes(&m->t[i]));
    kept += room_of(&m->t[i]);
  }
}

void zp_error_max(double *most, double error)
{
  if (isfinite(error) && error > *most) *most = error;
}

/* 1: both are finite. Numbers that are finite in one of both only are counted. */
static int are_finite(zp_gemm_report *all, float a, float b)
{
  all->finite_in_one += !isfinite(a) != !isfinite(b);
  return isfinite(a) && isfinite(b);
}

static int forward_tape(void *inst, zp_mb at, int32_t slot, const zp_message *received,
                        const zp_message *sent, float *loss)
{
  const instance *in = inst;
  const zp_diff_rank *w = in->t->simulation.hosts[in->rank].w;
  if (same_message(in, ZP_TAPE_RECEIVED, at, received)) return -1;
  if (own(in->t)->forward(in->own, at, slot, received, sent, loss)) return -1;
  replay_message(in, ZP_TAPE_SENT, at, sent);
  if (w->at.pp < in->t->cfg->pp - 1) return 0;
  if (are_finite(in->t->watch.products, *loss, w->tape.losses[at.mb]))
    zp_error_max(&in->t->watch.products->loss_error,
                 fabs((double)w->tape.losses[at.mb] / (double)*loss - 1));
  *loss = w->tape.losses[at.mb];
  return 0;
}

static void compare(zp_diff *t, int32_t param, const char *ours, const char *theirs)
{
  const int32_t dtype = zp_diff_grad_dtype(t, param);
  const int64_t n = t->cfg->params[param].numel;
  const int64_t size = zp_dtype_bytes(dtype);
  float a[CHUNK], b[CHUNK];
  for (int64_t first = 0; first < n; first += CHUNK) {
    const int64_t count = n - first < CHUNK ? n - first : CHUNK;
    zp_gpt_decode(a, ours + first * size, count, dtype);
    zp_gpt_decode(b, theirs + first * size, count, dtype);
    for (int64_t i = 0; i < count; i++) {
      const double apart = (double)b[i] - (double)a[i];
      if (!are_finite(t->watch.products, a[i], b[i])) continue;
      t->follow.difference += apart * apart;
      t->follow.size += (double)a[i] * (double)a[i];
    }
  }
}

/* Replaces the gradient by the engine's. */
static void arrive_tape(void *ctx, int32_t param, const void *grad)
{
  const delivery *d = ctx;
  zp_diff *t = d->in->t;
  const zp_diff_rank *w = t->simulation.hosts[d->in->rank].w;
  if (w->announce.raw[param]) {
    const void *theirs = zp_diff_grad(w, param, d->mb);
    compare(t, param, grad, theirs);
    grad = theirs;
  }
  d->to.arrive(d->to.ctx, param, grad);
}

static int backward_tape(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                         const zp_message *din, zp_sink sink)
{
  const instance *in = inst;
  delivery d = {in, sink, at.mb};
  if (same_message(in, ZP_TAPE_RETURNED, at, dout)) return -1;
  if (own(in->t)->backward(in->own, at, slot, dout, din, (zp_sink){&d, arrive_tape})) return -1;
  replay_message(in, ZP_TAPE_RETURNING, at, din);
  return 0;
}

static void name_tape(void *ctx, const zp_config *cfg, int32_t param, char *text, int64_t cap)
{
  own(ctx)->name(own(ctx)->ctx, cfg, param, text, cap);
}

zp_workload zp_tape_workload(zp_diff *t)
{
  return (zp_workload){t,          open_tape,    close_tape,    init_tape, used_tape,
                       shape_tape, forward_tape, backward_tape, name_tape};
}
