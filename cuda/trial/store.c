/* Checkpoints of a trial: ref's and the twin's in memory, and the twin's also where it is asked for,
 * once it is known to equal ref's. spec: CKPT-1, CKPT-2, CKPT-3, CKPT-5 */
#include <string.h>

#include "trial_internal.h"

/* ---- Ref ------------------------------------------------------------------------------------- */

static int run_phase(zp_trial *t, int32_t phase, zp_store *store, zp_error *err)
{
  int status;
  for (int32_t r = 0; r < t->world; r++) zp_sim_rank(t->ref, r)->store = store;
  status = zp_sim_run(t->ref, phase, err);
  for (int32_t r = 0; r < t->world; r++) zp_sim_rank(t->ref, r)->store = NULL;
  return status;
}

int zp_trial_ref_load(zp_trial *t, zp_error *err)
{
  const int status = run_phase(t, ZP_PHASE_LOAD, t->storage.load, err);
  t->base = zp_sim_rank(t->ref, 0)->step;
  return status;
}

int zp_trial_ref_save(zp_trial *t, zp_error *err)
{
  zp_store store = zp_case_memory_store(&t->saved[0]);
  return run_phase(t, ZP_PHASE_SAVE, &store, err);
}

/* ---- The twin -------------------------------------------------------------------------------- */

/* One rank's way into memory and, where `also` has functions, into that. */
typedef struct twofold {
  zp_trial *t;
  zp_store memory, also;
} twofold;

static int put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, const float *value, zp_error *err)
{
  const twofold *b = ctx;
  const zp_store *m = &b->memory, *f = &b->also;
  if (m->put(m->ctx, param, tp, ep, what, offset, count, value, err)) return err->status;
  return f->put ? f->put(f->ctx, param, tp, ep, what, offset, count, value, err) : 0;
}

/* The memory is all ranks'; what they put is apart, and who has finished is counted. */
static int finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  const twofold *b = ctx;
  int status;
  if (simdev_lock(&b->t->saved[1])) return zp_fail(err, ZP_E_PEER, -1, "the run has ended");
  status = b->memory.finish(b->memory.ctx, state, err);
  simdev_unlock(&b->t->saved[1]);
  if (status) return status;
  return b->also.finish ? b->also.finish(b->also.ctx, state, err) : 0;
}

/* What differs from ref's is not published. */
static int commit(void *ctx, zp_error *err)
{
  const twofold *b = ctx;
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

/* What the store said comes before what follows from it. */
static int save_to(zp_trial_worker *w, zp_store *store)
{
  const int status = zp_cuda_save(w->e, store);
  const zp_cuda_error *why = zp_cuda_why(w->e);
  if (status == ZP_CUDA_E_STORE)
    zp_trial_differs(w->t, "CKPT-1", "rank %d: the checkpoint: %s", w->rank, why->text);
  return status;
}

int zp_trial_save(zp_trial_worker *w)
{
  const zp_trial_storage *s = &w->t->storage;
  twofold both = {.t = w->t, .memory = zp_case_memory_store(&w->t->saved[1])};
  zp_store store = {&both, put, finish, commit, NULL, NULL};
  zp_error err = {0};
  int status = 0;
  simdev_tag(0); /* no work of a step's */
  if (s->open && s->open(s->ctx, w->rank, w->t->base + w->t->steps, &both.also, &err)) {
    status = __LINE__;
    zp_trial_differs(w->t, "store", "rank %d: %s", w->rank, err.text);
  }
  if (!status) status = save_to(w, &store);
  if (s->open) s->close(s->ctx, w->rank);
  return status;
}

/* A reader has one file open at a time. */
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

/* All ranks have one reader: those that are threads take turns, others do anyway. */
int zp_trial_load(zp_trial_worker *w)
{
  zp_store turns = {.ctx = w->t->storage.load, .get = get, .state = state};
  return zp_cuda_load(w->e, zp_trial_ranks == ZP_TRIAL_THREADS ? &turns : w->t->storage.load);
}
