/* The reference as a library: engine.h over the interpreter, and MPI or the caller's transport.
 * spec: STEP-1, STEP-2, STEP-9, STEP-11, LEDG-1, CKPT-1, CKPT-6, CKPT-8 */
#include <stdlib.h>
#include <string.h>

#include "../engine/cursor.h"
#include "../engine/held.h"
#include "../engine/rank_query.h"
#include "engine_state.h"

/* ---- Opening --------------------------------------------------------------------------------- */

static int no_memory(zp_engine *e)
{
  return zp_fail(&e->err, ZP_E_MEMORY, e->o.rank, "rank %d: not enough memory for its gradients",
                 (int)e->o.rank);
}

/* Joins the job of which the options speak. */
static int join(zp_engine *e)
{
  const double deadline_s = e->o.deadline_s > 0 ? e->o.deadline_s : zp_mpi_deadline();
  if (e->o.world == 1) return ZP_OK;
  if (e->o.transport)
    return zp_calls_start(&e->calls, e->o.transport, e->o.rank, e->o.world, &e->err);
  if (!zp_mpi_present())
    return zp_fail(&e->err, ZP_E_REFUSED, e->o.rank,
                   "rank %d: options.world is %d, and this process was not started by Open MPI's "
                   "mpirun: ranks of the reference are processes of one such job",
                   (int)e->o.rank, (int)e->o.world);
  if (zp_mpi_start(&e->mpi, deadline_s, &e->err)) return e->err.status;
  if (zp_mpi_rank(e->mpi) == e->o.rank && zp_mpi_size(e->mpi) == e->o.world) return ZP_OK;
  return zp_fail(&e->err, ZP_E_REFUSED, e->o.rank,
                 "options say rank %d of %d, and MPI says rank %d of %d: take both from the "
                 "environment with zp_job_read",
                 (int)e->o.rank, (int)e->o.world, (int)zp_mpi_rank(e->mpi),
                 (int)zp_mpi_size(e->mpi));
}

/* MPI or the transport gives all ranks what rank 0 has. */
static int exchange(void *ctx, int32_t rank, void *bytes, size_t n)
{
  zp_engine *e = ctx;
  (void)rank;
  if (e->calls) return zp_calls_broadcast_bytes(e->calls, bytes, (int64_t)n, &e->err);
  return zp_mpi_broadcast_bytes(e->mpi, bytes, (int64_t)n, &e->err);
}

/* The options with that exchange. */
static zp_engine_options with_exchange(zp_engine *e)
{
  zp_engine_options o = e->o;
  o.exchange = exchange;
  o.exchange_ctx = e;
  return o;
}

static int agree(zp_engine *e)
{
  const zp_engine_options o = with_exchange(e);
  return zp_engine_agree(&o, &e->saving.word, &e->err);
}

static int open_arrays(zp_engine *e)
{
  const zp_config *c = e->o.config;
  const zp_layout *lay = &e->rank->lay;
  int64_t bytes;
  e->rows = e->o.backward || e->o.gradual ? 1 : c->micro_batches;
  e->at = calloc((size_t)lay->n_params + 1, sizeof *e->at);
  if (!e->at) return no_memory(e);
  for (int32_t i = 0; i < lay->n_params; i++) {
    const zp_param *p = &c->params[lay->first_param + i];
    const int64_t size = zp_dtype_bytes(zp_block_gradients(&e->rank->block, p->fp32));
    e->at[i] = e->row_bytes;
    if (p->frozen) continue;
    e->trained++;
    e->row_bytes += (p->numel * size + 7) / 8 * 8; /* in all below 2^43 */
  }
  if (__builtin_mul_overflow(e->row_bytes, e->rows, &bytes)) return no_memory(e);
  e->kept = malloc((size_t)bytes + 1);
  e->arrival = malloc((size_t)(e->rows * lay->n_params) + 1);
  e->unused = malloc((size_t)e->rank->act_slots * ((size_t)lay->n_params + 1));
  e->loss = malloc((size_t)c->micro_batches * sizeof *e->loss);
  e->awaited = malloc((size_t)lay->n_params + 1);
  e->saving.names = zp_engine_names(&e->o);
  if (!e->kept || !e->arrival || !e->unused || !e->loss || !e->awaited || !e->saving.names)
    return no_memory(e);
  zp_engine_begin(e);
  return ZP_OK;
}

