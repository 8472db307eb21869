/* A random training job on synth, run by ref (comm_sim) and by the CUDA engine on simdev, all ranks
 * in one simulation; afterwards everything must have the same bits.
 *
 * The model: forward and backward are one kernel of one thread each, on the compute stream.
 * Backward leaves the gradients in buffers of its own; they are copied, in random order, by two or
 * three producer streams, each into one buffer that its next copy overwrites, and announced from
 * there. Half of the jobs have a host for each producer stream, which announces from there, and the
 * engine's watchdog, a host too. */
#ifndef ZP_TESTS_ENGINE_CASE_H
#define ZP_TESTS_ENGINE_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cuda/engine/engine_internal.h"
#include "../../cuda/path/timeline.h"
#include "../../cuda/simdev/simdev.h"
#include "../../ref/engine/comm_sim.h"
#include "../../ref/model/synth.h"
#include "../unit/plan_random.h"
#include "engine_store.h"

enum { STEPS_MAX = 4, STREAMS_MAX = 3, RANKS_MAX = 12, TEXT_MAX = 512, TURNS_MAX = 256 };

typedef struct ledger {
  zp_op *op;
  int32_t *step; /* counted from 0; below 0: of INIT, SAVE or LOAD */
  int64_t n, cap;
} ledger;

typedef struct job job;

/* What a rank's further hosts are told by its first. Addresses of members are simdev's keys, which
 * are given once: a turn of the announcing hosts has keys of its own. */
typedef struct helpers {
  job *j;
  void (*watch)(void *);
  void *watch_arg;
  char watch_begins, watch_ended, lock;
  struct worker *w;
  int32_t turns, over;
  char begins[TURNS_MAX], ended[TURNS_MAX][STREAMS_MAX];
} helpers;

/* One rank of the engine's run. */
typedef struct worker {
  job *j;
  helpers *helpers;
  int32_t rank, streams, steps_done;
  zp_coord at;
  uint64_t random[STREAMS_MAX]; /* of each announcing host; [0]: also of the first host */
  const zp_cuda_call *call;     /* the backward whose gradients are announced … */
  zp_cuda_threads threads;
  int32_t order[RANDOM_ENTRIES], entries, failed[STREAMS_MAX]; /* … in this order */
  zp_cuda *e;
  void *inst;
  cudaStream_t producer[STREAMS_MAX];
  cudaEvent_t made, taken[STREAMS_MAX], all;
  void *grad[STREAMS_MAX];   /* device: what is announced */
  void *raw[RANDOM_ENTRIES]; /* device: what backward leaves, by entry */
  int32_t *refused;          /* device: kernels that did not get what was sent */
  zp_message in, out;        /* dtypes and shapes */
  int32_t param;             /* announced now */
  int64_t mb;
  ledger issued;
} worker;

struct job {
  random_config r;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  int32_t steps, steps_run, world, always_get, in_order, native;
  /* steps: ref's; steps_run: the engine's */
  int32_t forget, twice; /* -1, or a rank that announces one entry too few, or twice, in the last
                          * step */
  int32_t threads;       /* 1: with the hosts of `helpers` */
  int32_t no_lock;       /* 1: and a lock that locks nothing */
  int32_t no_alarm;      /* 1: ranks have no way beside NCCL */
  helpers helpers[RANKS_MAX];
  zp_cuda_alarm alarm; /* the first that was told */
  uint64_t alarm_ns;   /* when */
  /* after ref's INIT (step 0) and each step; before a rank's engine is closed, failed or not */
  void (*ref_done)(job *j, int32_t step);
  void (*engine_done)(worker *w);
  int32_t alarmed;
  uint32_t little_room; /* ranks (bits) that have room for one small tensor of a message only */
  int32_t wrong_rank;   /* changes what it says of its messages in step 1 */
  void (*describe_wrongly)(zp_cuda_message *m); /* NULL: nobody does */
  int64_t base;                                 /* the step that was loaded, or 0 */
  int32_t loads, saves;                         /* 1: before the first step, after the last */
  memory origin, saved[2];                      /* what is loaded; what ref and the engine save */
  memory_rank store[RANKS_MAX];
  zp_store *in, *out;            /* [world] instead of memory, for the engine or for ref; or NULL */
  int (*before_step)(worker *w); /* NULL, or what a rank does before each step */
  /* what the first producer stream is: 1: the legacy default one, NULL; 2: cudaStreamPerThread */
  int32_t on_default;
  int32_t whole_stream;          /* 1: each fill waits for the whole reduction stream (#8364) */
  uint64_t seed;
  ncclUniqueId id;
  zp_sim *ref;
  char *first[RANKS_MAX][RANDOM_ENTRIES]; /* first values, of the stage's entries */
  zp_step_result result[STEPS_MAX];
  zp_scaler scaler[STEPS_MAX];
  ledger ledger[RANKS_MAX];
  char text[TEXT_MAX];         /* the first difference or error */
  zp_path_log path[RANKS_MAX]; /* what the last run announced */
  int32_t chained;             /* 1: the engine kept the order of communications by events */
  zp_cuda_error error[RANKS_MAX];
  const zp_cuda_fault *fault; /* planted into the engine */
};

