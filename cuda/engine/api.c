/* The CUDA twin behind the public functions of ref/engine/engine.h. */
#include "api.h"

#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/engine_internal.h"
#include "engine_internal.h"
#include "outside.h"

struct zp_engine {
  zp_engine_options o;
  zp_cuda *c;            /* NULL: not made; err says why */
  zp_error err, unsaved; /* unsaved: of the last save */
  zp_engine_names_of names;
  zp_cuda_line *line; /* to the other ranks; NULL: none, or the simulation's */
  zp_ledger_sum ledger[ZP_GROUPS];
};

/* ---- Errors ---------------------------------------------------------------------------------- */

static int32_t status_of(int32_t cuda)
{
  switch (cuda) {
  case ZP_CUDA_OK: return ZP_OK;
  case ZP_CUDA_E_REFUSED: return ZP_E_REFUSED;
  case ZP_CUDA_E_MEMORY: return ZP_E_MEMORY;
  case ZP_CUDA_E_ARRIVAL: return ZP_E_ARRIVAL;
  case ZP_CUDA_E_MODEL: return ZP_E_WORKLOAD;
  case ZP_CUDA_E_PEER: return ZP_E_PEER;
  case ZP_CUDA_E_MISMATCH: return ZP_E_MISMATCH;
  case ZP_CUDA_E_STORE: return ZP_E_FILE;
  default: return ZP_E_DEVICE;
  }
}

/* The engine's error becomes this one's; any thread. Returns its status. A save that failed is none
 * of them. */
static int take_error(zp_engine *e)
{
  const zp_cuda_error *why = &e->c->err;
  int status;
  zp_cuda_enter(e->c);
  if (e->err.status == ZP_OK && why->status)
    zp_fail(&e->err, status_of(why->status), e->o.rank, "%s", why->text);
  status = e->err.status;
  zp_cuda_leave(e->c);
  return status;
}

/* An error of this file. */
static int refuse(zp_engine *e, const zp_error *why)
{
  zp_cuda_enter(e->c);
  zp_cuda_fail(e->c, ZP_CUDA_E_REFUSED, "%s", why->text);
  zp_cuda_leave(e->c);
  return take_error(e);
}

static int result(zp_engine *e, int failed)
{
  return failed ? take_error(e) : ZP_OK;
}

/* ---- What the twin asks ---------------------------------------------------------------------- */

static int first_values(void *ctx, int32_t param, void *data, cudaStream_t stream)
{
  const zp_engine *e = ctx;
  const zp_config *c = e->o.config;
  const size_t n = (size_t)(c->params[param].numel * zp_dtype_bytes(c->precision));
  if (!e->o.first || !e->o.first[param]) return cudaMemsetAsync(data, 0, n, stream) != cudaSuccess;
  return cudaMemcpyAsync(data, e->o.first[param], n, cudaMemcpyHostToDevice, stream) != cudaSuccess;
}

/* Of dynamic shapes: as it is. */
static void with_dims(const zp_cuda_message *m, zp_message *out)
{
  out->n = m->n;
  for (int32_t i = 0; i < m->n; i++) {
    out->t[i] = (zp_tensor){.dtype = m->t[i].dtype, .ndim = m->t[i].ndim, .data = m->t[i].data};
    memcpy(out->t[i].dim, m->t[i].dim, sizeof out->t[i].dim);
  }
}

/* The described tensors, at the engine's buffers; a gradient has no integer ones. */
static void with_data(const zp_engine *e, const zp_message *like, const zp_cuda_message *m,
                      int gradient, zp_message *out)
{
  memset(out, 0, sizeof *out);
  if (e->o.config->dynamic_shapes) {
    with_dims(m, out);
    return;
  }
  for (int32_t i = 0; i < like->n && out->n < m->n; i++) {
    if (gradient && (like->t[i].dtype == ZP_I32 || like->t[i].dtype == ZP_I64)) continue;
    out->t[out->n] = like->t[i];
    out->t[out->n].data = m->t[out->n].data;
    out->n++;
  }
}

static zp_engine_call call_of(const zp_cuda_call *c, const zp_message *in, const zp_message *out)
{
  return (zp_engine_call){c->step, c->mb, c->slot, c->stream, in, out, c->loss};
}

static int forward(void *ctx, const zp_cuda_call *c)
{
  const zp_engine *e = ctx;
  zp_message in, out;
  with_data(e, &e->o.in, c->in, 0, &in);
  with_data(e, &e->o.out, c->out, 0, &out);
  const zp_engine_call call = call_of(c, &in, &out);
  return e->o.forward(e->o.ctx, &call);
}

static int backward(void *ctx, const zp_cuda_call *c)
{
  const zp_engine *e = ctx;
  zp_message in, out;
  with_data(e, &e->o.out, c->in, 1, &in);
  with_data(e, &e->o.in, c->out, 1, &out);
  const zp_engine_call call = call_of(c, &in, &out);
  return e->o.backward(e->o.ctx, &call);
}

