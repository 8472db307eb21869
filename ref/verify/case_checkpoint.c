/* Save, load under another topology, go on: a checkpoint in memory. What is put must be every
 * logical element once, and what is loaded must lead to the bits of the uninterrupted run.
 * spec: CKPT-1, CKPT-3, CKPT-5 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case_run.h"
#include "memory_checkpoint.h"

static int32_t kind_of(int32_t what)
{
  return what == ZP_WHAT_MASTER ? 0 : what == ZP_WHAT_MOMENT1 ? 1 : what == ZP_WHAT_MOMENT2 ? 2 : 3;
}

/* The place of an element, or -1 when the call is about nothing that exists. */
static int64_t index_in(const zp_case_memory *m, int32_t param, int32_t tp, int32_t ep,
                        int32_t what, int64_t offset, int64_t count)
{
  if (param < 0 || param >= m->cfg->n_params || offset < 0 || count < 0) return -1;
  const zp_param *p = &m->cfg->params[param];
  if (offset + count > p->numel || tp < 0 || tp >= (p->sharded ? m->cfg->tp : 1)) return -1;
  if (ep < 0 || ep >= (p->expert ? m->cfg->ep : 1)) return -1;
  return (((int64_t)kind_of(what) * m->cfg->ep + ep) * m->cfg->tp + tp) * m->total + m->at[param] +
         offset;
}

static int put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, const float *value, zp_error *err)
{
  zp_case_memory *m = ctx;
  const int64_t at = index_in(m, param, tp, ep, what, offset, count);
  if (at < 0)
    return zp_fail(err, ZP_E_VERDICT, -1,
                   "saved elements %lld + %lld of entry %d, which it has "
                   "not (CKPT-1)",
                   (long long)offset, (long long)count, (int)param);
  for (int64_t i = 0; i < count; i++)
    if (m->seen[at + i]++ != 0)
      return zp_fail(err, ZP_E_VERDICT, -1, "element %lld of entry %d is saved twice (CKPT-1)",
                     (long long)(offset + i), (int)param);
  if (count > 0) memcpy(m->value + at, value, (size_t)count * sizeof *value);
  return 0;
}

static int get(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, float *value, zp_error *err)
{
  const zp_case_memory *m = ctx;
  const int64_t at = index_in(m, param, tp, ep, what, offset, count);
  for (int64_t i = 0; i < count; i++)
    if (at < 0 || m->seen[at + i] == 0)
      return zp_fail(err, ZP_E_VERDICT, -1,
                     "element %lld of entry %d is loaded and was not saved "
                     "(CKPT-1, CKPT-3)",
                     (long long)(offset + i), (int)param);
  if (count > 0) memcpy(value, m->value + at, (size_t)count * sizeof *value);
  return 0;
}

/* Field by field: there is padding. */
static int same_scaler(const zp_scaler *a, const zp_scaler *b)
{
  return a->dynamic == b->dynamic && a->log2_scale == b->log2_scale && a->log2_min == b->log2_min &&
         a->log2_max == b->log2_max && a->window == b->window && a->hysteresis == b->hysteresis &&
         a->consecutive == b->consecutive && a->iter == b->iter &&
         a->last_overflow == b->last_overflow && a->hysteresis_left == b->hysteresis_left;
}

/* All ranks must say the same. */
static int finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  zp_case_memory *m = ctx;
  const size_t bytes = (size_t)m->cfg->optgroups * sizeof *state->optim;
  if (m->states++ == 0) {
    zp_optim_state *mine = m->state.optim;
    memcpy(mine, state->optim, bytes);
    m->state = *state;
    m->state.optim = mine;
  }
  if (m->state.step == state->step && m->state.groups == state->groups &&
      same_scaler(&m->state.scaler, &state->scaler) &&
      memcmp(m->state.optim, state->optim, bytes) == 0)
    return 0;
  return zp_fail(err, ZP_E_VERDICT, -1,
                 "ranks save different steps, scalers or optimizer states "
                 "(CKPT-1)");
}

static int commit(void *ctx, zp_error *err)
{
  zp_case_memory *m = ctx;
  if (m->states == zp_world(m->cfg)) return m->committed = 1, 0;
  return zp_fail(err, ZP_E_VERDICT, 0, "published after %d of %d ranks' parts (CKPT-2)",
                 (int)m->states, (int)zp_world(m->cfg));
}

static int state_of(void *ctx, zp_train_state *out, zp_error *err)
{
  const zp_case_memory *m = ctx;
  zp_optim_state *theirs = out->optim;
  if (!m->committed || out->groups != m->state.groups)
    return zp_fail(err, ZP_E_VERDICT, -1, "loading what was not published (CKPT-2)");
  memcpy(theirs, m->state.optim, (size_t)out->groups * sizeof *theirs);
  *out = m->state;
  out->optim = theirs;
  return 0;
}

void zp_case_memory_close(zp_case_memory *m)
{
  free(m->at);
  free(m->value);
  free(m->seen);
  free(m->state.optim);
}

