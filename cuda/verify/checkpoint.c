/* Checkpoints: ref's and the engine's in memory, and the engine's also in the caller's store, once
 * it equals ref's. spec: CKPT-1, CKPT-2, CKPT-3, CKPT-5 */
#include <string.h>

#include "state.h"

/* ---- Ref ------------------------------------------------------------------------------------- */

static int run_phase(zp_diff *t, int32_t phase, zp_store *store, zp_error *err)
{
  int status;
  for (int32_t r = 0; r < t->world; r++) zp_sim_rank(t->ref.sim, r)->store = store;
  status = zp_sim_run(t->ref.sim, phase, err);
  for (int32_t r = 0; r < t->world; r++) zp_sim_rank(t->ref.sim, r)->store = NULL;
  return status;
}

int zp_ref_run_load(zp_diff *t, zp_error *err)
{
  const int status = run_phase(t, ZP_PHASE_LOAD, t->storage.load, err);
  t->base = zp_sim_rank(t->ref.sim, 0)->step;
  return status;
}

int zp_ref_run_save(zp_diff *t, zp_error *err)
{
  zp_store store = zp_case_memory_store(&t->saved[0]);
  return run_phase(t, ZP_PHASE_SAVE, &store, err);
}

/* ---- The engine ------------------------------------------------------------------------------ */

/* One rank's store: memory and, if `also` has functions, a second one. */
typedef struct two_stores {
  zp_diff *t;
  zp_store memory, also;
} two_stores;

static int put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, const float *value, zp_error *err)
{
  const two_stores *b = ctx;
  const zp_store *m = &b->memory, *f = &b->also;
  if (m->put(m->ctx, param, tp, ep, what, offset, count, value, err)) return err->status;
  return f->put ? f->put(f->ctx, param, tp, ep, what, offset, count, value, err) : 0;
}

/* All ranks share the memory. They put different elements, and finished ranks are counted. */
static int finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  const two_stores *b = ctx;
  int status;
  if (simdev_lock(&b->t->saved[1])) return zp_fail(err, ZP_E_PEER, -1, "the run has ended");
  status = b->memory.finish(b->memory.ctx, state, err);
  simdev_unlock(&b->t->saved[1]);
  if (status) return status;
  return b->also.finish ? b->also.finish(b->also.ctx, state, err) : 0;
}

/* A checkpoint that differs from ref's is not published. */
static int commit(void *ctx, zp_error *err)
{
  const two_stores *b = ctx;
  const char *differs = NULL;
  int status;
  if (simdev_lock(&b->t->saved[1])) return zp_fail(err, ZP_E_PEER, -1, "the run has ended");
  status = b->memory.commit(b->memory.ctx, err);
  if (!status) differs = zp_case_memory_differs(&b->t->saved[0], &b->t->saved[1]);
  simdev_unlock(&b->t->saved[1]);
  if (status) return status;
  if (differs) return zp_fail(err, ZP_E_VERDICT, 0, "%s differs from ref", differs);
  return b->also.commit ? b->also.commit(b->also.ctx, err) : 0;
}

static int finish_observed(void *ctx, const zp_train_state *s, zp_error *err)
{
  const zp_store *to = ctx;
  int status;
  if (simdev_lock(to)) return zp_fail(err, ZP_E_PEER, -1, "the run has ended");
  status = to->finish(to->ctx, s, err);
  simdev_unlock(to);
  return status;
}

static int put_observed(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what,
                        int64_t offset, int64_t count, const float *value, zp_error *err)
{
  const zp_store *to = ctx;
  return to->put(to->ctx, param, tp, ep, what, offset, count, value, err);
}

static int commit_observed(void *ctx, zp_error *err)
{
  const zp_store *to = ctx;
  return to->commit(to->ctx, err);
}

/* The store's error has precedence over its consequences. */
static int save_to(zp_diff_rank *w, zp_store *store)
{
  const int status = zp_cuda_save(w->e, store);
  const zp_error *why = zp_cuda_why(w->e);
  if (status == ZP_E_FILE)
    zp_diff_fail(w->t, "CKPT-1", "rank %d: the checkpoint: %s", w->rank, why->text);
  return status;
}

int zp_diff_save(zp_diff_rank *w)
{
  const zp_diff_storage *s = &w->t->storage;
  two_stores both = {.t = w->t, .memory = zp_case_memory_store(&w->t->saved[1])};
  zp_store store = {&both, put, finish, commit, NULL, NULL};
  zp_error err = {0};
  int status = 0;
  simdev_tag(0); /* not work of a step */
  if (s->open && s->open(s->ctx, w->rank, w->t->base + w->t->steps, &both.also, &err)) {
    status = __LINE__;
    zp_diff_fail(w->t, "store", "rank %d: %s", w->rank, err.text);
  }
  if (!status) status = save_to(w, &store);
  if (s->open) s->close(s->ctx, w->rank);
  return status;
}

int zp_diff_save_observed(zp_diff_rank *w)
{
  zp_store store = {w->t->watch.report->save, put_observed, finish_observed,
                    commit_observed,          NULL,         NULL};
  simdev_tag(0);
  return save_to(w, &store);
}

/* The reader has one file open at a time. */
static int get(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, float *value, zp_error *err)
{
  const zp_store *load = ctx;
  if (simdev_lock(load)) return zp_fail(err, ZP_E_PEER, -1, "the run has ended");
  const int status = load->get(load->ctx, param, tp, ep, what, offset, count, value, err);
  simdev_unlock(load);
  return status;
}

static int state(void *ctx, zp_train_state *out, zp_error *err)
{
  const zp_store *load = ctx;
  return load->state(load->ctx, out, err);
}

/* All ranks share one reader: ranks that are threads lock it; others run one at a time anyway. */
int zp_diff_load(zp_diff_rank *w)
{
  zp_store turns = {.ctx = w->t->storage.load, .get = get, .state = state};
  return zp_cuda_load(w->e, zp_ranks_as == ZP_RANKS_THREADS ? &turns : w->t->storage.load);
}
