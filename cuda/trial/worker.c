/* One rank's process on simdev: opens the engine, trains, compares. */
#include <stdlib.h>
#include <string.h>

#include "trial_internal.h"

/* ---- What the engine is told ----------------------------------------------------------------- */

static int exchange_id(void *ctx, int32_t rank, void *bytes, size_t n)
{
  zp_trial *t = ctx;
  if (rank == 0) {
    memcpy(&t->id, bytes, n);
    simdev_signal(&t->id);
    return 0;
  }
  if (simdev_await(&t->id)) return -1;
  memcpy(bytes, &t->id, n);
  return 0;
}

static void note_issued(void *ctx, int32_t phase, const zp_op *op)
{
  zp_trial_worker *w = ctx;
  const zp_trial_report *report = w->t->watch.report;
  if (report) report->issued(report->ctx, w, op);
  else zp_trial_note(&w->issued, op, phase == ZP_PHASE_STEP ? w->steps_done : -1 - phase);
}

void (*zp_trial_tagged)(int32_t rank, int64_t tag, const zp_op *op);

/* Whose work it is that the engine queues next. */
static void note_issuing(void *ctx, int32_t phase, int64_t position, const zp_op *op)
{
  const zp_trial_worker *w = ctx;
  const int64_t tag = zp_path_tag(ZP_PATH_OP, w->steps_done, position, 0);
  const int hosts = w->t->now.hosts;
  if (zp_trial_tagged && (hosts || (phase == ZP_PHASE_STEP && op)))
    zp_trial_tagged(w->rank, tag, hosts ? NULL : op);
  if (hosts) return;
  if (phase != ZP_PHASE_STEP) simdev_tag(0);
  else if (op) simdev_tag(tag);
  else simdev_tag(zp_path_tag(ZP_PATH_KEEP, w->steps_done, w->mb, w->now));
}

/* Forgetting some for lack of memory is found by who counts them. */
static void note_synced(void *ctx, int32_t site, cudaEvent_t event, int32_t waited)
{
  const zp_trial_worker *w = ctx;
  zp_trial_syncs *l = &w->t->syncs[w->rank];
  if (l->n == l->cap) {
    const int64_t cap = 2 * l->cap + 256;
    zp_trial_sync *more = realloc(l->sync, (size_t)cap * sizeof *more);
    if (!more) return;
    l->sync = more;
    l->cap = cap;
  }
  l->sync[l->n++] = (zp_trial_sync){site, waited, event};
}

zp_cuda_options zp_trial_options(zp_trial_worker *w)
{
  const zp_hyper *h = w->t->hyper;
  zp_cuda_options o = {.cfg = w->t->cfg,
                       .optims = h->groups,
                       .clip = h->clip,
                       .clip_eps = h->clip_eps,
                       .scaler = h->scaler,
                       .rank = w->rank,
                       .device = zp_trial_ranks == ZP_TRIAL_PROCESSES ? w->rank : 0,
                       .native = w->t->now.native,
                       .first_nccl = w->t->now.launch_order == 2,
                       .offload = w->t->now.offload,
                       .message_bytes = zp_trial_message_bytes(w),
                       .model = zp_trial_model(w),
                       .exchange = exchange_id,
                       .exchange_ctx = w->t,
                       .issued = note_issued,
                       .issuing = note_issuing,
                       .synced = w->t->now.record ? note_synced : NULL,
                       .issued_ctx = w,
                       .deadline_ns = ZP_TRIAL_DEADLINE_NS,
                       .now_ns = simdev_clock_ns,
                       .pause = simdev_pause,
                       .fault = w->t->now.plant};
  memcpy(o.optim, h->optim, sizeof o.optim);
  if (w->t->now.own_loop) o.model.forward = o.model.backward = NULL;
  zp_trial_hosts_of(w, &o);
  zp_trial_describe(w, w->at.pp - 1, &w->in, &o.act_in);
  zp_trial_describe(w, w->at.pp, &w->out, &o.act_out);
  return o;
}

/* ---- Its own memory and streams -------------------------------------------------------------- */

