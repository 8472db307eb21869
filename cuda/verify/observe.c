/* Observed runs of the engine (ref/verify/backend.h): the values in its device memory after each
 * step, and the communications that it issues. Ref only opens its ranks, for their layouts and
 * first values. */
#include <stdlib.h>
#include <string.h>

#include "../../ref/num/ordered.h"
#include "../../ref/verify/observe.h"
#include "backend.h"
#include "faults.h"
#include "state.h"

static void issued(void *ctx, const zp_diff_rank *w, const zp_op *op)
{
  const zp_observed_run *run = ctx;
  zp_issued issued = {.rank = w->rank, .at = w->at, .pc = zp_cuda_position_of(w->e), .op = op};
  zp_message send, recv;
  zp_issued_messages(w->t->work, w->t->cfg, (zp_mb){.step = run->first + w->steps_done}, &issued,
                     &send, &recv);
  run->observer.issues(run->observer.ctx, &issued);
}

static void step_begins(void *ctx, const zp_diff_rank *w)
{
  const zp_observed_run *run = ctx;
  run->observer.step_begins(run->observer.ctx, w->rank, run->first + w->steps_done);
}

static void rank_done(void *ctx, const zp_diff_rank *w)
{
  const zp_observed_run *run = ctx;
  run->observer.rank_done(run->observer.ctx, w->rank);
}

/* What a view reads. mean: [n_flats] (extent) the means, of which the engine stores only those of
 * exact sums; NULL before the first step. */
typedef struct held {
  const zp_diff_rank *w;
  float *const *mean;
} held;

static zp_range range_of(const zp_diff_rank *w, int32_t k, int64_t b)
{
  const zp_block_rank in = zp_block_of(w->t->cfg, zp_replicas(w->t->hyper), w->rank);
  return zp_local_range(&in.cfg, zp_cuda_layout_of(w->e), in.at, k, b);
}

static const void *param_of(const void *holder, int32_t i)
{
  const zp_cuda *e = ((const held *)holder)->w->e;
  return zp_cuda_param(e, zp_cuda_layout_of(e)->first_param + i);
}

static const float *held_of(const void *holder, int32_t k, int64_t b, int32_t what)
{
  const held *h = holder;
  const zp_cuda_arrays a = zp_cuda_arrays_of(h->w->e, k);
  const int64_t at = range_of(h->w, k, b).at;
  switch (what) {
  case ZP_WHAT_MASTER: return a.master + at;
  case ZP_WHAT_MOMENT1: return a.moment1 + at;
  case ZP_WHAT_MOMENT2: return a.moment2 + at;
  default: return h->mean[k] + at;
  }
}

/* Fills mean; 0, or -1 without memory. */
static int make_means(const zp_diff_rank *w, float **mean)
{
  const zp_config *cfg = w->t->cfg;
  const zp_layout *lay = zp_cuda_layout_of(w->e);
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const zp_flat *f = &lay->flat[k];
    if (f->use != 0) continue;
    mean[k] = malloc((size_t)zp_extent(f, cfg->stage) * sizeof **mean + 1);
    if (!mean[k]) return -1;
    for (int64_t b = 0; b < zp_buckets(f); b++) {
      const zp_range r = range_of(w, k, b);
      const float *from = zp_cuda_gradients_at(w->e, k, r);
      if (cfg->reduce == ZP_EXACT) memcpy(mean[k] + r.at, from, (size_t)r.count * sizeof *from);
      else zp_ordered_mean_f32(mean[k] + r.at, from, cfg->micro_batches * cfg->dp, r.count);
    }
  }
  return 0;
}

/* The queued work is done. */
static zp_rank_view view_of(const held *h, const zp_step_state *s)
{
  const zp_diff_rank *w = h->w;
  zp_rank_view view = {.cfg = w->t->cfg,
                       .rank = w->rank,
                       .at = w->at,
                       .replicas = zp_replicas(w->t->hyper),
                       .lay = zp_cuda_layout_of(w->e),
                       .holder = h,
                       .param = param_of,
                       .held = held_of,
                       .skipped = s->decision.skipped,
                       .log2_scale = s->decision.log2_scale,
                       .next_log2_scale = s->scaler.log2_scale};
  memcpy(&view.norm, &s->decision.norm_f64, sizeof view.norm);
  return view;
}

