/* The CUDA engine as the public functions of ref/engine/engine.h. */
#include "api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/engine_parts.h"
#include "../../ref/engine/held.h"
#include "comm/host_channel.h"
#include "inspect.h"

struct zp_engine {
  zp_engine_options o;
  zp_cuda *c;           /* NULL: not made; err says why */
  zp_error err, undone; /* undone: of the last call that failed without ending the engine */
  zp_engine_saving saving;
  zp_alarm_line *line; /* to the other ranks; NULL: none, or the simulation's */
  zp_ledger_sum ledger[ZP_ALL_GROUPS];
  int32_t inside; /* callbacks of the options that run now */
  /* The `issued` callback runs under the engine's lock: a call from within it is refused without
   * the lock, and is the engine's error when the step, or what else runs, returns. */
  int32_t in_issued;
  pthread_t issuer;
  zp_error nested;
};

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Copies the rank's first error, from whichever thread; returns its status. A failed save has an
 * error of its own. */
static int copy_error(zp_engine *e)
{
  const zp_error *why = zp_cuda_first_error(e->c);
  if (why->status) zp_fail(&e->err, why->status, e->o.rank, "%s", why->text);
  return e->err.status;
}

/* An error of this file. */
static int refuse(zp_engine *e, const zp_error *why)
{
  zp_cuda_refuse(e->c, why->text);
  return copy_error(e);
}