/* The first one may be the default stream, which nobody creates. */
static int is_default(const zp_trial_worker *w, int32_t s)
{
  return s == 0 && w->t->now.default_stream;
}

static int open_producer(zp_trial_worker *w, int32_t s)
{
  if (is_default(w, s)) {
    w->producer[s] = w->t->now.default_stream == 1 ? NULL : cudaStreamPerThread;
    return 0;
  }
  ZP_TRIAL_OK(cudaStreamCreateWithFlags(&w->producer[s], cudaStreamNonBlocking));
  simdev_name_stream(w->producer[s], "producer");
  return 0;
}

static int open_producers(zp_trial_worker *w, size_t bytes)
{
  ZP_TRIAL_OK(cudaEventCreateWithFlags(&w->made, cudaEventDisableTiming));
  if (w->t->now.waits_for_all)
    ZP_TRIAL_OK(cudaEventCreateWithFlags(&w->all, cudaEventDisableTiming));
  for (int32_t s = 0; s < w->streams; s++) {
    ZP_TRIAL_OK(open_producer(w, s));
    ZP_TRIAL_OK(cudaMalloc(&w->grad[s], bytes));
  }
  ZP_TRIAL_OK(cudaMalloc((void **)&w->refused, sizeof *w->refused));
  ZP_TRIAL_OK(cudaMemsetAsync(w->refused, 0, sizeof *w->refused, w->producer[0]));
  return (int)cudaStreamSynchronize(w->producer[0]);
}

static int open_worker(zp_trial_worker *w)
{
  const zp_config *c = w->t->cfg;
  const int64_t most = zp_most_numel(c, &zp_sim_rank(w->t->ref, w->rank)->lay);
  const int64_t size = zp_dtype_bytes(c->precision);
  w->raw = calloc((size_t)c->n_params + 1, sizeof *w->raw);
  w->order = calloc((size_t)c->n_params + 1, sizeof *w->order);
  if (!w->raw || !w->order) return __LINE__;
  ZP_TRIAL_OK(open_producers(w, (size_t)(most > 0 ? most * size : 1)));
  for (int32_t i = 0; i < c->n_params; i++) {
    const int64_t numel = c->params[i].numel;
    if (c->params[i].stage != w->at.pp || c->params[i].frozen) continue;
    ZP_TRIAL_OK(cudaMalloc(&w->raw[i], (size_t)(numel > 0 ? numel * size * c->micro_batches : 1)));
  }
  return (int)cudaMalloc((void **)&w->seen,
                         (size_t)(w->t->steps * c->micro_batches * 2 + 1) * sizeof *w->seen);
}

static void close_worker(zp_trial_worker *w)
{
  for (int32_t s = 0; s < w->streams; s++)
    if (w->producer[s] || is_default(w, s)) cudaStreamSynchronize(w->producer[s]);
  zp_trial_rest_own_loop(w);
  zp_cuda_close(w->e);
  zp_trial_close_own_loop(w);
  for (int32_t s = 0; s < w->streams; s++) {
    if (w->producer[s] && !is_default(w, s)) cudaStreamDestroy(w->producer[s]);
    if (w->grad[s]) cudaFree(w->grad[s]);
  }
  for (int32_t i = 0; w->raw && i < w->t->cfg->n_params; i++)
    if (w->raw[i]) cudaFree(w->raw[i]);
  if (w->made) cudaEventDestroy(w->made);
  if (w->all) cudaEventDestroy(w->all);
  if (w->refused) cudaFree(w->refused);
  if (w->seen) cudaFree(w->seen);
  zp_trial_close_model(w);
  zp_trial_close_follow(w);
  free(w->raw);
  free(w->order);
  zp_trial_ledger_free(&w->issued);
}

/* ---- Alone ----------------------------------------------------------------------------------- */