static void after_op(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_engine *e = ctx;
  if (zp_op_communicates(op)) e->o.issued(e->o.ctx, r->cursor.phase, op);
}

static int open_engine(zp_engine *e)
{
  if (join(e) || agree(e)) return e->err.status;
  e->work = zp_engine_workload(e);
  e->rank = zp_rank_open(e->o.config, &e->o.hyper, &e->work, e->o.rank, &e->err);
  if (!e->rank || open_arrays(e)) return e->err.status;
  e->rank->unsaved = &e->undone;
  e->hook = (zp_hook){e, NULL, after_op};
  if (e->o.issued) e->rank->hook = &e->hook;
  return zp_engine_run(e, ZP_PHASE_INIT);
}

/* The status of an engine at entry and exit of a public function. */
static int check(zp_engine *e, const char *function)
{
  pthread_mutex_lock(&e->lock);
  if (e->err.status == ZP_OK) (void)zp_engine_invariant(e);
  if (e->err.status == ZP_OK) zp_engine_may_call(&e->o, e->inside, function, &e->err);
  pthread_mutex_unlock(&e->lock);
  return e->err.status;
}

int zp_engine_create(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  zp_engine *e;
  if (!out || !err) return ZP_E_REFUSED;
  memset(err, 0, sizeof *err);
  *out = NULL;
  e = calloc(1, sizeof *e);
  if (!e) return zp_fail(err, ZP_E_MEMORY, -1, "no memory for an engine");
  pthread_mutex_init(&e->lock, NULL);
  *out = e;
  if (zp_engine_take(&e->o, options, &e->err) || open_engine(e) || check(e, "zp_engine_create"))
    *err = e->err;
  return err->status;
}

/* ---- Running --------------------------------------------------------------------------------- */

int zp_engine_step(zp_engine *e, void *stream)
{
  (void)stream;
  if (!e) return ZP_E_REFUSED;
  if (check(e, "zp_engine_step")) return e->err.status;
  if (!e->o.backward && zp_engine_check_awaited(e)) return e->err.status;
  e->rank->limit = 0;
  if (zp_engine_run(e, e->midway ? ZP_PHASE_PAUSED : ZP_PHASE_STEP)) return e->err.status;
  zp_engine_begin(e);
  return check(e, "zp_engine_step");
}

void *zp_engine_param(const zp_engine *e, int32_t param)
{
  const int32_t i = e && e->rank ? param - e->rank->lay.first_param : -1;
  return i < 0 || i >= e->rank->lay.n_params ? NULL : e->rank->param[i];
}

const int32_t *zp_engine_log2_scale(const zp_engine *e)
{
  return e && e->rank ? &e->rank->scaler.log2_scale : NULL;
}

int zp_engine_get(zp_engine *e, zp_engine_state *state)
{
  const size_t size = state ? state->size : 0;
  zp_engine_state s = {.size = size};
  const zp_step_result *r;
  if (!e) return ZP_E_REFUSED;
  if (check(e, "zp_engine_get")) return e->err.status;
  if (zp_engine_state_size(&e->o, size, &e->err)) return e->err.status;
  r = &e->rank->result;
  s.step = e->rank->step;
  memcpy(&s.norm, &r->norm_f64, sizeof s.norm);
  memcpy(&s.loss, &r->loss, sizeof s.loss);
  s.clip = r->clip_factor;
  s.skipped = r->skipped;
  s.scale = zp_engine_scale(e->rank->scaler.log2_scale);
  memcpy(s.ledger, e->rank->ledger, sizeof s.ledger);
  memcpy(state, &s, size < sizeof s ? size : sizeof s);
  return ZP_OK;
}

int zp_engine_get_hyper(const zp_engine *e, zp_hyper *hyper)
{
  if (!e || !hyper || !e->rank) return ZP_E_REFUSED;
  *hyper = e->o.hyper;
  return ZP_OK;
}

