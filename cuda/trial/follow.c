/* Ref behind the twin: where a library multiplies, gradients are not ref's, and a whole run has no
 * bits to be compared with. So ref takes each step when the twin has, with the losses, gradients and
 * messages that the twin's model has made; what the engine makes of them must have the same bits.
 * Ref's own model computes beside, from the same parameters and messages, and tells how far it is.
 * spec: ERR-7, PIPE-6 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/cli/engine.h"
#include "../../ref/model/gpt_cast.h"
#include "trial_internal.h"

enum { ALIGN = 256, CHUNK = 256 };

/* ---- The twin -------------------------------------------------------------------------------- */

static int64_t room_of(const zp_tensor *t)
{
  return (zp_tensor_bytes(t) + ALIGN - 1) / ALIGN * ALIGN;
}

static char *kept_at(const zp_trial_worker *w, int32_t which, int64_t mb)
{
  return w->kept + ((int64_t)which * w->t->cfg->micro_batches + mb) * w->kept_bytes;
}

int zp_trial_open_follow(zp_trial_worker *w)
{
  const int64_t M = w->t->cfg->micro_batches;
  if (!w->t->watch.products) return 0;
  w->kept_bytes = zp_trial_message_bytes(w) + ZP_MSG_TENSORS * ALIGN;
  ZP_TRIAL_OK(cudaMalloc((void **)&w->kept, (size_t)(w->kept_bytes * M * ZP_TRIAL_KEPT)));
  ZP_TRIAL_OK(cudaMalloc((void **)&w->lost, (size_t)M * sizeof *w->lost));
  return 0;
}

void zp_trial_close_follow(zp_trial_worker *w)
{
  if (w->kept) cudaFree(w->kept);
  if (w->lost) cudaFree(w->lost);
}

void zp_trial_keep(zp_trial_worker *w, int32_t which, int64_t mb, const zp_message *m)
{
  char *to = w->kept ? kept_at(w, which, mb) : NULL;
  for (int32_t i = 0; to && i < m->n; i++) {
    memcpy(to, m->t[i].data, (size_t)zp_tensor_bytes(&m->t[i]));
    to += room_of(&m->t[i]);
  }
}

/* ---- The workload of ref's ranks ------------------------------------------------------------- */

typedef struct instance {
  zp_trial *t;
  int32_t rank;
  void *own;
} instance;

/* Of one backward: whose sink is told what. */
typedef struct delivery {
  const instance *in;
  zp_sink to;
  int64_t mb;
} delivery;

static const zp_workload *own(const zp_trial *t)
{
  return t->work;
}