#define DEADLINE_NS ((uint64_t)30 * 1000000000u) /* the engine's */

enum { DIFFERS = 99 };
static inline int wrong(job *j, int32_t rank, const char *what, int64_t at)
{
  if (!j->text[0])
    snprintf(j->text, sizeof j->text, "rank %d: %s %lld differs from ref", rank, what,
             (long long)at);
  return DIFFERS;
}

static inline uint64_t next_random(uint64_t *s)
{
  uint64_t x = *s += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static inline int note(ledger *l, const zp_op *op, int32_t step)
{
  if (l->n == l->cap) {
    l->cap = 2 * l->cap + 256;
    l->op = realloc(l->op, (size_t)l->cap * sizeof *l->op);
    l->step = realloc(l->step, (size_t)l->cap * sizeof *l->step);
    if (!l->op || !l->step) abort();
  }
  l->op[l->n] = *op;
  l->step[l->n++] = step;
  return 0;
}

/* ---- The model on the device ----------------------------------------------------------------- */

typedef struct compute {
  worker *w;
  int64_t mb, slot;
  const zp_step_state *state;
  zp_message in, out;
  float *loss;
} compute;

static inline void keep_raw(void *ctx, int32_t param, const void *grad)
{
  worker *w = ctx;
  const zp_config *c = &w->j->r.c;
  memcpy(w->raw[param], grad, (size_t)(c->params[param].numel * zp_dtype_bytes(c->precision)));
}

static inline zp_mb at_mb(const compute *p)
{
  return (zp_mb){p->state->step, p->mb, p->state->scaler.log2_scale};
}

static inline void forward_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const compute *p = params;
  float loss = 0;
  (void)t, (void)shared, (void)phase;
  *p->w->refused +=
      p->w->j->work.forward(p->w->inst, at_mb(p), (int32_t)p->slot, &p->in, &p->out, &loss) != 0;
  *p->loss = loss;
}
static const simdev_kernel forward_kernel = {"forward", sizeof(compute), 1, forward_body};

static inline void backward_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const compute *p = params;
  const zp_sink sink = {p->w, keep_raw};
  (void)t, (void)shared, (void)phase;
  *p->w->refused +=
      p->w->j->work.backward(p->w->inst, at_mb(p), (int32_t)p->slot, &p->in, &p->out, sink) != 0;
}
static const simdev_kernel backward_kernel = {"backward", sizeof(compute), 1, backward_body};

typedef struct fill {
  char *to;
  const char *from; /* host memory that nobody writes */
  int64_t n;
} fill;

static inline void fill_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const fill *p = params;
  (void)t, (void)shared, (void)phase;
  memcpy(p->to, p->from, (size_t)p->n);
}
static const simdev_kernel fill_kernel = {"first values", sizeof(fill), 1, fill_body};

static inline int launch_one(const simdev_kernel *k, void *params, cudaStream_t stream)
{
  void *args[] = {params};
  return (int)cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream);
}

#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

static inline int first_values(void *ctx, int32_t param, void *data, cudaStream_t stream)
{
  worker *w = ctx;
  const zp_config *c = &w->j->r.c;
  fill p = {data, w->j->first[w->rank][param],
            c->params[param].numel * zp_dtype_bytes(c->precision)};
  return launch_one(&fill_kernel, &p, stream);
}

/* A description with the engine's buffers; a gradient has no integer tensors. With dynamic shapes
 * the engine has the description, too. */
static inline void with_data(const zp_message *shape, const zp_cuda_message *m, int gradient,
                             zp_message *out)
{
  for (int32_t i = 0; i < m->n && m->t[i].ndim > 0; i++, out->n++) {
    out->t[i].dtype = m->t[i].dtype;
    out->t[i].ndim = m->t[i].ndim;
    memcpy(out->t[i].dim, m->t[i].dim, sizeof out->t[i].dim);
    out->t[i].data = m->t[i].data;
  }
  if (out->n > 0) return;
  for (int32_t i = 0; i < shape->n; i++) {
    if (gradient && shape->t[i].dtype == ZP_I32) continue;
    out->t[out->n] = shape->t[i];
    out->t[out->n].data = m->t[out->n].data;
    out->n++;
  }
}

/* Padding is zero: simdev looks for pointers of other ranks everywhere. */
static inline void compute_of(worker *w, const zp_cuda_call *call, compute *p)
{
  memset(p, 0, sizeof *p);
  p->w = w;
  p->mb = call->mb;
  p->slot = call->slot;
  p->state = call->state;
  p->loss = call->loss;
}

/* Dynamic shapes: what forward sends in this micro-batch. */
static inline int run_shape(void *ctx, const zp_cuda_call *call, zp_cuda_message *out)
{
  worker *w = ctx;
  const job *j = w->j;
  zp_message m;
  j->work.shape(j->work.ctx, &j->r.c, w->at.pp, w->at.dp, (zp_mb){call->step, call->mb, 0}, &m);
  out->n = m.n;
  for (int32_t i = 0; i < m.n; i++) {
    out->t[i] = (zp_cuda_tensor){.dtype = m.t[i].dtype, .ndim = m.t[i].ndim};
    memcpy(out->t[i].dim, m.t[i].dim, sizeof out->t[i].dim);
  }
  if (j->describe_wrongly && w->rank == j->wrong_rank && call->step == j->base + 1)
    j->describe_wrongly(out);
  return 0;
}