/* What is wrong with it the twin finds out. */
static int shape(void *ctx, const zp_cuda_call *c, zp_cuda_message *out)
{
  const zp_engine *e = ctx;
  zp_message m = {0};
  if (e->o.shape(e->o.ctx, c->step, c->mb, &m)) return -1;
  out->n = m.n;
  for (int32_t i = 0; i < m.n && i < ZP_CUDA_TENSORS; i++) {
    out->t[i] = (zp_cuda_tensor){.dtype = m.t[i].dtype, .ndim = m.t[i].ndim};
    memcpy(out->t[i].dim, m.t[i].dim, sizeof out->t[i].dim);
  }
  return 0;
}

static int64_t message_bytes(const zp_cuda_message *m)
{
  int64_t bytes = 0;
  for (int32_t i = 0; i < m->n; i++) bytes += m->t[i].count * zp_dtype_bytes(m->t[i].dtype);
  return bytes;
}

static void issued(void *ctx, int32_t phase, const zp_op *op)
{
  zp_engine *e = ctx;
  const zp_cuda *c = e->c;
  int64_t bytes = 0;
  if (op->kind == ZP_OP_P2P && op->mb >= 0)
    bytes = message_bytes(op->what == ZP_WHAT_ACTIVATION ? &c->act_out : &c->grad_out);
  else if (op->kind != ZP_OP_P2P)
    bytes = zp_sent_bytes(op, zp_group_size(c->cfg, op->group, op->key, c->at),
                          zp_group_index(c->cfg, op->group, op->key, c->at));
  zp_ledger_record(&e->ledger[op->group], op, bytes);
  if (e->o.issued) e->o.issued(e->o.ctx, phase, op);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static void to_cuda(const zp_message *m, zp_cuda_message *out)
{
  out->n = m->n;
  for (int32_t i = 0; i < m->n; i++) {
    out->t[i] = (zp_cuda_tensor){.dtype = m->t[i].dtype, .count = 1};
    for (int32_t d = 0; d < m->t[i].ndim; d++) out->t[i].count *= m->t[i].dim[d];
  }
}

static int alone(void *ctx, int32_t rank, void *bytes, size_t n)
{
  (void)ctx, (void)rank, (void)bytes, (void)n;
  return 0;
}

/* On which other ranks are told of a failure. */
static int open_line(zp_engine *e, zp_cuda_outside *outside)
{
  if (e->o.world == 1) return 0;
  e->line = zp_cuda_open_line(e->o.rank, e->o.world, e->o.exchange, e->o.exchange_ctx, outside);
  return e->line ? 0 : -1;
}

static int open_engine(zp_engine *e, const zp_cuda_host *host)
{
  zp_cuda_error why;
  zp_step_state state;
  zp_cuda_options c = {.cfg = e->o.config,
                       .optims = e->o.hyper.groups,
                       .clip = e->o.hyper.clip,
                       .clip_eps = e->o.hyper.clip_eps,
                       .scaler = e->o.hyper.scaler,
                       .rank = e->o.rank,
                       .device = e->o.device,
                       .native = e->o.config->reduce == ZP_ORDERED && !e->o.ordered,
                       .offload = e->o.offload,
                       .offload_threads = e->o.offload_threads,
                       .message_bytes = e->o.message_bytes,
                       .model = {e, first_values, e->o.forward ? forward : NULL,
                                 e->o.backward ? backward : NULL, e->o.shape ? shape : NULL},
                       .exchange = e->o.exchange ? e->o.exchange : alone,
                       .exchange_ctx = e->o.exchange_ctx,
                       .issued = issued,
                       .issued_ctx = e,
                       .deadline_ns = (uint64_t)(e->o.deadline_s * 1e9)};
  memcpy(c.optim, e->o.hyper.optim, sizeof c.optim);
  to_cuda(&e->o.in, &c.act_in);
  to_cuda(&e->o.out, &c.act_out);
  if (host) {
    c.now_ns = host->now_ns;
    c.pause = host->pause;
    c.threads = host->threads;
    c.outside = host->outside;
    c.fault = host->fault;
  }
  if (zp_engine_agree(&e->o, &e->err)) return e->err.status;
  e->names = zp_engine_names(&e->o);
  if (!e->names || (!host && open_line(e, &c.outside)))
    return zp_fail(&e->err, e->names ? ZP_E_PEER : ZP_E_MEMORY, e->o.rank, "rank %d: %s",
                   (int)e->o.rank,
                   e->names ? "no line to the other ranks: options.exchange failed, or no memory"
                            : "no memory for the names of its entries");
  e->c = zp_cuda_open(&c, &why);
  if (!e->c) {
    zp_cuda_alarm alarm = {.rank = e->o.rank, .status = why.status, .step = -1};
    memcpy(alarm.text, why.text, sizeof alarm.text);
    if (e->line) c.outside.tell(c.outside.ctx, &alarm); /* again, perhaps: the first one counts */
    return zp_fail(&e->err, status_of(why.status), e->o.rank, "%s", why.text);
  }
  /* the caller's streams are behind nothing yet: INIT has ended before they begin */
  return result(e, zp_cuda_init(e->c) || zp_cuda_get(e->c, &state));
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
  if (zp_engine_take(&e->o, options, &e->err) || open_engine(e, host)) *err = e->err;
  return err->status;
}

int zp_engine_create(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  return zp_engine_create_on(out, options, NULL, err);
}

/* ---- Running --------------------------------------------------------------------------------- */

/* What a call returns that cannot reach the twin, which knows of its own errors: 0 when it can. */
static int unusable(const zp_engine *e)
{
  return !e ? ZP_E_REFUSED : e->c ? ZP_OK : e->err.status;
}

int zp_engine_grad_ready(zp_engine *e, int32_t param, int64_t mb, const void *grad, int32_t dtype,
                         void *stream)
{
  if (unusable(e)) return unusable(e);
  return result(e, zp_cuda_grad_ready(e->c, param, mb, grad, dtype, stream));
}

int zp_engine_grad_unused(zp_engine *e, int32_t param, int64_t mb)
{
  if (unusable(e)) return unusable(e);
  return result(e, zp_cuda_grad_unused(e->c, param, mb));
}

int zp_engine_loss(zp_engine *e, int64_t mb, const float *loss, void *stream)
{
  if (unusable(e)) return unusable(e);
  return result(e, zp_cuda_loss(e->c, mb, loss, stream));
}

int zp_engine_step(zp_engine *e, void *stream)
{
  if (unusable(e)) return unusable(e);
  return result(e, e->o.forward ? zp_cuda_step(e->c) : zp_cuda_end_step(e->c, stream));
}

void *zp_engine_param(const zp_engine *e, int32_t param)
{
  return e && e->c ? zp_cuda_param(e->c, param) : NULL;
}

const int32_t *zp_engine_log2_scale(const zp_engine *e)
{
  return e && e->c ? &e->c->state->scaler.log2_scale : NULL;
}

int zp_engine_get(zp_engine *e, zp_engine_state *state)
{
  const size_t size = state ? state->size : 0;
  zp_engine_state s = {.size = size};
  zp_step_state now;
  zp_error why = {0};
  if (unusable(e)) return unusable(e);
  if (zp_engine_state_size(&e->o, size, &why)) return refuse(e, &why);
  if (zp_cuda_get(e->c, &now)) return take_error(e);
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

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* 0, or a negative status: not now. */
static int between(zp_engine *e, const char *dir)
{
  zp_error why = {0};
  int announced;
  if (unusable(e)) return unusable(e);
  zp_cuda_enter(e->c);
  announced = e->c->begun;
  zp_cuda_leave(e->c);
  memset(&e->unsaved, 0, sizeof e->unsaved);
  return zp_engine_between(&e->o, dir, announced, &why) ? refuse(e, &why) : ZP_OK;
}

int zp_engine_save(zp_engine *e, const char *dir)
{
  zp_engine_store s;
  int status = between(e, dir);
  if (status) return status;
  status = zp_cuda_save(e->c, zp_engine_open_save(&s, &e->o, e->names, dir, e->c->step));
  zp_engine_close_store(&s);
  if (!status) return ZP_OK;
  if (take_error(e)) return e->err.status;
  return zp_fail(&e->unsaved, status_of(status), e->o.rank, "%s", zp_cuda_why(e->c)->text);
}

int zp_engine_load(zp_engine *e, const char *dir)
{
  zp_engine_store s;
  int status = between(e, dir);
  if (status) return status;
  status = zp_cuda_load(e->c, zp_engine_open_load(&s, &e->o, e->names, dir));
  zp_engine_close_store(&s);
  return result(e, status);
}

/* ---- Ending ---------------------------------------------------------------------------------- */

const zp_error *zp_engine_why(const zp_engine *e)
{
  if (!e) return NULL;
  if (e->c) take_error((zp_engine *)e); /* the watchdog may have found one */
  return e->err.status == ZP_OK && e->unsaved.status ? &e->unsaved : &e->err;
}

int zp_engine_destroy(zp_engine *e, zp_error *err)
{
  int status;
  if (!e) return ZP_OK;
  status = zp_cuda_close(e->c);
  if (e->err.status == ZP_OK && status)
    zp_fail(&e->err, status_of(status), e->o.rank,
            "rank %d: the device or a communicator did not come to its end", (int)e->o.rank);
  status = e->err.status;
  if (err) *err = e->err;
  zp_cuda_close_line(e->line);
  free(e->names);
  free(e);
  return status;
}