int zp_engine_set_hyper(zp_engine *e, const zp_hyper *hyper)
{
  if (!e || !hyper) return ZP_E_REFUSED;
  if (check(e, "zp_engine_set_hyper")) return e->err.status;
  memset(&e->undone, 0, sizeof e->undone);
  if (zp_hyper_check_change(&e->o.hyper, hyper, e->o.rank, &e->undone)) return e->undone.status;
  e->o.hyper = *hyper; /* the interpreter reads it */
  return ZP_OK;
}

/* Has the step to come begun: is a gradient or a loss announced for it, or memory asked for? */
static int announced(const zp_engine *e)
{
  return !e->o.backward && e->begun;
}

/* ---- State of entries ------------------------------------------------------------------------ */

int zp_engine_held(const zp_engine *e, int32_t param, int64_t from, int64_t *offset, int64_t *count)
{
  zp_held run;
  if (!e || !e->rank || !offset || !count) return ZP_E_REFUSED;
  if (param < 0 || param >= e->o.config->n_params || from < 0) return ZP_E_REFUSED;
  run = zp_held_from(e->o.config, &e->rank->block, &e->rank->lay, param, from);
  *offset = run.offset;
  *count = run.count;
  return ZP_OK;
}

/* 0 if the request can be served, or a negative status. */
static int check_state(zp_engine *e, zp_held_request q)
{
  const zp_rank *r;
  if (!e) return ZP_E_REFUSED;
  if (check(e, q.function)) return e->err.status;
  r = e->rank;
  q.announced = announced(e);
  memset(&e->undone, 0, sizeof e->undone);
  return zp_held_check(e->o.config, &r->block, &r->lay, &q, r->rank, &e->undone);
}

/* Where the request's first elements are, and in *n how many of them. */
static float *held_at(const zp_engine *e, int32_t param, int32_t state, int64_t offset,
                      int64_t count, int64_t *n)
{
  const zp_rank *r = e->rank;
  const zp_held run = zp_held_from(e->o.config, &r->block, &r->lay, param, offset);
  *n = run.count < count ? run.count : count;
  return zp_state_of(r, run.flat, state) + run.at;
}

int zp_engine_read_state(zp_engine *e, int32_t param, int32_t state, int64_t offset, int64_t count,
                         float *out)
{
  int64_t n;
  const int status = check_state(
      e, (zp_held_request){"zp_engine_read_state", param, state, offset, count, out, 0});
  for (; status == 0 && count > 0; count -= n, offset += n, out += n) {
    const float *from = held_at(e, param, state, offset, count, &n);
    memcpy(out, from, (size_t)n * sizeof *out);
  }
  return status;
}