static inline int run_forward(void *ctx, const zp_cuda_call *call)
{
  worker *w = ctx;
  compute p;
  compute_of(w, call, &p);
  with_data(&w->in, call->in, 0, &p.in);
  with_data(&w->out, call->out, 0, &p.out);
  return launch_one(&forward_kernel, &p, call->stream);
}

static inline int announce_unused(worker *w, int32_t param)
{
  const int64_t mb = w->call->mb;
  if (!w->j->threads) zp_path_announced(&w->j->path[w->rank], w->steps_done, mb, param, -1);
  return zp_cuda_grad_unused(w->e, param, mb);
}

/* For the path of a rank with one announcing host. */
static inline void trace_announcement(worker *w, int32_t param, int32_t stream)
{
  const int64_t mb = w->call->mb;
  if (w->j->threads) return;
  w->param = param;
  w->mb = mb;
  zp_path_announced(&w->j->path[w->rank], w->steps_done, mb, param, stream);
  simdev_tag(zp_path_tag(ZP_PATH_COPY, w->steps_done, mb, param));
}

/* By announcing host k, if there are several, and then from its own stream. */
static inline int announce_one(worker *w, int32_t k, int32_t param)
{
  const zp_cuda_call *call = w->call;
  const zp_config *c = &w->j->r.c;
  const size_t bytes = (size_t)(c->params[param].numel * zp_dtype_bytes(c->precision));
  const int32_t any = (int32_t)(next_random(&w->random[k]) % (uint64_t)w->streams);
  const int32_t s = w->j->threads ? k : any;
  if (!w->j->work.used(w->j->work.ctx, c, param, w->at.dp, w->at.tp,
                       (zp_mb){call->step, call->mb, 0}))
    return announce_unused(w, param);
  trace_announcement(w, param, s);
  OK(cudaMemcpyAsync(w->grad[s], w->raw[param], bytes, cudaMemcpyDeviceToDevice, w->producer[s]));
  if (bytes > 0) OK(cudaEventRecord(w->taken[s], w->producer[s])); /* backward may overwrite it */
  if (w->j->whole_stream) {
    OK(cudaEventRecord(w->all, w->e->reduce));
    OK(cudaStreamWaitEvent(w->producer[s], w->all, 0));
  }
  OK(zp_cuda_grad_ready(w->e, param, call->mb, w->grad[s], c->precision, w->producer[s]));
  if (!w->j->threads) simdev_tag(zp_path_tag(ZP_PATH_SET, w->steps_done, call->mb, param));
  /* nobody needs it any more: the next copy, or this, overwrites it */
  OK(cudaMemsetAsync(w->grad[s], 0xff, bytes, w->producer[s]));
  return 0;
}

/* The stage's trained entries: in backward order, or in any. */
static inline int32_t order_of(worker *w, int32_t *order)
{
  const zp_config *c = &w->j->r.c;
  int32_t n = 0;
  for (int32_t i = c->n_params - 1; i >= 0; i--)
    if (c->params[i].stage == w->at.pp && !c->params[i].frozen) order[n++] = i;
  for (int32_t i = n - 1; i > 0 && !w->j->in_order; i--) {
    const int32_t k = (int32_t)(next_random(&w->random[0]) % (uint64_t)(i + 1)), x = order[i];
    order[i] = order[k];
    order[k] = x;
  }
  return n;
}

/* Host k's share of the entries. */
static inline int announce_share(worker *w, int32_t k)
{
  const int32_t hosts = w->j->threads ? w->streams : 1;
  const int last_step = w->call->step == w->j->base + w->j->steps_run - 1;
  for (int32_t i = k; i < w->entries; i += hosts) {
    if (w->j->forget == w->rank && i == w->entries - 1 && last_step) continue;
    OK(announce_one(w, k, w->order[i]));
    if (w->j->twice == w->rank && i == 0 && last_step) OK(announce_one(w, k, w->order[i]));
  }
  return 0;
}

static inline int announce_all(worker *w)
{
  helpers *h = w->helpers;
  const int32_t turn = h->turns++;
  int failed;
  if (turn == TURNS_MAX) return __LINE__;
  if (w->j->threads) simdev_signal(&h->begins[turn]);
  failed = announce_share(w, 0);
  for (int32_t k = 1; w->j->threads && k < w->streams; k++)
    if (simdev_await(&h->ended[turn][k]) || w->failed[k]) failed = __LINE__;
  return failed;
}