static int open_tape(void *ctx, const zp_config *cfg, zp_place_of where, const void *const *params,
                     void **inst)
{
  zp_trial *t = ctx;
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

/* What ref's rank has received is what the twin's had. */
static int same_message(const instance *in, int32_t which, zp_mb at, const zp_message *m)
{
  const zp_trial_worker *w = in->t->hosts[in->rank].w;
  const char *kept = kept_at(w, which, at.mb);
  for (int32_t i = 0; i < m->n; i++) {
    if (memcmp(kept, m->t[i].data, (size_t)zp_tensor_bytes(&m->t[i])) != 0)
      return zp_trial_differs(
          in->t, "PIPE-6",
          "rank %d: in step %lld, micro-batch %lld, it received %s that stage %d "
          "has not sent",
          in->rank, (long long)at.step, (long long)at.mb,
          which == ZP_TRIAL_RECEIVED ? "an activation" : "a gradient",
          w->at.pp + (which == ZP_TRIAL_RECEIVED ? -1 : 1));
    kept += room_of(&m->t[i]);
  }
  return 0;
}

static void give_message(const instance *in, int32_t which, zp_mb at, const zp_message *m)
{
  const char *kept = kept_at(in->t->hosts[in->rank].w, which, at.mb);
  for (int32_t i = 0; i < m->n; i++) {
    memcpy(m->t[i].data, kept, (size_t)zp_tensor_bytes(&m->t[i]));
    kept += room_of(&m->t[i]);
  }
}

/* A step's gradients that are all zero are apart by no share of theirs. */
static void farther(double *most, double apart)
{
  if (isfinite(apart) && apart > *most) *most = apart;
}

/* 1: both are finite. Where one alone is, that is counted: it is apart by no number. */
static int are_finite(zp_engine_products *all, float a, float b)
{
  all->finite_in_one += !isfinite(a) != !isfinite(b);
  return isfinite(a) && isfinite(b);
}

static int forward_tape(void *inst, zp_mb at, int32_t slot, const zp_message *received,
                        const zp_message *sent, float *loss)
{
  const instance *in = inst;
  const zp_trial_worker *w = in->t->hosts[in->rank].w;
  if (same_message(in, ZP_TRIAL_RECEIVED, at, received)) return -1;
  if (own(in->t)->forward(in->own, at, slot, received, sent, loss)) return -1;
  give_message(in, ZP_TRIAL_SENT, at, sent);
  if (w->at.pp < in->t->cfg->pp - 1) return 0;
  if (are_finite(in->t->watch.products, *loss, w->lost[at.mb]))
    farther(&in->t->watch.products->loss, fabs((double)w->lost[at.mb] / (double)*loss - 1));
  *loss = w->lost[at.mb];
  return 0;
}

static void compare(zp_trial *t, const char *ours, const char *theirs, int64_t n)
{
  const int64_t size = zp_dtype_bytes(t->cfg->precision);
  float a[CHUNK], b[CHUNK];
  for (int64_t first = 0; first < n; first += CHUNK) {
    const int64_t count = n - first < CHUNK ? n - first : CHUNK;
    zp_gpt_decode(a, ours + first * size, count, t->cfg->precision);
    zp_gpt_decode(b, theirs + first * size, count, t->cfg->precision);
    for (int64_t i = 0; i < count; i++) {
      const double apart = (double)b[i] - (double)a[i];
      if (!are_finite(t->watch.products, a[i], b[i])) continue;
      t->apart += apart * apart;
      t->size += (double)a[i] * (double)a[i];
    }
  }
}

/* An entry's gradient becomes the one that the twin has. */
static void arrive_tape(void *ctx, int32_t param, const void *grad)
{
  const delivery *d = ctx;
  zp_trial *t = d->in->t;
  const zp_trial_worker *w = t->hosts[d->in->rank].w;
  if (w->raw[param]) {
    const void *theirs = zp_trial_raw(w, param, d->mb);
    compare(t, grad, theirs, t->cfg->params[param].numel);
    grad = theirs;
  }
  d->to.arrive(d->to.ctx, param, grad);
}

static int backward_tape(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                         const zp_message *din, zp_sink sink)
{
  const instance *in = inst;
  delivery d = {in, sink, at.mb};
  if (same_message(in, ZP_TRIAL_RETURNED, at, dout)) return -1;
  if (own(in->t)->backward(in->own, at, slot, dout, din, (zp_sink){&d, arrive_tape})) return -1;
  give_message(in, ZP_TRIAL_RETURNING, at, din);
  return 0;
}

static void name_tape(void *ctx, const zp_config *cfg, int32_t param, char *text, int64_t cap)
{
  own(ctx)->name(own(ctx)->ctx, cfg, param, text, cap);
}

zp_workload zp_trial_tape(zp_trial *t)
{
  return (zp_workload){t,          open_tape,    close_tape,    init_tape, used_tape,
                       shape_tape, forward_tape, backward_tape, name_tape};
}

/* ---- A step ---------------------------------------------------------------------------------- */

/* 0, or a product is not what any order of addition makes of its terms. */
static int judge(zp_trial_worker *w)
{
  char text[48];
  if (!w->gpt) return 0;
  ZP_TRIAL_OK(zp_product_judge_read(&w->judge, &w->judged));
  const int32_t name = zp_judged_outside(&w->judged);
  const int64_t judged = zp_judged_elements(&w->judged);
  if (judged != w->judge.elements)
    return zp_trial_differs(
        w->t, "ERR-7", "rank %d: until step %lld %lld elements of products were judged, of %lld",
        w->rank, (long long)(w->t->base + w->steps_done - 1), (long long)judged,
        (long long)w->judge.elements);
  if (name < 0) return 0;
  zp_product_called(name, text);
  const long long n = w->judged.outside[name];
  return zp_trial_differs(
      w->t, "ERR-7",
      "rank %d: in step %lld the product %s has %lld element%s farther from the "
      "sum of its terms than any order of addition brings it, up to 2^%d times as far",
      w->rank, (long long)(w->t->base + w->steps_done - 1), text, n, n == 1 ? "" : "s",
      (int)zp_judged_times(&w->judged));
}

/* The last rank to come has ref take the step; nobody's model touches what ref reads until then. */
int zp_trial_follow(zp_trial_worker *w)
{
  zp_trial *t = w->t;
  const int32_t step = w->steps_done - 1;
  zp_error err = {0};
  ZP_TRIAL_OK(cudaDeviceSynchronize());
  if (judge(w)) return __LINE__;
  if (__atomic_add_fetch(&t->arrived, 1, __ATOMIC_ACQ_REL) < (int64_t)t->world * w->steps_done)
    return simdev_await(&t->followed[step]);
  t->apart = t->size = 0;
  if (zp_trial_ref_step(t, step, &err)) return zp_trial_differs(t, "ref", "%s", err.text);
  farther(&t->watch.products->gradient, sqrt(t->apart / t->size));
  simdev_signal(&t->followed[step]);
  return 0;
}

/* A rank's products, behind its last step. */
int zp_trial_tell_products(zp_trial_worker *w)
{
  zp_engine_products *all = w->t->watch.products;
  if (!all) return 0;
  ZP_TRIAL_OK(simdev_lock(&w->t->arrived));
  all->elements += w->judge.elements;
  all->unsaid += w->judged.unsaid;
  farther(&all->farthest, zp_judged_farthest(&w->judged));
  simdev_unlock(&w->t->arrived);
  return 0;
}
