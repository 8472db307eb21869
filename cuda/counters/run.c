#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "../../ref/comm/block.h"
#include "../../ref/engine/memory.h"
#include "calls.h"
#include "gradients.h"

enum { ACTIVATION = 4096 };

#define TRY(call)                                                                                  \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

/* ---- What the engine reports ----------------------------------------------------------------- */

/* Does an ADD copy the entry's gradient as it is? */
static int is_copy(const zp_counters_job *job, int32_t param)
{
  return job->cfg->stage == 2 && (!job->native || zp_counted_grad_dtype(job, param) == ZP_F32);
}

static int32_t use_of(const zp_counters_job *job, const zp_op *op)
{
  if (!op) return ZP_COUNT_STAGED;
  switch (op->kind) {
  case ZP_OP_ADD: return is_copy(job, op->param) ? ZP_COUNT_COPIED : ZP_COUNT_ADD;
  case ZP_OP_REDUCE_SCATTER: return ZP_COUNT_REDUCE;
  case ZP_OP_ALL_REDUCE:
    return op->what == ZP_WHAT_STATISTICS ? ZP_COUNT_STATISTICS : ZP_COUNT_REDUCE;
  case ZP_OP_MEAN: return ZP_COUNT_MEAN;
  case ZP_OP_DECIDE: return ZP_COUNT_DECIDE;
  case ZP_OP_UPDATE: return ZP_COUNT_UPDATE;
  case ZP_OP_ALL_GATHER: return ZP_COUNT_GATHER;
  default: return ZP_COUNT_OTHER;
  }
}

static void tag(zp_counted_rank *w, int32_t use)
{
  w->use = use;
  simdev_tag(zp_counted_tag(w->step, use));
}

static void note_issuing(void *ctx, int32_t phase, int64_t position, const zp_op *op)
{
  zp_counted_rank *w = ctx;
  (void)position;
  if (phase == ZP_PHASE_STEP) tag(w, use_of(w->run->job, op));
}

/* Of tied parameters, replicas: after the reduction of the flat group's ranks. */
static int is_further_sum(const zp_counted_rank *w, const zp_op *op)
{
  const zp_layout *lay = zp_cuda_layout_of(w->e);
  return op->kind == ZP_OP_ALL_REDUCE && use_of(w->run->job, op) == ZP_COUNT_REDUCE &&
         op->group != lay->flat[op->flat].group;
}

static void note_issued(void *ctx, int32_t phase, const zp_op *op)
{
  zp_counted_rank *w = ctx;
  if (phase != ZP_PHASE_STEP) return;
  w->wire += zp_cuda_sent_bytes(w->e, op);
  if (is_further_sum(w, op)) w->further_sums++;
}

/* ---- The lock -------------------------------------------------------------------------------- */

/* Each rank has one host, so that its lock is always free; it has no watchdog. */
static int start(void *ctx, void (*fn)(void *), void *arg)
{
  (void)ctx, (void)fn, (void)arg;
  return 0;
}
static void count_lock(void *ctx)
{
  ((zp_counted_rank *)ctx)->locks++;
}
static void nothing(void *ctx)
{
  (void)ctx;
}
static int sleeps(void *ctx, uint64_t ns)
{
  (void)ctx, (void)ns;
  return 0;
}

/* ---- The model ------------------------------------------------------------------------------- */

static int first_values(void *ctx, int32_t param, void *data, cudaStream_t stream)
{
  const zp_counted_rank *w = ctx;
  const zp_config *cfg = w->run->job->cfg;
  return (int)cudaMemsetAsync(
      data, 0x3c, (size_t)(cfg->params[param].numel * zp_dtype_bytes(zp_entry_dtype(cfg, param))),
      stream);
}