int zp_engine_write_state(zp_engine *e, int32_t param, int32_t state, int64_t offset, int64_t count,
                          const float *in)
{
  int64_t n;
  const int status = check_state(
      e, (zp_held_request){"zp_engine_write_state", param, state, offset, count, in, 0});
  for (; status == 0 && count > 0; count -= n, offset += n, in += n) {
    float *to = held_at(e, param, state, offset, count, &n);
    memcpy(to, in, (size_t)n * sizeof *in);
  }
  return status;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

static void run_with(zp_engine *e, int32_t phase, zp_store *store)
{
  memset(&e->undone, 0, sizeof e->undone);
  e->rank->store = store;
  zp_engine_run(e, phase);
  e->rank->store = NULL;
}

/* Publishes the background save, if one is under way. function: what the program called. */
static int end_save(zp_engine *e, const char *function)
{
  if (check(e, function)) return e->err.status;
  if (!zp_engine_is_saving(&e->saving)) return ZP_OK;
  if (zp_engine_between(&e->o, ".", announced(e), &e->err)) return e->err.status;
  run_with(e, ZP_PHASE_SEAL, zp_engine_seal(&e->saving));
  zp_engine_sealed(&e->saving);
  return check(e, function) ? e->err.status : zp_engine_why(e)->status;
}

int zp_engine_save(zp_engine *e, const char *dir)
{
  zp_engine_store s;
  if (!e) return ZP_E_REFUSED;
  if (end_save(e, "zp_engine_save")) return zp_engine_why(e)->status;
  if (check(e, "zp_engine_save") || zp_engine_between(&e->o, dir, announced(e), &e->err))
    return e->err.status;
  run_with(e, ZP_PHASE_SAVE, zp_engine_open_save(&s, &e->o, &e->saving, dir, e->rank->step));
  zp_engine_close_store(&s);
  return check(e, "zp_engine_save") ? e->err.status : zp_engine_why(e)->status;
}

int zp_engine_save_begin(zp_engine *e, const char *dir)
{
  if (!e) return ZP_E_REFUSED;
  if (end_save(e, "zp_engine_save_begin")) return zp_engine_why(e)->status;
  if (check(e, "zp_engine_save_begin") || zp_engine_between(&e->o, dir, announced(e), &e->err))
    return e->err.status;
  run_with(e, ZP_PHASE_SAVE, zp_engine_copy(&e->o, &e->saving, dir, e->rank->step));
  zp_engine_copied(&e->saving, zp_engine_why(e)->status);
  return check(e, "zp_engine_save_begin") ? e->err.status : zp_engine_why(e)->status;
}

int zp_engine_save_end(zp_engine *e)
{
  return e ? end_save(e, "zp_engine_save_end") : ZP_E_REFUSED;
}

int zp_engine_save_written(const zp_engine *e)
{
  return !e || zp_engine_has_written(&e->saving);
}

/* No rank reads values before all have found rank 0's checkpoint: the parameters of a load that is
 * refused are unchanged. Another failure is LOAD's to report. CKPT-6, CKPT-8 */
static int same_checkpoint(zp_engine *e, const zp_error *why)
{
  if (e->err.status) return e->err.status; /* the exchange failed */
  if (why->status == ZP_E_MISMATCH) e->err = *why;
  else if (e->mpi) (void)zp_mpi_barrier(e->mpi, &e->err);
  else if (e->calls) (void)zp_calls_barrier(e->calls, &e->err);
  return e->err.status;
}

int zp_engine_load(zp_engine *e, const char *dir)
{
  zp_engine_store s;
  zp_engine_options o;
  zp_store *store;
  if (!e) return ZP_E_REFUSED;
  if (end_save(e, "zp_engine_load")) return zp_engine_why(e)->status;
  if (check(e, "zp_engine_load") || zp_engine_between(&e->o, dir, announced(e), &e->err))
    return e->err.status;
  o = with_exchange(e);
  store = zp_engine_open_load(&s, &o, &e->saving, dir);
  if (same_checkpoint(e, &s.why) == 0) run_with(e, ZP_PHASE_LOAD, store);
  if (e->err.status == ZP_OK) e->o.hyper = s.hyper;
  zp_engine_close_store(&s);
  return check(e, "zp_engine_load");
}

/* ---- Ending ---------------------------------------------------------------------------------- */

const zp_error *zp_engine_why(const zp_engine *e)
{
  if (!e) return NULL;
  return e->err.status == ZP_OK && e->undone.status ? &e->undone : &e->err;
}

int zp_engine_leave(zp_engine *e)
{
  if (check(e, "zp_engine_leave") || !e->calls || zp_calls_stop(e->calls, &e->err))
    return e->err.status;
  e->calls = NULL;
  return ZP_OK;
}

int zp_engine_destroy(zp_engine *e, zp_error *err)
{
  int status;
  if (!e) return ZP_OK;
  if (e->inside) { /* the step that runs would use freed memory: it ends with this error */
    status = check(e, "zp_engine_destroy");
    if (err) *err = e->err;
    return status;
  }
  if (e->mpi && e->err.status == ZP_OK) zp_mpi_stop(e->mpi, &e->err);
  if (e->calls && e->err.status == ZP_OK) zp_calls_stop(e->calls, &e->err);
  status = e->err.status;
  if (err) *err = e->err;
  if (e->mpi && status != ZP_OK) zp_mpi_abandon(e->mpi, &e->err);
  if (e->calls && status != ZP_OK) zp_calls_abandon(e->calls, &e->err);
  if ((e->mpi || e->calls) && status != ZP_OK)
    return status; /* messages under way may touch what this rank has */
  zp_rank_close(e->rank);
  pthread_mutex_destroy(&e->lock);
  zp_engine_close_saving(&e->saving);
  free(e->kept);
  free(e->at);
  free(e->arrival);
  free(e->unused);
  free(e->loss);
  free(e->awaited);
  free(e);
  return status;
}
