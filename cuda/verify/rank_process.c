/* One rank's process: opens the engine, trains, compares. */
#include <stdlib.h>
#include <string.h>

#include "../../ref/verify/case.h"
#include "state.h"

/* ---- The engine's options -------------------------------------------------------------------- */

static int exchange_id(void *ctx, int32_t rank, void *bytes, size_t n)
{
  zp_diff *t = ctx;
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
  zp_diff_rank *w = ctx;
  const zp_diff_observer *report = w->t->watch.report;
  zp_inject_issued(&w->injector, op);
  if (report) report->issued(report->ctx, w, op);
  else zp_diff_ledger_add(&w->issued, op, phase == ZP_PHASE_STEP ? w->steps_done : -1 - phase);
}

/* Tags the work that the engine queues next. */
static void note_issuing(void *ctx, int32_t phase, int64_t position, const zp_op *op)
{
  zp_diff_rank *w = ctx;
  const int64_t tag = zp_hb_tag(ZP_HB_OP, w->steps_done, position, 0);
  const int hosts = w->t->now.hosts;
  if (zp_on_tag && (hosts || (phase == ZP_PHASE_STEP && op)))
    zp_on_tag(w->rank, tag, hosts ? NULL : op);
  if (hosts) return;
  w->tag = tag;
  if (phase != ZP_PHASE_STEP) simdev_tag(0);
  else if (op) simdev_tag(tag);
  else simdev_tag(zp_hb_tag(ZP_HB_STAGE, w->steps_done, w->announce.mb, w->announce.param));
}

/* Without memory the log is incomplete, which its reader detects. */
static void note_synced(void *ctx, int32_t site, cudaEvent_t event, int32_t waited)
{
  const zp_diff_rank *w = ctx;
  zp_diff_syncs *l = &w->t->syncs[w->rank];
  if (l->n == l->cap) {
    const int64_t cap = 2 * l->cap + 256;
    zp_diff_sync *more = realloc(l->sync, (size_t)cap * sizeof *more);
    if (!more) return;
    l->sync = more;
    l->cap = cap;
  }
  l->sync[l->n++] = (zp_diff_sync){site, waited, event};
}

zp_cuda_options zp_diff_rank_options(zp_diff_rank *w)
{
  const zp_hyper *h = w->t->hyper;
  zp_cuda_options o = {
      .cfg = w->t->cfg,
      .optims = h->groups,
      .clip = h->clip,
      .clip_eps = h->clip_eps,
      .scaler = h->scaler,
      .replicas = h->replicas,
      .entry_align = h->entry_align,
      .slots = h->slots,
      .fp32_gradients = h->fp32_gradients,
      .rank = w->rank,
      .early_bytes = zp_diff_early_bytes(w->t),
      .device = zp_ranks_as == ZP_RANKS_PROCESSES ? w->rank : 0,
      .native = w->t->now.native,
      .first_nccl = w->t->now.launch_order == 2 || zp_injects_late_order(w->t->now.inject),
      .offload = w->t->now.offload,
      .partial_gather = zp_diff_is_partial(w->t),
      .message_bytes = zp_diff_message_bytes(w),
      .model = zp_diff_model_callbacks(w),
      .exchange = exchange_id,
      .exchange_ctx = w->t,
      .issued = note_issued,
      .issuing = note_issuing,
      .synced = w->t->now.record ? note_synced : NULL,
      .issued_ctx = w,
      .deadline_ns = ZP_DIFF_DEADLINE_NS,
      .now_ns = simdev_clock_ns,
      .pause = simdev_pause,
      .intercept = zp_inject(&w->injector, w->t->now.inject, w->t->cfg, w->rank, &w->e)};
  memcpy(o.optim, h->optim, sizeof o.optim);
  if (w->t->now.own_loop) o.model.forward = o.model.backward = NULL;
  zp_rank_hosts_options(w, &o);
  zp_diff_describe(w, w->at.pp - 1, &w->model.in, &o.act_in);
  zp_diff_describe(w, w->at.pp, &w->model.out, &o.act_out);
  return o;
}

/* The order of these calls is part of a schedule: simdev's choices depend on their numbers. */
static int open_rank(zp_diff_rank *w)
{
  ZP_HOST_TRY(zp_announcer_open_streams(w));
  ZP_HOST_TRY(zp_diff_model_open_refused(w));
  ZP_HOST_TRY(zp_announcer_open_gradients(w));
  return zp_diff_model_open_seen(w);
}

static void close_rank(zp_diff_rank *w)
{
  zp_announcer_wait(w);
  zp_own_loop_wait(w);
  zp_cuda_close(w->e);
  zp_inject_close(&w->injector);
  zp_own_loop_close(w);
  zp_announcer_close(w);
  zp_diff_model_close(w);
  zp_tape_close(w);
  zp_diff_ledger_free(&w->issued);
}

static int set_rates(const zp_diff_rank *w, const zp_hyper *hyper)
{
  return zp_cuda_set_hyper(w->e, hyper->optim, hyper->clip, hyper->clip_eps);
}

/* ---- Observed -------------------------------------------------------------------------------- */