static inline int run_backward(void *ctx, const zp_cuda_call *call)
{
  worker *w = ctx;
  compute p;
  w->call = call;
  w->entries = order_of(w, w->order);
  compute_of(w, call, &p);
  with_data(&w->out, call->in, 1, &p.in);
  with_data(&w->in, call->out, 1, &p.out);
  for (int32_t s = 0; s < w->streams; s++) OK(cudaStreamWaitEvent(call->stream, w->taken[s], 0));
  OK(launch_one(&backward_kernel, &p, call->stream));
  OK(cudaEventRecord(w->made, call->stream));
  for (int32_t s = 0; s < w->streams; s++) OK(cudaStreamWaitEvent(w->producer[s], w->made, 0));
  OK(announce_all(w));
  return 0;
}

#include "engine_hosts.h"

/* ---- One rank's process ---------------------------------------------------------------------- */

static inline int exchange_id(void *ctx, int32_t rank, void *bytes, size_t n)
{
  job *j = ctx;
  if (rank == 0) {
    memcpy(&j->id, bytes, n);
    simdev_signal(&j->id);
    return 0;
  }
  if (simdev_await(&j->id)) return -1;
  memcpy(bytes, &j->id, n);
  return 0;
}

static inline void note_issued(void *ctx, int32_t phase, const zp_op *op)
{
  worker *w = ctx;
  note(&w->issued, op, phase == ZP_PHASE_STEP ? w->steps_done : -1 - phase);
}

/* Whose work it is that the engine queues next. */
static inline void note_issuing(void *ctx, int32_t phase, int64_t position, const zp_op *op)
{
  worker *w = ctx;
  if (w->j->threads) return;
  if (phase != ZP_PHASE_STEP) simdev_tag(0);
  else if (op) simdev_tag(zp_path_tag(ZP_PATH_OP, w->steps_done, position, 0));
  else simdev_tag(zp_path_tag(ZP_PATH_KEEP, w->steps_done, w->mb, w->param));
}

static inline void describe(const job *j, int32_t boundary, int32_t dp, zp_message *m,
                            zp_cuda_message *to)
{
  memset(m, 0, sizeof *m);
  if (boundary < 0 || boundary >= j->r.c.pp - 1 || j->r.c.dynamic_shapes) return;
  j->work.shape(j->work.ctx, &j->r.c, boundary, dp, (zp_mb){0, 0, 0}, m);
  to->n = m->n;
  for (int32_t i = 0; i < m->n; i++) {
    to->t[i] = (zp_cuda_tensor){.dtype = m->t[i].dtype, .count = 1};
    for (int32_t d = 0; d < m->t[i].ndim; d++) to->t[i].count *= m->t[i].dim[d];
  }
}

static inline zp_cuda_options options_of(worker *w)
{
  job *j = w->j;
  w->helpers = &j->helpers[w->rank];
  w->threads = (zp_cuda_threads){w->helpers, start_watchdog, join_watchdog, lock_rank, unlock_rank,
                                 nap,        wake_watchdog};
  zp_cuda_options o = {.cfg = &j->r.c,
                       .optims = j->hyper.groups,
                       .clip = j->hyper.clip,
                       .clip_eps = j->hyper.clip_eps,
                       .scaler = j->hyper.scaler,
                       .rank = w->rank,
                       .device = w->rank,
                       .native = j->native,
                       .message_bytes =
                           j->little_room >> w->rank & 1u ? 256 : 512, /* small tensors */
                       .model = {w, first_values, run_forward, run_backward, run_shape},
                       .exchange = exchange_id,
                       .exchange_ctx = w->j,
                       .issued = note_issued,
                       .issuing = note_issuing,
                       .issued_ctx = w,
                       .deadline_ns = DEADLINE_NS,
                       .now_ns = simdev_clock_ns,
                       .pause = simdev_pause,
                       .fault = j->fault};
  if (j->threads) o.threads = &w->threads;
  if (!j->no_alarm) o.outside = (zp_cuda_outside){w, tell_all, hear_any};
  memcpy(o.optim, j->hyper.optim, sizeof o.optim);
  describe(j, w->at.pp - 1, w->at.dp, &w->in, &o.act_in);
  describe(j, w->at.pp, w->at.dp, &w->out, &o.act_out);
  return o;
}

static inline int open_worker(worker *w)
{
  const zp_config *c = &w->j->r.c;
  const size_t bytes = (size_t)(zp_most_numel(c, &zp_sim_rank(w->j->ref, w->rank)->lay) * 4);
  const zp_place_of where = {w->at.pp, w->at.pp, w->at.dp, w->at.tp};
  const void *params[RANDOM_ENTRIES] = {0};
  OK(w->j->work.open(w->j->work.ctx, c, where, params, &w->inst));
  OK(cudaMalloc((void **)&w->refused, sizeof *w->refused));
  OK(cudaEventCreateWithFlags(&w->made, cudaEventDisableTiming));
  OK(cudaEventCreateWithFlags(&w->all, cudaEventDisableTiming));
  for (int32_t s = 0; s < w->streams; s++) {
    if (s == 0 && w->j->on_default) {
      w->producer[s] = w->j->on_default == 1 ? NULL : cudaStreamPerThread;
    } else {
      OK(cudaStreamCreateWithFlags(&w->producer[s], cudaStreamNonBlocking));
      simdev_name_stream(w->producer[s], "producer");
    }
    OK(cudaEventCreateWithFlags(&w->taken[s], cudaEventDisableTiming));
    OK(cudaMalloc(&w->grad[s], bytes));
  }
  for (int32_t i = 0; i < c->n_params; i++)
    if (c->params[i].stage == w->at.pp && !c->params[i].frozen) OK(cudaMalloc(&w->raw[i], bytes));
  OK(cudaMemsetAsync(w->refused, 0, sizeof *w->refused, w->producer[0]));
  return (int)cudaStreamSynchronize(w->producer[0]);
}

