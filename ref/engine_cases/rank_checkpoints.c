/* Saves and loads between steps. spec: CKPT-1, CKPT-5, CKPT-6, CKPT-10, CKPT-11, STEP-11 */
#include "rank_state.h"

enum { DRAW_SAVE = 30 };

/* The hyperparameters of the checkpoint replace these. CKPT-10 */
static zp_hyper other_hyper(const zp_rank_job *r)
{
  zp_hyper h = r->hyper;
  h.optim[0].lr = h.optim[0].lr / 2 + 0.125;
  h.clip = 0.75;
  return h;
}

/* Overwrites masters, moments and hyperparameters, which the load has to restore. */
static int spoil(zp_rank_job *r)
{
  static const int32_t states[] = {ZP_WHAT_MASTER, ZP_WHAT_MOMENT1, ZP_WHAT_MOMENT2};
  const zp_hyper other = other_hyper(r);
  int64_t offset, n;
  if (zp_engine_set_hyper(r->e, &other)) return 1;
  for (int32_t j = 0; j < r->c->cfg.n_params; j++)
    for (int64_t from = 0; zp_engine_held(r->e, j, from, &offset, &n) == 0 && n > 0;
         from = offset + n) {
      for (int64_t i = 0; i < n; i++) r->read[i] = 0.5f;
      for (int32_t k = 0; k < 3; k++)
        if (zp_engine_write_state(r->e, j, states[k], offset, n, r->read)) return 1;
      for (int32_t k = 0; k < 3; k++) {
        if (zp_engine_read_state(r->e, j, states[k], offset, n, r->read)) return 1;
        for (int64_t i = 0; i < n; i++)
          if (r->read[i] != 0.5f)
            return zp_rank_found(r, "STEP-11", "entry %d: what was written is not read", (int)j);
      }
    }
  return 0;
}

static int compare_hyper(zp_rank_job *r)
{
  const zp_hyper *want = &r->hyper;
  zp_hyper h;
  int same = zp_engine_get_hyper(r->e, &h) == 0 && h.groups == want->groups &&
             h.clip == want->clip && h.clip_eps == want->clip_eps;
  for (int32_t g = 0; same && g < want->groups; g++)
    for (int32_t i = 0; i < ZP_OPTIM_FIELDS; i++)
      same &= zp_optim_value(&h.optim[g], &zp_optim_fields[i]) ==
              zp_optim_value(&want->optim[g], &zp_optim_fields[i]);
  if (same) return 0;
  return zp_rank_found(r, "CKPT-10", "after a load: the hyperparameters are not the checkpoint's");
}

/* Another engine, with first values that the load replaces. MPI cannot be started again. */
static int create_again(zp_rank_job *r)
{
  if (zp_engine_destroy(r->e, &r->err)) return 1;
  r->e = NULL;
  const zp_hyper other = other_hyper(r);
  return zp_rank_create(r, &other);
}

/* After a save: into this engine, whose state is overwritten before, or into another one. */
static int load(zp_rank_job *r, int32_t again)
{
  if (again ? create_again(r) : spoil(r))
    return zp_rank_found(r, "CKPT-5", "before a load: %.700s",
                         r->e ? zp_engine_why(r->e)->text : r->err.text);
  if (r->fault != ZP_RANK_FAULT_LOAD && zp_engine_load(r->e, r->o->folder))
    return zp_rank_found(r, "CKPT-5", "zp_engine_load: %.700s", zp_engine_why(r->e)->text);
  r->found->seen.reloaded = 1;
  zp_engine_state s = {.size = sizeof s};
  if (zp_engine_get(r->e, &s) || s.step != r->ref->step)
    return zp_rank_found(r, "CKPT-5", "after a load: got step %lld, expected %lld",
                         (long long)s.step, (long long)r->ref->step);
  return compare_hyper(r);
}

/* ---- In the background ----------------------------------------------------------------------- */

static int save_failed(zp_rank_job *r, const char *function)
{
  return zp_rank_found(r, "CKPT-1", "%s: %s", function, zp_engine_why(r->e)->text);
}

static int begin_save(zp_rank_job *r)
{
  if (zp_engine_save_begin(r->e, "/dev/null/no") == 0 && zp_engine_save_end(r->e) == 0)
    return zp_rank_found(r, "CKPT-6", "a save in the background below /dev/null succeeded");
  if (zp_engine_save_begin(r->e, r->o->folder)) return save_failed(r, "zp_engine_save_begin");
  r->saving = r->ref->step;
  return 0;
}

/* The save has the state of the step in which it began, to which this load returns. */
static int load_saved(zp_rank_job *r)
{
  const zp_rank_device *d = &r->o->device;
  zp_engine_state s = {.size = sizeof s};
  const int64_t saved = r->saving;
  int failed = 0;
  r->saving = 0;
  r->returned = 1;
  for (int32_t k = 0; k < r->memory.streams; k++) failed |= d->wait(d->ctx, r->memory.stream[k]);
  if (failed || spoil(r) || zp_rank_return_to(r, saved))
    return zp_rank_found(r, "CKPT-11", "before a load: %.700s", r->err.text);
  if (zp_engine_load(r->e, r->o->folder))
    return zp_rank_found(r, "CKPT-11", "zp_engine_load: %.700s", zp_engine_why(r->e)->text);
  r->found->seen.reloaded = 1;
  if (zp_engine_get(r->e, &s) || s.step != saved)
    return zp_rank_found(r, "CKPT-11",
                         "after a save in the background: got step %lld, expected %lld",
                         (long long)s.step, (long long)saved);
  return compare_hyper(r);
}

/* A save is under way: ends it, or lets a load end it. */
static int end_save(zp_rank_job *r)
{
  const int32_t loads = zp_rank_draw(r, -1, DRAW_SAVE + 1, r->step, 2);
  if (loads && r->fault != ZP_RANK_FAULT_LOAD) return load_saved(r);
  (void)zp_engine_save_written(r->e);
  if (zp_engine_save_end(r->e)) return save_failed(r, "zp_engine_save_end");
  r->saving = 0;
  return 0;
}

/* ---- After a step ---------------------------------------------------------------------------- */

/* Saves; a save that fails leaves all as it was; and loads into this engine or another one. */
static int checkpoint(zp_rank_job *r, int32_t what)
{
  if (what >= 5) return begin_save(r);
  if (what == 1 && zp_engine_save(r->e, "/dev/null/no") == 0)
    return zp_rank_found(r, "CKPT-6", "a save below /dev/null succeeded");
  if (what == 1) return 0;
  if (zp_engine_save(r->e, r->o->folder)) return save_failed(r, "zp_engine_save");
  if (what == 2) return 0;
  return load(r, what == 4 && (r->o->device.can_create_again || zp_world(&r->c->cfg) == 1));
}

int zp_rank_checkpoint(zp_rank_job *r)
{
  const int32_t what = zp_rank_draw(r, -1, DRAW_SAVE, r->step, 7), ends = r->saving != 0;
  zp_engine_state s = {.size = sizeof s};
  if (!ends && (what == 0 || (what >= 5 && r->returned))) return 0;
  if (ends ? end_save(r) : checkpoint(r, what)) return 1;
  if (zp_engine_get(r->e, &s))
    return zp_rank_found(r, "STEP-9", "zp_engine_get: %s", zp_engine_why(r->e)->text);
  if (r->fault != ZP_RANK_FAULT_LEDGER) zp_rank_follow_ledger(r, &s);
  return !ends && what == 1 ? zp_rank_compare(r) : 0;
}