/* Reports the rank's state after each step, when the device is idle. */
static int train_observed(zp_diff_rank *w)
{
  const zp_diff_observer *report = w->t->watch.report;
  zp_step_state s;
  if (w->t->storage.load) {
    ZP_HOST_TRY(zp_diff_load(w));
    ZP_HOST_TRY(zp_cuda_get(w->e, &s));
    ZP_HOST_TRY(cudaDeviceSynchronize());
    report->loaded(report->ctx, w, &s);
  }
  for (int32_t step = 0; step < w->t->steps; step++) {
    report->begun(report->ctx, w);
    ZP_HOST_TRY(set_rates(w, w->t->hyper)); /* the observer may have changed them */
    ZP_HOST_TRY(zp_cuda_step(w->e));
    w->steps_done++;
    ZP_HOST_TRY(zp_cuda_get(w->e, &s));
    ZP_HOST_TRY(cudaDeviceSynchronize());
    if (*w->model.refused)
      return zp_diff_fail(w->t, "PIPE-6",
                          "rank %d: up to step %d the model received a wrong message", w->rank,
                          step);
    report->stepped(report->ctx, w, &s);
  }
  if (report->save) ZP_HOST_TRY(zp_diff_save_observed(w));
  report->ended(report->ctx, w);
  return 0;
}

/* ---- Training -------------------------------------------------------------------------------- */

/* The rates of the next step, while earlier ones may be in flight. */
static int set_next_rates(const zp_diff_rank *w)
{
  zp_hyper hyper;
  return zp_ref_run_rates(w->t, w->steps_done, &hyper) ? set_rates(w, &hyper) : 0;
}

static int train(zp_diff_rank *w)
{
  zp_cuda_options o = zp_diff_rank_options(w);
  zp_step_state s;
  if (w->t->hooks.before_open) ZP_HOST_TRY(w->t->hooks.before_open(w));
  w->e = zp_cuda_open(&o, &w->t->error[w->rank]);
  if (!w->e) return __LINE__;
  if (w->rank == 0) w->t->chained = zp_cuda_orders_by_events(w->e);
  simdev_name_stream(zp_cuda_stream_of(w->e, ZP_CUDA_COMPUTE), "compute");
  simdev_name_stream(zp_cuda_stream_of(w->e, ZP_CUDA_REDUCE), "reduce");
  simdev_name_stream(zp_cuda_stream_of(w->e, ZP_CUDA_P2P), "p2p");
  ZP_HOST_TRY(zp_diff_compare_allocation(w));
  if (zp_diff_is_partial(w->t))
    simdev_name_stream(zp_cuda_stream_of(w->e, ZP_CUDA_GATHER), "gather");
  if (w->t->now.offload) simdev_name_stream(zp_cuda_stream_of(w->e, ZP_CUDA_COPY), "copy");
  ZP_HOST_TRY(zp_tape_open(w));
  ZP_HOST_TRY(zp_diff_model_open(w));
  ZP_HOST_TRY(zp_cuda_init(w->e));
  if (w->t->watch.report) return train_observed(w);
  if (w->t->storage.load) ZP_HOST_TRY(zp_diff_load(w));
  if (w->t->now.own_loop) ZP_HOST_TRY(zp_own_loop_open(w));
  for (int32_t step = 0; step < w->t->steps; step++) {
    ZP_HOST_TRY(set_next_rates(w));
    if (w->t->hooks.before_step) ZP_HOST_TRY(w->t->hooks.before_step(w));
    if (step == 0 || w->t->hooks.before_step) zp_diff_count_created(w);
    ZP_HOST_TRY(w->t->now.own_loop ? zp_own_loop_step(w) : zp_cuda_step(w->e));
    w->steps_done++;
    ZP_HOST_TRY(zp_diff_compare_created(w));
    if (!w->t->get[step]) continue;
    simdev_tag(zp_hb_tag(ZP_HB_GET, step, 0, 0));
    ZP_HOST_TRY(zp_cuda_get(w->e, &s));
    if (w->t->watch.products) ZP_HOST_TRY(zp_follow_step(w));
    ZP_HOST_TRY(zp_diff_decode(w, zp_diff_compare_state(w, &s)));
  }
  if (w->t->storage.save) ZP_HOST_TRY(zp_diff_save(w));
  ZP_HOST_TRY(zp_diff_decode(w, zp_diff_compare_memory(w)));
  ZP_HOST_TRY(zp_diff_compare_seen(w));
  ZP_HOST_TRY(zp_diff_compare_waits(w));
  ZP_HOST_TRY(zp_follow_report(w));
  return zp_diff_compare_ledger(w);
}

int zp_diff_rank_main(void *arg, int process)
{
  zp_diff *t = ((zp_rank_hosts *)arg)->t;
  const int32_t rank = (int32_t)((zp_rank_hosts *)arg - t->simulation.hosts);
  zp_diff_rank w = {.t = t, .rank = rank, .at = zp_coord_of(t->cfg, rank)};
  int failed;
  t->simulation.hosts[rank].w = &w;
  for (uint64_t k = 0; k < ZP_DIFF_STREAMS; k++)
    w.announce.random[k] = t->now.announce * 1000003u + (uint64_t)rank + (k << 32);
  w.streams = t->now.producers < 1 ? 1 : t->now.producers;
  if (cudaSetDevice(process) || zp_diff_model_load() || zp_announcer_load()) return __LINE__;
  failed = open_rank(&w);
  if (!failed) failed = train(&w);
  if (w.e && zp_cuda_why(w.e)->status) t->error[rank] = *zp_cuda_why(w.e);
  if (w.e && t->hooks.closing) t->hooks.closing(&w);
  close_rank(&w);
  zp_rank_hosts_end(&t->simulation.hosts[rank]);
  return failed;
}