/* What a rank has is told after each step, when nothing moves any more. */
static int train_alone(zp_trial_worker *w)
{
  const zp_trial_report *report = w->t->watch.report;
  zp_step_state s;
  for (int32_t step = 0; step < w->t->steps; step++) {
    report->begun(report->ctx, w);
    ZP_TRIAL_OK(zp_cuda_step(w->e));
    w->steps_done++;
    ZP_TRIAL_OK(zp_cuda_get(w->e, &s));
    ZP_TRIAL_OK(cudaDeviceSynchronize());
    if (*w->refused)
      return zp_trial_differs(w->t, "PIPE-6",
                              "rank %d: until step %d the model did not get what it was to be sent",
                              w->rank, step);
    report->stepped(report->ctx, w, &s);
  }
  report->ended(report->ctx, w);
  return 0;
}

/* ---- Training -------------------------------------------------------------------------------- */

static int train(zp_trial_worker *w)
{
  zp_cuda_options o = zp_trial_options(w);
  zp_step_state s;
  if (w->t->hooks.before_open) ZP_TRIAL_OK(w->t->hooks.before_open(w));
  w->e = zp_cuda_open(&o, &w->t->error[w->rank]);
  if (!w->e) return __LINE__;
  if (w->rank == 0) w->t->chained = w->e->chained;
  simdev_name_stream(w->e->compute, "compute");
  simdev_name_stream(w->e->reduce, "reduce");
  simdev_name_stream(w->e->p2p, "p2p");
  ZP_TRIAL_OK(zp_trial_same_allocation(w));
  if (w->t->now.offload) simdev_name_stream(w->e->offload.copy, "copy");
  ZP_TRIAL_OK(zp_trial_open_follow(w));
  ZP_TRIAL_OK(zp_trial_open_model(w));
  ZP_TRIAL_OK(zp_cuda_init(w->e));
  if (w->t->watch.report) return train_alone(w);
  if (w->t->storage.load) ZP_TRIAL_OK(zp_trial_load(w));
  if (w->t->now.own_loop) ZP_TRIAL_OK(zp_trial_open_own_loop(w));
  for (int32_t step = 0; step < w->t->steps; step++) {
    if (w->t->hooks.before_step) ZP_TRIAL_OK(w->t->hooks.before_step(w));
    ZP_TRIAL_OK(w->t->now.own_loop ? zp_trial_own_step(w) : zp_cuda_step(w->e));
    w->steps_done++;
    if (!w->t->get[step]) continue;
    simdev_tag(zp_path_tag(ZP_PATH_GET, step, 0, 0));
    ZP_TRIAL_OK(zp_cuda_get(w->e, &s));
    if (w->t->watch.products) ZP_TRIAL_OK(zp_trial_follow(w));
    ZP_TRIAL_OK(zp_trial_same_state(w, &s));
  }
  if (w->t->storage.save) ZP_TRIAL_OK(zp_trial_save(w));
  ZP_TRIAL_OK(zp_trial_same_memory(w));
  ZP_TRIAL_OK(zp_trial_same_seen(w));
  ZP_TRIAL_OK(zp_trial_same_waits(w));
  ZP_TRIAL_OK(zp_trial_tell_products(w));
  return zp_trial_same_ledger(w);
}

int zp_trial_process(void *arg, int process)
{
  zp_trial *t = ((zp_trial_hosts *)arg)->t;
  const int32_t rank = (int32_t)((zp_trial_hosts *)arg - t->hosts);
  zp_trial_worker w = {.t = t, .rank = rank, .at = zp_coord_of(t->cfg, rank)};
  int failed;
  t->hosts[rank].w = &w;
  for (uint64_t k = 0; k < ZP_TRIAL_STREAMS; k++)
    w.random[k] = t->now.announce * 1000003u + (uint64_t)rank + (k << 32);
  w.streams = t->now.producers < 1 ? 1 : t->now.producers;
  if (cudaSetDevice(process) || zp_trial_load_kernels()) return __LINE__;
  failed = open_worker(&w);
  if (!failed) failed = train(&w);
  if (w.e && zp_cuda_why(w.e)->status) t->error[rank] = *zp_cuda_why(w.e);
  if (w.e && t->hooks.closing) t->hooks.closing(&w);
  close_worker(&w);
  zp_trial_hosts_end(&t->hosts[rank]);
  return failed;
}