static int result(zp_engine *e, int failed)
{
  if (!failed && e->nested.status && !e->inside) return refuse(e, &e->nested);
  return failed ? copy_error(e) : ZP_OK;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static int first_values(void *ctx, int32_t param, void *data, cudaStream_t stream)
{
  const zp_engine *e = ctx;
  const zp_config *c = e->o.config;
  const size_t n = (size_t)(c->params[param].numel * zp_dtype_bytes(zp_entry_dtype(c, param)));
  if (!e->o.first || !e->o.first[param]) return cudaMemsetAsync(data, 0, n, stream) != cudaSuccess;
  return cudaMemcpyAsync(data, e->o.first[param], n, cudaMemcpyDefault, stream) != cudaSuccess;
}

static zp_engine_call call_of(const zp_cuda_call *c)
{
  return (zp_engine_call){c->step, c->mb, c->slot, c->stream, c->in, c->out, c->loss};
}

static int forward(void *ctx, const zp_cuda_call *c)
{
  zp_engine *e = ctx;
  const zp_engine_call call = call_of(c);
  e->inside++;
  const int failed = e->o.forward(e->o.ctx, &call);
  e->inside--;
  return failed;
}

static int backward(void *ctx, const zp_cuda_call *c)
{
  zp_engine *e = ctx;
  const zp_engine_call call = call_of(c);
  e->inside++;
  const int failed = e->o.backward(e->o.ctx, &call);
  e->inside--;
  return failed;
}

/* The CUDA engine checks the description. */
static int shape(void *ctx, const zp_cuda_call *c, zp_message *out)
{
  zp_engine *e = ctx;
  e->inside++;
  const int failed = e->o.shape(e->o.ctx, c->step, c->mb, out);
  e->inside--;
  return failed ? -1 : 0;
}

static void issued(void *ctx, int32_t phase, const zp_op *op)
{
  zp_engine *e = ctx;
  zp_ledger_record(&e->ledger[op->group], op, zp_cuda_sent_bytes(e->c, op));
  if (!e->o.issued) return;
  e->inside++;
  e->issuer = pthread_self();
  __atomic_store_n(&e->in_issued, 1, __ATOMIC_RELEASE);
  e->o.issued(e->o.ctx, phase, op);
  __atomic_store_n(&e->in_issued, 0, __ATOMIC_RELEASE);
  e->inside--;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int alone(void *ctx, int32_t rank, void *bytes, size_t n)
{
  (void)ctx, (void)rank, (void)bytes, (void)n;
  return 0;
}

/* The channel on which ranks report failures to each other. */
static int open_channel(zp_engine *e, zp_cuda_host_channel *channel)
{
  if (e->o.world == 1) return 0;
  e->line = zp_cuda_open_host_channel(e->o.rank, e->o.world, e->o.exchange, e->o.exchange_ctx,
                                      zp_engine_host(&e->o), channel);
  return e->line ? 0 : -1;
}

static int open_engine(zp_engine *e, const zp_cuda_host *host)
{
  zp_error why;
  zp_step_state state;
  zp_cuda_options c = {.cfg = e->o.config,
                       .optims = e->o.hyper.groups,
                       .clip = e->o.hyper.clip,
                       .clip_eps = e->o.hyper.clip_eps,
                       .scaler = e->o.hyper.scaler,
                       .replicas = e->o.hyper.replicas,
                       .entry_align = e->o.hyper.entry_align,
                       .slots = e->o.hyper.slots,
                       .fp32_gradients = e->o.hyper.fp32_gradients,
                       .rank = e->o.rank,
                       .device = e->o.device,
                       .native = e->o.config->reduce == ZP_ORDERED && !e->o.ordered,
                       .offload = e->o.offload,
                       .offload_threads = e->o.offload_threads,
                       .early_bytes = e->o.early_bytes,
                       .partial_gather = e->o.partial_gather,
                       .act_in = e->o.in,
                       .act_out = e->o.out,
                       .message_bytes = e->o.message_bytes,
                       .model = {e, first_values, e->o.forward ? forward : NULL,
                                 e->o.backward ? backward : NULL, e->o.shape ? shape : NULL},
                       .exchange = e->o.exchange ? e->o.exchange : alone,
                       .exchange_ctx = e->o.exchange_ctx,
                       .issued = issued,
                       .issued_ctx = e,
                       .deadline_ns = (uint64_t)(e->o.deadline_s * 1e9)};
  memcpy(c.optim, e->o.hyper.optim, sizeof c.optim);
  if (host) {
    c.now_ns = host->now_ns;
    c.pause = host->pause;
    c.threads = host->threads;
    c.host_channel = host->host_channel;
    c.intercept = host->intercept;
  }
  if (zp_engine_agree(&e->o, &e->saving.word, &e->err)) return e->err.status;
  e->saving.names = zp_engine_names(&e->o);
  if (!e->saving.names)
    return zp_fail(&e->err, ZP_E_MEMORY, e->o.rank,
                   "rank %d: no memory for the names of its entries", (int)e->o.rank);
  if (!host && open_channel(e, &c.host_channel))
    return zp_fail(&e->err, ZP_E_PEER, e->o.rank,
                   "rank %d: no connection to the other ranks: options.exchange failed, or there "
                   "is no memory",
                   (int)e->o.rank);
  e->c = zp_cuda_open(&c, &why);
  if (!e->c) {
    zp_alarm alarm = {.rank = e->o.rank, .status = why.status, .step = -1};
    snprintf(alarm.text, sizeof alarm.text, "%.*s", ZP_ALARM_TEXT - 1, why.text);
    /* the engine may have sent one already: receivers keep the first */
    if (e->line) c.host_channel.send(c.host_channel.ctx, &alarm);
    return zp_fail(&e->err, why.status, e->o.rank, "%s", why.text);
  }
  /* nothing orders the caller's streams yet: INIT ends before they begin */
  return result(e, zp_cuda_init(e->c) || zp_cuda_get(e->c, &state));
}

/* NCCL is this engine's transport. */
static int no_transport(zp_engine *e)
{
  if (!e->o.transport) return ZP_OK;
  return zp_fail(&e->err, ZP_E_REFUSED, e->o.rank,
                 "rank %d: options.transport: the CUDA engine communicates by NCCL; leave it NULL",
                 (int)e->o.rank);
}

int zp_engine_create_on(zp_engine **out, const zp_engine_options *options, const zp_cuda_host *host,
                        zp_error *err)
{
  zp_engine *e;
  if (!out || !err) return ZP_E_REFUSED;
  memset(err, 0, sizeof *err);
  *out = NULL;
  e = calloc(1, sizeof *e);
  if (!e) return zp_fail(err, ZP_E_MEMORY, -1, "no memory for an engine");
  *out = e;
  if (zp_engine_take(&e->o, options, &e->err) || no_transport(e) || open_engine(e, host))
    *err = e->err;
  return err->status;
}

int zp_engine_create(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  return zp_engine_create_on(out, options, NULL, err);
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The status of a call that cannot be made: there is no engine, or `issued` makes it, which no
 * function allows. 0: the engine knows its own errors. */
static int unusable(zp_engine *e, const char *function)
{
  if (!e) return ZP_E_REFUSED;
  if (!e->c) return e->err.status;
  if (!__atomic_load_n(&e->in_issued, __ATOMIC_ACQUIRE)) return ZP_OK;
  if (!pthread_equal(e->issuer, pthread_self())) return ZP_OK;
  return zp_engine_may_call(&e->o, 1, function, &e->nested);
}

/* The same for functions that no callback may call. */
static int unusable_inside(zp_engine *e, const char *function)
{
  zp_error why = {0};
  const int status = unusable(e, function);
  if (status) return status;
  return zp_engine_may_call(&e->o, e->inside, function, &why) ? refuse(e, &why) : ZP_OK;
}

int zp_engine_grad_ready(zp_engine *e, int32_t param, int64_t mb, const void *grad, int64_t count,
                         int32_t dtype, void *stream)
{
  const int status = unusable(e, "zp_engine_grad_ready");
  if (status) return status;
  return result(e, zp_cuda_grad_ready(e->c, param, mb, grad, count, dtype, stream));
}

void *zp_engine_grad_buffer(zp_engine *e, int32_t param, int64_t mb, void *stream)
{
  void *buffer;
  if (unusable(e, "zp_engine_grad_buffer")) return NULL;
  return result(e, zp_cuda_grad_buffer(e->c, param, mb, stream, &buffer)) ? NULL : buffer;
}

int zp_engine_grad_unused(zp_engine *e, int32_t param, int64_t mb)
{
  const int status = unusable(e, "zp_engine_grad_unused");
  if (status) return status;
  return result(e, zp_cuda_grad_unused(e->c, param, mb));
}

int zp_engine_wait_params(zp_engine *e, const int32_t *params, int32_t n, void *stream)
{
  const int status = unusable(e, "zp_engine_wait_params");
  if (status) return status;
  return result(e, zp_cuda_wait_params(e->c, params, n, stream));
}

int zp_engine_wait_param(zp_engine *e, int32_t param, void *stream)
{
  return zp_engine_wait_params(e, &param, 1, stream);
}

int zp_engine_loss(zp_engine *e, int64_t mb, const float *loss, void *stream)
{
  const int status = unusable(e, "zp_engine_loss");
  if (status) return status;
  return result(e, zp_cuda_loss(e->c, mb, loss, stream));
}

int zp_engine_step(zp_engine *e, void *stream)
{
  const int status = unusable_inside(e, "zp_engine_step");
  if (status) return status;
  return result(e, e->o.forward ? zp_cuda_step(e->c) : zp_cuda_end_step(e->c, stream));
}

void *zp_engine_param(const zp_engine *e, int32_t param)
{
  return e && e->c ? zp_cuda_param(e->c, param) : NULL;
}

const int32_t *zp_engine_log2_scale(const zp_engine *e)
{
  return e && e->c ? &zp_cuda_state_of(e->c)->scaler.log2_scale : NULL;
}

int zp_engine_get(zp_engine *e, zp_engine_state *state)
{
  const size_t size = state ? state->size : 0;
  zp_engine_state s = {.size = size};
  zp_step_state now;
  zp_error why = {0};
  const int status = unusable_inside(e, "zp_engine_get");
  if (status) return status;
  if (zp_engine_state_size(&e->o, size, &why)) return refuse(e, &why);
  if (zp_cuda_get(e->c, &now)) return copy_error(e);
  s.step = now.step;
  memcpy(&s.norm, &now.decision.norm_f64, sizeof s.norm);
  memcpy(&s.loss, &now.decision.loss, sizeof s.loss);
  s.clip = now.decision.clip_factor;
  s.skipped = now.decision.skipped;
  s.scale = zp_engine_scale(now.scaler.log2_scale);
  memcpy(s.ledger, e->ledger, sizeof s.ledger);
  memcpy(state, &s, size < sizeof s ? size : sizeof s);
  return ZP_OK;
}

int zp_engine_get_hyper(const zp_engine *e, zp_hyper *hyper)
{
  if (!e || !e->c || !hyper) return ZP_E_REFUSED;
  *hyper = e->o.hyper;
  return ZP_OK;
}

int zp_engine_set_hyper(zp_engine *e, const zp_hyper *hyper)
{
  const int status = unusable_inside(e, "zp_engine_set_hyper");
  if (status) return status;
  if (copy_error(e)) return e->err.status;
  if (!hyper) return ZP_E_REFUSED;
  memset(&e->undone, 0, sizeof e->undone);
  if (zp_hyper_check_change(&e->o.hyper, hyper, e->o.rank, &e->undone)) return e->undone.status;
  e->o.hyper = *hyper;
  return result(e, zp_cuda_set_hyper(e->c, hyper->optim, hyper->clip, hyper->clip_eps));
}

/* ---- State of entries ------------------------------------------------------------------------ */

int zp_engine_held(const zp_engine *e, int32_t param, int64_t from, int64_t *offset, int64_t *count)
{
  zp_held run;
  if (!e || !e->c || !offset || !count) return ZP_E_REFUSED;
  if (param < 0 || param >= e->o.config->n_params || from < 0) return ZP_E_REFUSED;
  run = zp_cuda_held(e->c, param, from);
  *offset = run.offset;
  *count = run.count;
  return ZP_OK;
}

/* 0 if the request can be served, or a negative status. */
static int check_state(zp_engine *e, zp_held_request q)
{
  const int status = unusable_inside(e, q.function);
  if (status) return status;
  if (copy_error(e)) return e->err.status;
  q.announced = zp_cuda_is_announced(e->c);
  memset(&e->undone, 0, sizeof e->undone);
  return zp_cuda_held_check(e->c, &q, &e->undone);
}

int zp_engine_read_state(zp_engine *e, int32_t param, int32_t state, int64_t offset, int64_t count,
                         float *out)
{
  const zp_held_request q = {"zp_engine_read_state", param, state, offset, count, out, 0};
  const int status = check_state(e, q);
  return status ? status : result(e, zp_cuda_copy_held(e->c, &q, out, NULL));
}

int zp_engine_write_state(zp_engine *e, int32_t param, int32_t state, int64_t offset, int64_t count,
                          const float *in)
{
  const zp_held_request q = {"zp_engine_write_state", param, state, offset, count, in, 0};
  const int status = check_state(e, q);
  return status ? status : result(e, zp_cuda_copy_held(e->c, &q, NULL, in));
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* 0, or a negative status: a checkpoint is not possible now. */
static int between(zp_engine *e, const char *dir, const char *function)
{
  zp_error why = {0};
  const int status = unusable_inside(e, function);
  if (status) return status;
  memset(&e->undone, 0, sizeof e->undone);
  return zp_engine_between(&e->o, dir, zp_cuda_is_announced(e->c), &why) ? refuse(e, &why) : ZP_OK;
}

/* The outcome of a save. */
static int save_result(zp_engine *e, int status)
{
  if (!status) return result(e, 0);
  if (copy_error(e)) return e->err.status;
  return zp_fail(&e->undone, status, e->o.rank, "%s", zp_cuda_why(e->c)->text);
}

/* Publishes the background save, if one is under way. function: what the program called. */
static int end_save(zp_engine *e, const char *function)
{
  int status = unusable_inside(e, function);
  if (status || !zp_engine_is_saving(&e->saving)) return status;
  status = between(e, ".", function);
  if (status) return status;
  status = zp_cuda_seal(e->c, zp_engine_seal(&e->saving));
  zp_engine_sealed(&e->saving);
  return save_result(e, status);
}

int zp_engine_save_begin(zp_engine *e, const char *dir)
{
  int status = end_save(e, "zp_engine_save_begin");
  if (!status) status = between(e, dir, "zp_engine_save_begin");
  if (status) return status;
  status = zp_cuda_save(e->c, zp_engine_copy(&e->o, &e->saving, dir, zp_cuda_step_count(e->c)));
  zp_engine_copied(&e->saving, status);
  return save_result(e, status);
}

int zp_engine_save_end(zp_engine *e)
{
  return end_save(e, "zp_engine_save_end");
}

int zp_engine_save_written(const zp_engine *e)
{
  return !e || zp_engine_has_written(&e->saving);
}

int zp_engine_save(zp_engine *e, const char *dir)
{
  zp_engine_store s;
  int status = end_save(e, "zp_engine_save");
  if (!status) status = between(e, dir, "zp_engine_save");
  if (status) return status;
  status =
      zp_cuda_save(e->c, zp_engine_open_save(&s, &e->o, &e->saving, dir, zp_cuda_step_count(e->c)));
  zp_engine_close_store(&s);
  return save_result(e, status);
}

/* A rank that finds another checkpoint than rank 0 does not take part in LOAD, which therefore ends
 * on no rank: the alarm takes the error, with both ids, to all of them. CKPT-8 */
int zp_engine_load(zp_engine *e, const char *dir)
{
  zp_engine_store s;
  zp_store *store;
  int status = end_save(e, "zp_engine_load");
  if (!status) status = between(e, dir, "zp_engine_load");
  if (status) return status;
  store = zp_engine_open_load(&s, &e->o, &e->saving, dir);
  if (s.why.status == ZP_E_MISMATCH) status = refuse(e, &s.why);
  else status = zp_cuda_load(e->c, store);
  if (!status) {
    e->o.hyper = s.hyper;
    status = zp_cuda_set_hyper(e->c, s.hyper.optim, s.hyper.clip, s.hyper.clip_eps);
  }
  zp_engine_close_store(&s);
  return result(e, status);
}

/* ---- Ending ---------------------------------------------------------------------------------- */

const zp_error *zp_engine_why(const zp_engine *e)
{
  if (!e) return NULL;
  if (e->c) copy_error((zp_engine *)e); /* the watchdog may have found one */
  return e->err.status == ZP_OK && e->undone.status ? &e->undone : &e->err;
}

int zp_engine_destroy(zp_engine *e, zp_error *err)
{
  zp_step_state last; /* waiting for it finds the last step's error */
  int status;
  if (!e) return ZP_OK;
  if (e->inside) { /* the step that runs would use freed memory: it ends with this error */
    status = unusable_inside(e, "zp_engine_destroy");
    if (err) *err = e->err.status ? e->err : e->nested;
    return status;
  }
  if (e->c && !zp_cuda_first_error(e->c)->status && zp_cuda_get(e->c, &last)) copy_error(e);
  status = zp_cuda_close(e->c);
  if (e->err.status == ZP_OK && status)
    zp_fail(&e->err, status, e->o.rank, "rank %d: the device or a communicator did not end",
            (int)e->o.rank);
  status = e->err.status;
  if (err) *err = e->err;
  zp_alarm_close(e->line);
  zp_engine_close_saving(&e->saving);
  free(e);
  return status;
}