static inline void close_worker(worker *w)
{
  for (int32_t s = 0; s < w->streams; s++)
    if (w->producer[s] || w->j->on_default) cudaStreamSynchronize(w->producer[s]);
  zp_cuda_close(w->e);
  for (int32_t s = 0; s < w->streams; s++) {
    if (s > 0 || !w->j->on_default) cudaStreamDestroy(w->producer[s]);
    cudaEventDestroy(w->taken[s]);
    cudaFree(w->grad[s]);
  }
  for (int32_t i = 0; i < w->j->r.c.n_params; i++)
    if (w->raw[i]) cudaFree(w->raw[i]);
  cudaEventDestroy(w->made);
  cudaEventDestroy(w->all);
  cudaFree(w->refused);
  if (w->inst) w->j->work.close(w->inst);
  free(w->issued.op);
  free(w->issued.step);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static inline int same_state(worker *w, const zp_step_state *s)
{
  job *j = w->j;
  const int32_t step = w->steps_done - 1;
  const zp_step_result *r = &j->result[step];
  const zp_scaler *a = &s->scaler, *b = &j->scaler[step];
  if (s->step != j->base + w->steps_done)
    return wrong(j, w->rank, "the number of steps after step", step);
  if (s->decision.skipped != r->skipped) return wrong(j, w->rank, "skipped in step", step);
  if (s->decision.norm_f64 != r->norm_f64 || s->decision.norm_f32 != r->norm_f32)
    return wrong(j, w->rank, "the norm of step", step);
  if (s->decision.loss != r->loss) return wrong(j, w->rank, "the loss of step", step);
  if (s->decision.log2_scale != r->log2_scale ||
      memcmp(&s->decision.clip_factor, &r->clip_factor, 8) != 0)
    return wrong(j, w->rank, "scale or clip factor of step", step);
  if (a->log2_scale != b->log2_scale || a->iter != b->iter ||
      a->last_overflow != b->last_overflow || a->hysteresis_left != b->hysteresis_left)
    return wrong(j, w->rank, "the scaler after step", step);
  return 0;
}

static inline int same_memory(worker *w)
{
  const zp_rank *r = zp_sim_rank(w->j->ref, w->rank);
  const int64_t size = zp_dtype_bytes(r->cfg->precision);
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    const zp_flat_state *a = &r->flat[k];
    const zp_cuda_flat *b = &w->e->flat[k];
    const size_t bytes = (size_t)a->extent * 4;
    if (r->lay.flat[k].use != 0) continue;
    if (memcmp(a->master, b->master, bytes)) return wrong(w->j, w->rank, "masters of flat", k);
    if (memcmp(a->moment1, b->moment1, bytes) || memcmp(a->moment2, b->moment2, bytes))
      return wrong(w->j, w->rank, "moments of flat", k);
  }
  for (int32_t i = 0; i < r->lay.n_params; i++)
    if (memcmp(r->param[i], w->e->entry[i].param,
               (size_t)(r->cfg->params[r->lay.first_param + i].numel * size)))
      return wrong(w->j, w->rank, "parameter", r->lay.first_param + i);
  return 0;
}

static inline int same_op(const zp_op *a, const zp_op *b)
{
  return a->kind == b->kind && a->what == b->what && a->group == b->group && a->key == b->key &&
         a->dtype == b->dtype && a->redop == b->redop && a->root == b->root && a->mb == b->mb &&
         a->recv_mb == b->recv_mb && a->bucket == b->bucket && a->count == b->count &&
         a->flat == b->flat && a->param == b->param;
}

/* What the engine issues for an op of ref's. RED-7 */
static inline zp_op as_issued(const job *j, const zp_op *op)
{
  zp_op a = *op;
  if (j->native && (op->what == ZP_WHAT_GRADIENT || op->what == ZP_WHAT_TIED)) {
    a.redop = ZP_RED_SUM;
    a.dtype = ZP_F32;
  }
  return a;
}

/* Op by op; a skipped step's gathers are issued by the engine, and left out by ref. */
static inline int same_ledger(worker *w)
{
  const ledger *a = &w->j->ledger[w->rank], *b = &w->issued;
  int64_t n = 0;
  for (int64_t i = 0; i < b->n; i++) {
    if (b->step[i] >= 0 && b->op[i].if_stepped && w->j->result[b->step[i]].skipped) continue;
    if (n == a->n || a->step[n] != b->step[i])
      return wrong(w->j, w->rank, "the ledger at communication", n);
    const zp_op want = as_issued(w->j, &a->op[n]);
    if (!same_op(&want, &b->op[i])) return wrong(w->j, w->rank, "the ledger at communication", n);
    n++;
  }
  return n == a->n ? 0 : wrong(w->j, w->rank, "the ledger's end at", n);
}

