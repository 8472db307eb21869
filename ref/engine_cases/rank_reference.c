/* The simulation that a rank compares itself with: all ranks of the case, of which it is one. */
#include <stdlib.h>
#include <string.h>

#include "rank_state.h"

static int open_simulation(zp_rank_job *r)
{
  zp_case_hyper_at(r->c, 0, &r->hyper);
  r->sim = zp_sim_open(&r->c->cfg, &r->hyper, &r->work, &r->err);
  if (!r->sim) return -1;
  r->ref = zp_sim_rank(r->sim, r->o->rank);
  return 0;
}

static int open_instance(zp_rank_job *r)
{
  const zp_place_of where = {r->ref->at.pp, r->ref->at.pp, r->ref->at.dp, r->ref->at.tp};
  return r->work.open(r->work.ctx, &r->c->cfg, where, (const void *const *)r->ref->all_params,
                      &r->inst);
}

/* The last entry comes first. */
static void order_backward(zp_rank_job *r)
{
  const zp_config *cfg = &r->c->cfg;
  for (int32_t j = cfg->n_params - 1; j >= 0; j--)
    if (cfg->params[j].stage == r->ref->at.pp && !cfg->params[j].frozen) r->order[r->n_order++] = j;
}

/* What the rank passes to the engine, before INIT makes all ranks' copies equal. */
static int copy_first(zp_rank_job *r)
{
  for (int32_t j = 0; j < r->c->cfg.n_params; j++) {
    const size_t n = zp_rank_param_bytes(r, j);
    if (r->c->params[j].stage != r->ref->at.pp) continue;
    r->first[j] = malloc(n + 1);
    if (!r->first[j]) return -1;
    memcpy(r->first[j], r->ref->all_params[j], n);
  }
  return 0;
}

int zp_rank_open_reference(zp_rank_job *r)
{
  int64_t most = 1;
  r->synth.opt = r->c->synth;
  r->work = zp_synth_workload(&r->synth);
  for (int32_t j = 0; j < r->c->cfg.n_params; j++)
    if (r->c->params[j].numel > most) most = r->c->params[j].numel;
  r->read = malloc((size_t)most * sizeof *r->read);
  if (!r->read || open_simulation(r) || copy_first(r) || open_instance(r)) return -1;
  order_backward(r);
  return zp_sim_run(r->sim, ZP_PHASE_INIT, &r->err);
}

int zp_rank_return_to(zp_rank_job *r, int64_t steps)
{
  r->work.close(r->inst);
  zp_sim_close(r->sim);
  r->inst = NULL;
  r->sim = NULL;
  if (open_simulation(r) || open_instance(r)) return -1;
  int failed = zp_sim_run(r->sim, ZP_PHASE_INIT, &r->err);
  for (int64_t i = 0; i < steps && !failed; i++) {
    zp_case_hyper_at(r->c, i, &r->hyper);
    failed = zp_sim_run(r->sim, ZP_PHASE_STEP, &r->err);
  }
  if (r->memory.compared > steps) r->memory.compared = steps;
  r->step = steps - 1; /* the next one follows */
  return failed;
}