int zp_case_memory_open(zp_case_memory *m, const zp_config *cfg)
{
  memset(m, 0, sizeof *m);
  m->cfg = cfg;
  m->at = calloc((size_t)cfg->n_params + 1, sizeof *m->at);
  for (int32_t j = 0; m->at != NULL && j < cfg->n_params; j++) {
    m->at[j] = m->total;
    m->total += cfg->params[j].numel;
  }
  const size_t all = (size_t)(4 * cfg->ep * cfg->tp * m->total) + 1;
  m->value = malloc(all * sizeof *m->value);
  m->seen = calloc(all, 1);
  m->state.optim = calloc((size_t)cfg->optgroups, sizeof *m->state.optim);
  return m->at == NULL || m->value == NULL || m->seen == NULL || m->state.optim == NULL ? -1 : 0;
}

static size_t places(const zp_case_memory *m)
{
  return (size_t)(4 * m->cfg->ep * m->cfg->tp * m->total);
}

void zp_case_memory_clear(zp_case_memory *m)
{
  zp_optim_state *optim = m->state.optim;
  memset(m->seen, 0, places(m));
  m->state = (zp_train_state){.optim = optim};
  m->states = m->committed = 0;
}

zp_store zp_case_memory_store(zp_case_memory *m)
{
  return (zp_store){m, put, finish, commit, get, state_of};
}

/* What was not saved has no value. */
static int same_values(const zp_case_memory *a, const zp_case_memory *b)
{
  for (size_t i = 0; i < places(a); i++)
    if (a->seen[i] && memcmp(&a->value[i], &b->value[i], sizeof *a->value) != 0 &&
        !(isnan(a->value[i]) && isnan(b->value[i])))
      return 0;
  return 1;
}

const char *zp_case_memory_differs(const zp_case_memory *a, const zp_case_memory *b)
{
  if (memcmp(a->seen, b->seen, places(a)) != 0) return "which elements were saved";
  if (!same_values(a, b)) return "the value of a saved element";
  if (a->states != b->states || a->committed != b->committed) return "who saved";
  if (a->state.step != b->state.step || a->state.groups != b->state.groups) return "the saved step";
  if (!same_scaler(&a->state.scaler, &b->state.scaler)) return "the saved scaler";
  if (memcmp(a->state.optim, b->state.optim, (size_t)a->state.groups * sizeof *a->state.optim) != 0)
    return "a saved optimizer state";
  return NULL;
}

int zp_case_reloaded(const zp_case *c, zp_case *to)
{
  const int64_t batch = c->cfg.dp * c->cfg.micro_batches;
  const zp_reload *r = &c->reload;
  const int32_t replicas = r->replicas == 0 ? 1 : r->replicas;
  zp_error err = {0};
  if (r->pp < 1 || r->dp < 1 || batch % r->dp != 0) return 0;
  if (c->synth.mask != NULL && r->dp != c->cfg.dp) return 0; /* masks speak of this dp's ranks */
  if (c->cfg.reduce != ZP_EXACT &&
      (r->dp != c->cfg.dp || r->pp != c->cfg.pp || replicas != c->replicas))
    return 0;
  zp_case_copy(to, c);
  to->cfg.pp = r->pp;
  to->cfg.dp = r->dp;
  to->cfg.micro_batches = batch / r->dp;
  to->cfg.stage = r->stage;
  to->cfg.bucket = r->bucket;
  to->replicas = replicas;
  to->entry_align = 1;
  to->slots = 0;
  for (int32_t j = 0; j < to->cfg.n_params && r->pp != c->cfg.pp; j++)
    to->params[j].stage = (int32_t)((int64_t)j * r->pp / to->cfg.n_params);
  return zp_case_check(to, &err) == 0;
}

static int run_phase(zp_sim *sim, int32_t phase, zp_store *store, zp_error *err)
{
  int status;
  for (int32_t r = 0; r < zp_sim_world(sim); r++) zp_sim_rank(sim, r)->store = store;
  status = zp_sim_run(sim, phase, err);
  for (int32_t r = 0; r < zp_sim_world(sim); r++) zp_sim_rank(sim, r)->store = NULL;
  return status;
}

int zp_case_reload(zp_case_state *s, zp_case *other, const zp_hyper *hyper, const zp_workload *work,
                   zp_error *err)
{
  zp_case_memory m;
  zp_store store = zp_case_memory_store(&m);
  zp_synth *synth = work->ctx;
  int status = zp_case_memory_open(&m, &s->c->cfg);
  if (status != 0) status = zp_fail(err, ZP_E_MEMORY, -1, "no memory for a checkpoint");
  else status = run_phase(s->sim, ZP_PHASE_SAVE, &store, err);
  synth->opt.first++; /* what is not loaded keeps a value that serial does not have */
  if (status == 0) {
    zp_sim *next = zp_sim_open(&other->cfg, hyper, work, err);
    status = next == NULL ? err->status : zp_sim_run(next, ZP_PHASE_INIT, err);
    if (next != NULL) {
      if (s->loading != NULL) zp_sim_hook(next, s->loading);
      zp_sim_close(s->sim);
      s->sim = next;
      s->c = other;
    }
  }
  if (status == 0) status = run_phase(s->sim, ZP_PHASE_LOAD, &store, err);
  zp_case_memory_close(&m);
  if (status == 0) s->v->reloaded = 1;
  return status;
}