/* SAVE or LOAD with this rank's way to a checkpoint in memory. */
static inline int store_call(worker *w, memory *m, int (*call)(zp_cuda *, zp_store *))
{
  memory_rank *r = &w->j->store[w->rank];
  zp_store *files = call == zp_cuda_load ? w->j->in : w->j->out;
  if (files) return call(w->e, &files[w->rank]);
  r->m = m;
  r->rank = w->rank;
  r->calls = 0;
  zp_store s = memory_store(r);
  return call(w->e, &s);
}

/* One for each meta message, and there is one for each micro-batch. PIPE-6 */
static inline int same_waits(worker *w)
{
  const zp_config *c = &w->j->r.c;
  const int64_t want = c->dynamic_shapes && w->at.pp > 0 ? w->steps_done * c->micro_batches : 0;
  return zp_cuda_meta_waits(w->e) == want ? 0 : wrong(w->j, w->rank, "meta waits, of", want);
}

/* What was allocated is what the plan says, and what the engine has for streams. STEP-1 */
static inline int same_allocation(worker *w)
{
  const zp_config *c = &w->j->r.c;
  const zp_memory want = zp_memory_of(c, &w->e->lay);
  const zp_cuda_memory m = zp_cuda_memory_of(w->e);
  int64_t staging = 0;
  for (int32_t i = 0; i < w->e->lay.n_params; i++)
    if (!c->params[w->e->lay.first_param + i].frozen)
      staging += c->params[w->e->lay.first_param + i].numel * zp_dtype_bytes(c->precision);
  if (memcmp(&m.planned, &want, sizeof want)) return wrong(w->j, w->rank, "planned memory", 0);
  if (m.staging != staging) return wrong(w->j, w->rank, "memory for staging", m.staging);
  if (m.sums > 0 && c->tied_keys == 0 && !w->j->native)
    return wrong(w->j, w->rank, "memory for sums", m.sums);
  return 0;
}

static inline int train(worker *w)
{
  zp_cuda_options o = options_of(w);
  zp_step_state s;
  w->e = zp_cuda_open(&o, &w->j->error[w->rank]);
  if (!w->e) return __LINE__;
  OK(same_allocation(w));
  if (w->rank == 0) w->j->chained = w->e->chained;
  simdev_name_stream(w->e->compute, "compute");
  simdev_name_stream(w->e->reduce, "reduce");
  simdev_name_stream(w->e->p2p, "p2p");
  OK(zp_cuda_init(w->e));
  if (w->j->loads) OK(store_call(w, &w->j->origin, zp_cuda_load));
  for (int32_t step = 0; step < w->j->steps_run; step++) {
    if (w->j->before_step) OK(w->j->before_step(w));
    OK(zp_cuda_step(w->e));
    w->steps_done++;
    if (!w->j->always_get && step < w->j->steps_run - 1) continue;
    simdev_tag(zp_path_tag(ZP_PATH_GET, step, 0, 0));
    OK(zp_cuda_get(w->e, &s));
    OK(same_state(w, &s));
  }
  if (*w->refused) return wrong(w->j, w->rank, "what was received, times", *w->refused);
  if (w->j->steps_run < w->j->steps) return 0; /* there is nothing to compare with */
  OK(same_memory(w));
  OK(same_waits(w));
  if (w->j->saves) OK(store_call(w, &w->j->saved[1], zp_cuda_save));
  return same_ledger(w);
}

/* What would be main() of each process. */
static inline int process(void *arg, int rank)
{
  job *j = arg;
  worker w = {.j = j, .rank = rank, .at = zp_coord_of(&j->r.c, rank)};
  int failed;
  j->helpers[rank].w = &w;
  for (uint32_t k = 0; k < STREAMS_MAX; k++)
    w.random[k] = j->seed * 1000003u + (uint64_t)rank + k * 0x100000000u;
  w.streams = 2 + (int32_t)(next_random(&w.random[0]) % 2);
  j->path[rank].n = 0;
  if (cudaSetDevice(rank)) return __LINE__;
  failed = open_worker(&w);
  if (!failed) failed = train(&w);
  if (w.e && zp_cuda_why(w.e)->status) j->error[rank] = *zp_cuda_why(w.e);
  if (w.e && j->engine_done) j->engine_done(&w);
  close_worker(&w);
  end_helpers(&j->helpers[rank]);
  return failed;
}

/* ---- The reference --------------------------------------------------------------------------- */

static inline void after_op(void *ctx, zp_rank *r, const zp_op *op)
{
  job *j = ctx;
  if (zp_op_communicates(op))
    note(&j->ledger[r->rank], op,
         r->phase != ZP_PHASE_STEP
             ? -1 - r->phase
             : (int32_t)(r->step - j->base) - op->if_stepped); /* DECIDE has moved the step on */
}

