/* The twin behind the conformance suite's protocol (ref/cli/adapter.h): the values are what lies in
 * its device memory after each step, and the ledger what it has issued. Ref opens its ranks, for
 * their layouts and first values, and runs nothing. */
#include <string.h>

#include "../../ref/cli/adapter.h"
#include "../../ref/cli/sim_fault.h"
#include "../../ref/engine/rank_internal.h"
#include "faults.h"
#include "trial_internal.h"
#include "twin.h"

/* A rank of the twin as one of ref's, as far as the adapter looks at it. */
typedef struct view {
  zp_rank r;
  void *param[512];
  zp_flat_state flat[512];
} view;

static void see(view *v, const zp_trial_worker *w)
{
  memset(&v->r, 0, sizeof v->r);
  v->r.cfg = w->t->cfg;
  v->r.work = w->t->work;
  v->r.rank = w->rank;
  v->r.at = w->at;
  v->r.lay = w->e->lay;
  v->r.step = w->steps_done;
  v->r.pc = w->e->pc;
}

static void issued(void *ctx, const zp_trial_worker *w, const zp_op *op)
{
  const zp_adapter_job *job = ctx;
  static view v; /* all ranks share a thread */
  see(&v, w);
  job->enters(job->ctx, &v.r, op);
}

static void begun(void *ctx, const zp_trial_worker *w)
{
  const zp_adapter_job *job = ctx;
  job->begun(job->ctx, w->rank, w->steps_done);
}

static void ended(void *ctx, const zp_trial_worker *w)
{
  const zp_adapter_job *job = ctx;
  job->ended(job->ctx, w->rank);
}

/* All that the step has queued is done. */
static void stepped(void *ctx, const zp_trial_worker *w, const zp_step_state *s)
{
  const zp_adapter_job *job = ctx;
  static view v;
  see(&v, w);
  v.r.param = v.param;
  v.r.flat = v.flat;
  for (int32_t i = 0; i < w->e->lay.n_params; i++) v.param[i] = w->e->entry[i].param;
  for (int32_t k = 0; k < w->e->lay.n_flats; k++) {
    v.flat[k].mean = w->e->flat[k].mean;
    v.flat[k].master = w->e->flat[k].master;
  }
  v.r.scaler = s->scaler;
  v.r.result.norm_f64 = s->decision.norm_f64;
  v.r.result.log2_scale = s->decision.log2_scale;
  v.r.result.skipped = s->decision.skipped;
  job->stepped(job->ctx, &v.r);
}

/* What the case leaves to the twin, from its options and dice. */
static zp_trial_schedule schedule_of(const zp_adapter_job *job)
{
  static const struct {
    const char *name;
    simdev_order order;
  } orders[] = {
      {"fifo", SIMDEV_FIFO}, {"random", SIMDEV_RANDOM}, {"lazy", SIMDEV_LAZY}, {"pct", SIMDEV_PCT}};
  const char *order = zp_adapter_option(job, "order", "fifo");
  const zp_twin_fault *fault = job->fault != NULL ? zp_twin_fault_of(job->fault) : NULL;
  zp_trial_schedule s = {.seed = job->seed, .announce = job->seed, .launch_order = 1};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    if (strcmp(order, orders[i].name) == 0) s.order = orders[i].order;
  s.producers = zp_adapter_option(job, "producers", "1")[0] - '0';
  s.in_order = strcmp(zp_adapter_option(job, "arrival", "backward"), "backward") == 0;
  s.native = strcmp(zp_adapter_option(job, "sums", "exact"), "native") == 0;
  s.get_each = 1;
  if (fault == NULL) return s;
  s.plant = &fault->planted;
  s.forgets = fault->forgets;
  s.repeats = fault->repeats;
  s.waits_for_all = fault->waits_for_all;
  return s;
}

static int run(const zp_adapter_job *job, zp_error *err)
{
  const zp_trial_report report = {(void *)(uintptr_t)job, begun, issued, ended, stepped};
  const zp_trial_watch watch = {.report = &report};
  const zp_workload work = zp_given_workload(job->given);
  const zp_trial_schedule s = schedule_of(job);
  zp_trial *t;
  if (strcmp(zp_adapter_option(job, "sums", "exact"), "exact") != 0)
    job->given->cfg.reduce = ZP_ORDERED;
  t = zp_trial_open(&job->given->cfg, &job->given->hyper, &work, job->given->steps, &watch, err);
  if (t == NULL) return err->status;
  if (zp_trial_run(t, &s))
    zp_fail(err, strcmp(zp_trial_why(t)->kind, "memory") ? ZP_E_VERDICT : ZP_E_MEMORY, -1, "%s: %s",
            zp_trial_why(t)->kind, zp_trial_why(t)->text);
  zp_trial_close(t);
  return err->status;
}

const zp_adapter_side zp_adapter_twin = {
    .options = "{\"order\": [\"fifo\", \"random\", \"lazy\", \"pct\"],"
               " \"producers\": [\"1\", \"2\", \"3\"], \"arrival\": [\"backward\", \"any\"],"
               " \"sums\": [\"exact\", \"ordered\", \"native\"]}",
    .run = run,
};