static int forward(void *ctx, const zp_cuda_call *call)
{
  zp_counted_rank *w = ctx;
  if (!call->loss) return 0;
  simdev_tag(0);
  TRY(cudaMemsetAsync(call->loss, 0, sizeof *call->loss, call->stream));
  w->by_model++;
  tag(w, ZP_COUNT_OTHER);
  return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* *grad: in the place that the engine lends, where the caller, as backward would, writes finite
 * numbers; or the caller's own. */
static int fill(zp_counted_rank *w, int32_t param, const zp_cuda_call *call, void **grad)
{
  const zp_counters_job *job = w->run->job;
  void *lent = NULL;
  *grad = w->grad[param];
  if (!job->in_place) return 0;
  TRY(zp_cuda_grad_buffer(w->e, param, call->mb, call->stream, &lent));
  if (!lent) return 0;
  simdev_tag(0);
  TRY(cudaMemsetAsync(lent, 0x3c, zp_counted_grad_bytes(job, param), call->stream));
  w->by_model++;
  tag(w, w->use);
  *grad = lent;
  return 0;
}

static int announce(zp_counted_rank *w, int32_t param, const zp_cuda_call *call)
{
  void *grad;
  TRY(fill(w, param, call, &grad));
  const int64_t calls = zp_counted_calls(w), locks = w->locks;
  zp_count_host *h = &w->host;
  TRY(zp_cuda_grad_ready(w->e, param, call->mb, grad, w->run->job->cfg->params[param].numel,
                         zp_counted_grad_dtype(w->run->job, param), call->stream));
  h->announcements++;
  h->announced_calls += zp_counted_calls(w) - calls;
  h->announced_locks += w->locks - locks;
  h->most_calls = larger(h->most_calls, zp_counted_calls(w) - calls);
  h->most_locks = larger(h->most_locks, w->locks - locks);
  return 0;
}

static int backward(void *ctx, const zp_cuda_call *call)
{
  zp_counted_rank *w = ctx;
  for (int32_t i = w->run->job->cfg->n_params - 1; i >= 0; i--)
    if (w->grad[i]) TRY(announce(w, i, call));
  tag(w, ZP_COUNT_OTHER);
  return 0;
}

/* ---- A rank ---------------------------------------------------------------------------------- */

static int exchange_id(void *ctx, int32_t rank, void *bytes, size_t n)
{
  zp_counted_run *run = ctx;
  if (rank == 0) {
    memcpy(&run->id, bytes, n);
    simdev_signal(&run->id);
    return 0;
  }
  if (simdev_await(&run->id)) return -1;
  memcpy(bytes, &run->id, n);
  return 0;
}

static void describe(const zp_counted_rank *w, int32_t boundary, zp_message *m)
{
  const zp_config *cfg = w->run->job->cfg;
  if (boundary < 0 || boundary >= cfg->pp - 1) return;
  m->n = 1;
  m->t[0] = (zp_tensor){.dtype = cfg->precision, .ndim = 1, .dim = {ACTIVATION}};
}

static zp_cuda_options options_of(zp_counted_rank *w)
{
  const zp_counters_job *job = w->run->job;
  const zp_hyper *h = job->hyper;
  static const uint64_t deadline_ns = 600000000000u;
  zp_cuda_options o = {.cfg = job->cfg,
                       .optims = h->groups,
                       .clip = h->clip,
                       .clip_eps = h->clip_eps,
                       .scaler = h->scaler,
                       .replicas = h->replicas,
                       .entry_align = h->entry_align,
                       .slots = h->slots,
                       .fp32_gradients = h->fp32_gradients,
                       .rank = w->rank,
                       .device = w->rank,
                       .native = job->native,
                       .first_nccl = 1,
                       .offload = job->offload,
                       .offload_threads = 1,
                       .message_bytes = ACTIVATION * sizeof(float),
                       .model = {w, first_values, forward, backward, NULL},
                       .exchange = exchange_id,
                       .exchange_ctx = w->run,
                       .issued = note_issued,
                       .issuing = note_issuing,
                       .issued_ctx = w,
                       .deadline_ns = deadline_ns,
                       .now_ns = simdev_clock_ns,
                       .pause = simdev_pause};
  memcpy(o.optim, h->optim, sizeof o.optim);
  describe(w, w->at.pp - 1, &o.act_in);
  describe(w, w->at.pp, &o.act_out);
  return o;
}

static int run_step(zp_counted_rank *w)
{
  w->host = (zp_count_host){0};
  w->by_model = w->wire = w->further_sums = 0;
  zp_counted_calls_begin(w);
  const int64_t calls = zp_counted_calls(w), locks = w->locks;
  tag(w, ZP_COUNT_OTHER);
  TRY(zp_cuda_step(w->e));
  simdev_tag(0);
  w->host.step_calls = zp_counted_calls(w) - calls - w->by_model;
  w->host.step_locks = w->locks - locks;
  zp_counted_calls_end(w);
  return 0;
}

static int read_layout(zp_counted_rank *w)
{
  const zp_config *cfg = w->run->job->cfg;
  const zp_hyper *h = w->run->job->hyper;
  zp_block_rank b = zp_block_of(cfg, zp_replicas(h), w->rank);
  const zp_layout *lay = zp_cuda_layout_of(w->e);
  for (int32_t i = 0; i < lay->n_params; i++) w->params += cfg->params[lay->first_param + i].numel;
  for (int32_t k = 0; k < lay->n_flats; k++) w->buckets += zp_buckets(&lay->flat[k]);
  b.slots = h->slots;
  b.fp32_gradients = h->fp32_gradients;
  if (zp_block_align(&b, zp_entry_align(h->entry_align, cfg->precision))) return __LINE__;
  if (zp_device_memory_of(&b, lay, &w->device)) return __LINE__;
  w->planned = zp_memory_of(&b.cfg, lay, h->slots, h->fp32_gradients);
  w->allocated = zp_cuda_memory_of(w->e);
  w->goal = zp_counters_goal(w->run->job, &b.cfg, lay, w->device.early);
  w->goal.rank = w->rank;
  w->goal.used = (int64_t)(w->after.device_peak - w->before.device) - w->allocated.messages;
  zp_block_close(&b);
  return 0;
}

static int train(zp_counted_rank *w)
{
  zp_cuda_options o = options_of(w);
  zp_cuda_threads threads = {w, start, nothing, count_lock, nothing, sleeps, nothing};
  zp_step_state s;
  o.threads = &threads;
  w->before = simdev_memory_of(w->run->sim, w->rank);
  w->e = zp_cuda_open(&o, &w->why);
  if (!w->e) return __LINE__;
  TRY(zp_cuda_init(w->e));
  for (w->step = 0; w->step < ZP_COUNTED_STEPS; w->step++) {
    TRY(run_step(w));
    if (w->step == 0) w->created = -simdev_created(w->run->sim, w->rank);
    TRY(zp_cuda_get(w->e, &s));
  }
  w->created += simdev_created(w->run->sim, w->rank);
  w->after = simdev_memory_of(w->run->sim, w->rank);
  TRY(read_layout(w));
  if (!s.decision.skipped) return 0;
  zp_fail(&w->why, ZP_E_INTERNAL, w->rank,
          "the counted step was skipped: its gradient is not finite");
  return __LINE__;
}

static int rank_main(void *arg, int process)
{
  zp_counted_rank *w = arg;
  int failed = cudaSetDevice(process) != cudaSuccess || zp_counted_gradients_open(w);
  if (!failed) failed = train(w);
  if (w->e && zp_cuda_why(w->e)->status) w->why = *zp_cuda_why(w->e);
  zp_cuda_close(w->e);
  zp_counted_gradients_close(w);
  return failed;
}

/* ---- All ranks ------------------------------------------------------------------------------- */

static const char *error_of(const zp_counted_run *r)
{
  for (int32_t k = 0; k < r->world; k++)
    if (r->rank[k].why.status) return r->rank[k].why.text;
  return simdev_result(r->sim)->text;
}

int zp_counted_run_open(zp_counted_run *r, const zp_counters_job *job, zp_error *err)
{
  /* where simdev's seed would choose, the choice of an idle device */
  const simdev_options o = {.seed = 1,
                            .register_memory = SIMDEV_NEVER, /* whose bytes are not counted */
                            .order = SIMDEV_FIFO,
                            .one_comm_kernel = SIMDEV_NEVER,
                            .serialize_streams = SIMDEV_NEVER,
                            .early_sends = SIMDEV_NEVER,
                            .late_launches = SIMDEV_NEVER,
                            .remote_errors = SIMDEV_NEVER,
                            .lazy_loading = SIMDEV_NEVER,
                            .record = 1,
                            .device_bytes = UINT64_C(16) << 30};
  const char *why = NULL;
  *r = (zp_counted_run){.job = job, .world = zp_world(job->cfg)};
  r->rank = calloc((size_t)r->world, sizeof *r->rank);
  r->sim = r->rank ? simdev_open(r->world, r->world, &o, &why) : NULL;
  if (!r->sim) return zp_fail(err, ZP_E_MEMORY, -1, "%s", why ? why : "out of memory");
  for (int32_t k = 0; k < r->world; k++) {
    r->rank[k] = (zp_counted_rank){.run = r, .rank = k, .at = zp_coord_of(job->cfg, k)};
    if (simdev_host(r->sim, k, rank_main, &r->rank[k]))
      return zp_fail(err, ZP_E_MEMORY, -1, "out of memory");
  }
  if (simdev_run(r->sim) == SIMDEV_OK) return 0;
  return zp_fail(err, ZP_E_INTERNAL, -1, "the CUDA engine: %s", error_of(r));
}

void zp_counted_run_close(zp_counted_run *r)
{
  if (r->sim) simdev_close(r->sim);
  free(r->rank);
}