/* SAVE or LOAD of all of ref's ranks. */
static inline int ref_storage(job *j, int32_t phase, memory *m, zp_error *err)
{
  zp_store store[RANKS_MAX];
  for (int32_t r = 0; r < j->world; r++) {
    j->store[r] = (memory_rank){m, r, 0, 0};
    store[r] = memory_store(&j->store[r]);
    zp_sim_rank(j->ref, r)->store = &store[r];
  }
  return zp_sim_run(j->ref, phase, err);
}

static inline int run_ref(job *j)
{
  const zp_hook hook = {j, NULL, after_op};
  const int64_t size = zp_dtype_bytes(j->r.c.precision);
  zp_error err = {0};
  j->ref = zp_sim_open(&j->r.c, &j->hyper, &j->work, &err);
  if (!j->ref) return __LINE__;
  for (int32_t r = 0; r < j->world; r++) {
    const zp_rank *rank = zp_sim_rank(j->ref, r);
    for (int32_t i = 0; i < rank->lay.n_params; i++) {
      const int32_t p = rank->lay.first_param + i;
      const size_t n = (size_t)(j->r.c.params[p].numel * size);
      j->first[r][p] = malloc(n + 1);
      if (!j->first[r][p]) return __LINE__;
      memcpy(j->first[r][p], rank->param[i], n);
    }
  }
  zp_sim_hook(j->ref, &hook);
  if (zp_sim_run(j->ref, ZP_PHASE_INIT, &err)) return __LINE__;
  if (j->loads && ref_storage(j, ZP_PHASE_LOAD, &j->origin, &err)) return __LINE__;
  if (j->ref_done) j->ref_done(j, 0);
  for (int32_t s = 0; s < j->steps; s++) {
    if (zp_sim_run(j->ref, ZP_PHASE_STEP, &err)) {
      snprintf(j->text, sizeof j->text, "ref: %.400s", err.text);
      return __LINE__;
    }
    j->result[s] = zp_sim_rank(j->ref, 0)->result;
    j->scaler[s] = zp_sim_rank(j->ref, 0)->scaler;
    if (j->ref_done) j->ref_done(j, s + 1);
  }
  if (j->saves && ref_storage(j, ZP_PHASE_SAVE, &j->saved[0], &err)) return __LINE__;
  zp_sim_hook(j->ref, NULL);
  return 0;
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static inline void random_hyper(job *j)
{
  zp_hyper *h = &j->hyper;
  h->groups = 1 + rand() % 2;
  for (int32_t g = 0; g < h->groups; g++)
    h->optim[g] = (zp_optim){.kind = rand() % 3 ? ZP_OPTIM_ADAMW : ZP_OPTIM_SGD,
                             .lr = 1e-2,
                             .beta1 = 0.9,
                             .beta2 = 0.95,
                             .eps = 1e-8,
                             .weight_decay = 0.1,
                             .momentum = rand() % 2 ? 0.9 : 0};
  h->clip = rand() % 3 ? 1 : 0;
  h->clip_eps = 1e-6;
  zp_scaler_init(&h->scaler, rand() % 2, 3, 0, 20, 2, 1, 0);
}

/* Has every sum the same bits in any order? CODED and DYADIC sums are exact; of two numbers in fp32
 * there is but one sum. */
static inline int orders_agree(const job *j)
{
  const zp_config *c = &j->r.c;
  int32_t tied = 0;
  for (int32_t i = 0; i < c->n_params; i++) tied += c->params[i].tied >= 0;
  return j->synth.opt.mode != ZP_SYNTH_WILD || (c->dp <= 2 && (c->pp <= 2 || tied == 0));
}

/* What the engine may do otherwise. Not drawn with rand(): jobs keep their numbers; and jobs 6 and
 * 34, which tests know by number, are left as they were. */
static inline void choose_options(job *j)
{
  uint64_t random = j->seed + 33000;
  const uint64_t draw = next_random(&random);
  j->r.c.dynamic_shapes = j->r.c.pp > 1 && draw / 2 % 4 == 0;
  j->synth.opt.vary = j->r.c.dynamic_shapes;
  j->loads = draw / 8 % 4 == 0;
  j->saves = draw / 32 % 4 == 0;
  if (j->loads) {
    j->base = 7;
    memory_invent(&j->origin, draw, j->base, j->hyper.scaler);
  }
  j->native = j->r.c.reduce == ZP_ORDERED && orders_agree(j) && draw % 2 == 0;
}

/* The model, the optimizer and what is saved of `a`, loaded under another split, and so many steps
 * more. Returns 0, or where it failed. */
static inline int job_resplit(job *j, const job *a, const zp_config *split, const memory *origin,
                              int32_t steps)
{
  zp_refusal why;
  memset(j, 0, sizeof *j);
  j->r = a->r;
  j->r.c = *split;
  j->r.c.params = j->r.list;
  for (int32_t i = 0; i < j->r.c.n_params; i++)
    j->r.list[i].stage = a->r.list[i].stage * split->pp / a->r.c.pp;
  if (zp_config_check(&j->r.c, &why)) return __LINE__;
  j->world = split->pp * split->dp * split->tp;
  j->seed = a->seed;
  j->steps = j->steps_run = steps;
  j->hyper = a->hyper;
  j->synth = a->synth;
  j->forget = j->twice = -1;
  j->work = zp_synth_workload(&j->synth);
  j->loads = j->saves = 1;
  j->origin = *origin;
  j->base = origin->state[0].step;
  return run_ref(j);
}

/* A random valid job on at most `ranks` ranks. ref_done: as above. 0, or where it failed. */
static inline int job_fill_with(job *j, uint32_t seed, int32_t ranks,
                                void (*ref_done)(job *j, int32_t step))
{
  zp_refusal why;
  memset(j, 0, sizeof *j);
  j->ref_done = ref_done;
  for (uint32_t s = seed;; s += 1000003u) {
    random_fill(&j->r, s);
    j->r.c.dynamic_shapes = 0;
    j->world = j->r.c.pp * j->r.c.dp * j->r.c.tp;
    if (j->world <= ranks && zp_config_check(&j->r.c, &why) == 0) break;
  }
  j->seed = seed;
  j->steps = j->steps_run = 2 + rand() % 3;
  j->threads = (int32_t)seed % 2;
  j->no_lock = getenv("ZP_ENGINE_NO_LOCK") != NULL;
  j->always_get = rand() % 2;
  j->in_order = rand() % 3 == 0;
  j->forget = j->twice = -1;
  random_hyper(j);
  j->synth.opt = (zp_synth_options){.seed = seed,
                                    .mode = rand() % ZP_SYNTH_MODES,
                                    .unused = rand() % 2 ? 60 : 0,
                                    .tuple = rand() % 2,
                                    .overflow = rand() % 3 == 0 ? 1u << rand() % 3 : 0,
                                    .bad_loss = rand() % 4 == 0 ? 1u << rand() % 3 : 0};
  j->work = zp_synth_workload(&j->synth);
  choose_options(j);
  return run_ref(j);
}

static inline int job_fill(job *j, uint32_t seed, int32_t ranks)
{
  return job_fill_with(j, seed, ranks, NULL);
}

static inline void job_free(job *j)
{
  zp_sim_close(j->ref);
  for (int32_t r = 0; r < RANKS_MAX; r++) {
    for (int32_t i = 0; i < RANDOM_ENTRIES; i++) free(j->first[r][i]);
    free(j->ledger[r].op);
    free(j->ledger[r].step);
    zp_path_log_free(&j->path[r]);
  }
}

/* The job as the critical path's case: what was announced in the last run. get: [steps] */
static inline zp_path_case job_path(const job *j, uint8_t *get)
{
  for (int32_t s = 0; s < j->steps && s < STEPS_MAX; s++)
    get[s] = j->always_get || s == j->steps - 1;
  return (zp_path_case){&j->r.c, j->steps, j->native, !j->chained, j->path, get, 0, 1};
}

static inline simdev *job_simdev(job *j, const simdev_options *o)
{
  simdev *s = simdev_open(j->world, j->world, o, NULL);
  /* a run with a finding has its hosts return one after the other: first those that use what the
   * first host of the rank frees */
  for (int32_t r = 0; s && j->threads && r < j->world; r++) {
    simdev_host(s, r, watchdog, &j->helpers[r]);
    simdev_host(s, r, announcer_1, &j->helpers[r]);
    simdev_host(s, r, announcer_2, &j->helpers[r]);
  }
  for (int32_t r = 0; s && r < j->world; r++) simdev_host(s, r, process, j);
  return s;
}

/* Before each run. */
static inline void job_begin(job *j)
{
  j->text[0] = 0;
  memset(j->error, 0, sizeof j->error);
  memset(&j->saved[1], 0, sizeof j->saved[1]);
  memset(j->helpers, 0, sizeof j->helpers);
  for (int32_t r = 0; r < j->world; r++) j->helpers[r].j = j;
  j->alarmed = 0;
}

/* One run; what was found is in simdev's report and in j->text. */
static inline simdev_status job_run(job *j, simdev *s, const simdev_options *o)
{
  job_begin(j);
  simdev_reset(s, o);
  const simdev_status status = simdev_run(s);
  const char *differs = memory_differs(&j->saved[0], &j->saved[1], j->world);
  if (status == SIMDEV_OK && differs) {
    snprintf(j->text, sizeof j->text, "the checkpoint: %s", differs);
    return SIMDEV_E_HOST;
  }
  return status;
}

static inline void job_describe(const job *j, char *text, size_t cap)
{
  const zp_config *c = &j->r.c;
  snprintf(
      text, cap,
      "job %llu: pp %d dp %d tp %d ep %d, stage %d, %s, precision %d, M %lld, bucket %lld%s%s%s",
      (unsigned long long)j->seed, c->pp, c->dp, c->tp, c->ep, c->stage,
      c->reduce == ZP_EXACT ? "exact"
      : j->native           ? "native"
                            : "ordered",
      c->precision, (long long)c->micro_batches, (long long)c->bucket,
      c->dynamic_shapes ? ", dynamic shapes" : "", j->loads ? ", loaded" : "",
      j->saves ? ", saved" : "");
}

#endif