static void stepped(void *ctx, const zp_diff_rank *w, const zp_step_state *s)
{
  const zp_observed_run *run = ctx;
  const int32_t flats = zp_cuda_layout_of(w->e)->n_flats;
  float **mean = calloc((size_t)flats + 1, sizeof *mean);
  if (mean && make_means(w, mean) == 0) {
    const held h = {w, mean};
    const zp_rank_view view = view_of(&h, s);
    run->observer.stepped(run->observer.ctx, &view);
  } else zp_diff_fail(w->t, "memory", "no memory for the means of rank %d", w->rank);
  for (int32_t k = 0; mean && k < flats; k++) free(mean[k]);
  free(mean);
}

static void loaded(void *ctx, const zp_diff_rank *w, const zp_step_state *s)
{
  const zp_observed_run *run = ctx;
  const held h = {w, NULL};
  const zp_rank_view view = view_of(&h, s);
  run->observer.loaded(run->observer.ctx, &view);
}

/* The schedule, from the case's options and seed. */
static zp_schedule schedule_of(const zp_observed_run *job)
{
  static const struct {
    const char *name;
    simdev_order order;
  } orders[] = {
      {"fifo", SIMDEV_FIFO}, {"random", SIMDEV_RANDOM}, {"lazy", SIMDEV_LAZY}, {"pct", SIMDEV_PCT}};
  const char *order = job->option[ZP_CUDA_OPTION_ORDER];
  const zp_cuda_fault *fault = job->fault != NULL ? zp_cuda_fault_of(job->fault) : NULL;
  zp_schedule s = {.seed = job->seed, .announce = job->seed, .launch_order = 1};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    if (strcmp(order, orders[i].name) == 0) s.order = orders[i].order;
  s.producers = job->option[ZP_CUDA_OPTION_PRODUCERS][0] - '0';
  s.in_order = strcmp(job->option[ZP_CUDA_OPTION_ARRIVAL], "backward") == 0;
  s.native = strcmp(job->option[ZP_CUDA_OPTION_SUMS], "native") == 0;
  s.offload = strcmp(job->option[ZP_CUDA_OPTION_OFFLOAD], "yes") == 0;
  s.partial_gather = strcmp(job->option[ZP_CUDA_OPTION_GATHERS], "partial") == 0;
  s.early = strcmp(job->option[ZP_CUDA_OPTION_EARLY], "bounded") == 0;
  s.in_place = strcmp(job->option[ZP_CUDA_OPTION_PLACE], "lent") == 0;
  s.get_each = 1;
  if (fault == NULL) return s;
  s.inject = &fault->injection;
  s.forgets = fault->forgets;
  s.repeats = fault->repeats;
  s.waits_for_all = fault->waits_for_all;
  return s;
}

int zp_cuda_observe(const zp_observed_run *run, zp_error *err)
{
  const zp_diff_observer report = {(void *)(uintptr_t)run,
                                   step_begins,
                                   issued,
                                   rank_done,
                                   stepped,
                                   loaded,
                                   run->save,
                                   run->first};
  const zp_diff_storage storage = {.load = run->load};
  const zp_diff_watch watch = {.report = &report, .storage = &storage};
  const zp_schedule s = schedule_of(run);
  zp_config cfg = *run->cfg;
  zp_diff *t;
  if (strcmp(run->option[ZP_CUDA_OPTION_SUMS], "exact") != 0) cfg.reduce = ZP_ORDERED;
  t = zp_diff_open(&cfg, run->hyper, run->work, run->steps, &watch, err);
  if (t == NULL) return err->status;
  if (zp_diff_run(t, &s))
    zp_fail(err, strcmp(zp_diff_finding(t)->kind, "memory") ? ZP_E_VERDICT : ZP_E_MEMORY, -1,
            "%s: %s", zp_diff_finding(t)->kind, zp_diff_finding(t)->text);
  zp_diff_close(t);
  return err->status;
}
