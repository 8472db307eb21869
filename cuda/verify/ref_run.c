#include <stdlib.h>
#include <string.h>

#include "../../ref/verify/case.h"
#include "../../ref/verify/train_hyper.h"
#include "state.h"

static void after_op(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_diff *t = ctx;
  int32_t step = -1 - r->cursor.phase;
  if (!zp_op_communicates(op)) return;
  /* DECIDE has increased the step before the ops after it */
  if (r->cursor.phase == ZP_PHASE_STEP) step = (int32_t)(r->step - t->base) - op->if_stepped;
  zp_diff_ledger_add(&t->ref.ledger[r->rank], op, step);
}

/* Keeps the model's values before the broadcasts, from which the engine begins. */
static int keep_first(zp_diff *t)
{
  for (int32_t r = 0; r < t->world; r++) {
    const zp_rank *rank = zp_sim_rank(t->ref.sim, r);
    for (int32_t i = 0; i < rank->lay.n_params; i++) {
      const int32_t p = rank->lay.first_param + i;
      const size_t n =
          (size_t)(t->cfg->params[p].numel * zp_dtype_bytes(zp_entry_dtype(t->cfg, p)));
      void *copy = malloc(n + 1);
      if (!copy) return -1;
      if (n > 0) memcpy(copy, rank->param[i], n);
      t->ref.first[(int64_t)r * t->cfg->n_params + p] = copy;
    }
  }
  return 0;
}

static int end_ref(zp_diff *t, zp_error *err)
{
  if (t->storage.save && zp_ref_run_save(t, err)) return err->status;
  zp_sim_hook(t->ref.sim, NULL);
  for (int32_t r = 0; r < t->world; r++)
    if (t->ref.ledger[r].no_memory)
      return zp_fail(err, ZP_E_MEMORY, r, "out of memory for a ledger");
  return 0;
}

int zp_ref_run_rates(const zp_diff *t, int32_t step, zp_hyper *hyper)
{
  const int changes = t->watch.rates && t->watch.rates->rates;
  if (changes) zp_case_hyper_at(t->watch.rates, t->base + step, hyper);
  else if (t->watch.scheduled) *hyper = zp_train_hyper_at(t->watch.scheduled, t->base + step);
  return changes || t->watch.scheduled;
}

int zp_ref_run_step(zp_diff *t, int32_t s, zp_error *err)
{
  for (int32_t r = 0; r < t->world; r++) {
    const zp_rank *rank = zp_sim_rank(t->ref.sim, r);
    t->ref.params[(int64_t)s * t->world + r] = zp_hash_params(t->cfg, &rank->lay, rank->param);
  }
  (void)zp_ref_run_rates(t, s, &t->ref.hyper);
  if (zp_sim_run(t->ref.sim, ZP_PHASE_STEP, err)) return err->status;
  t->ref.result[s] = zp_sim_rank(t->ref.sim, 0)->result;
  t->ref.scaler[s] = zp_sim_rank(t->ref.sim, 0)->scaler;
  if (t->watch.ref) t->watch.ref(t->watch.ctx, t->ref.sim, s);
  return s == t->steps - 1 ? end_ref(t, err) : 0;
}

static int open_arrays(zp_diff *t)
{
  const size_t world = (size_t)t->world, steps = (size_t)t->steps + 1;
  zp_ref_run *r = &t->ref;
  r->first = calloc(world * (size_t)t->cfg->n_params + 1, sizeof *r->first);
  r->ledger = calloc(world, sizeof *r->ledger);
  r->result = calloc(steps, sizeof *r->result);
  r->scaler = calloc(steps, sizeof *r->scaler);
  r->params = calloc(steps * world, sizeof *r->params);
  return r->first && r->ledger && r->result && r->scaler && r->params ? 0 : -1;
}

int zp_ref_run_open(zp_diff *t, zp_error *err)
{
  if (open_arrays(t)) return zp_fail(err, ZP_E_MEMORY, -1, "out of memory for ref's run");
  t->ref.hook = (zp_hook){t, NULL, after_op};
  t->follow.tape = zp_tape_workload(t);
  t->ref.hyper = *t->hyper;
  t->ref.sim =
      zp_sim_open(t->cfg, &t->ref.hyper, t->watch.products ? &t->follow.tape : t->work, err);
  if (!t->ref.sim) return err->status;
  t->sized = *t->cfg;
  t->sized.params = zp_sim_rank(t->ref.sim, 0)->block.cfg.params;
  if (keep_first(t)) return zp_fail(err, ZP_E_MEMORY, -1, "out of memory for first values");
  if (t->watch.report) return t->base = t->watch.report->first, 0;
  zp_sim_hook(t->ref.sim, &t->ref.hook);
  if (zp_sim_run(t->ref.sim, ZP_PHASE_INIT, err)) return err->status;
  if (t->storage.load && zp_ref_run_load(t, err)) return err->status;
  if (t->watch.ref) t->watch.ref(t->watch.ctx, t->ref.sim, -1);
  for (int32_t s = 0; !t->watch.products && s < t->steps; s++)
    if (zp_ref_run_step(t, s, err)) return err->status;
  return t->steps == 0 ? end_ref(t, err) : 0;
}

void zp_ref_run_close(zp_diff *t)
{
  zp_ref_run *r = &t->ref;
  if (r->sim) zp_sim_close(r->sim);
  for (int64_t i = 0; r->first && i < (int64_t)t->world * t->cfg->n_params; i++) free(r->first[i]);
  for (int32_t k = 0; r->ledger && k < t->world; k++) zp_diff_ledger_free(&r->ledger[k]);
  free(r->first);
  free(r->ledger);
  free(r->result);
  free(r->scaler);
  free(r->params);
}
