/* Announcements in random order, and calls that are wrong. spec: STEP-3, STEP-11, OPT-7, RED-3 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_state.h"

enum { DRAW_ORDER = 1000, DRAW_LENT = 2000, DRAW_REFUSED = 3000 };
enum { DRAW_GRAD = 8000, DRAW_GRAD_LATE = 9000, LATE = 12 };

/* ---- Gradients ------------------------------------------------------------------------------- */

/* Memory that the engine lends for the gradient, or NULL. *sums: it has the sum of the
 * micro-batches before. */
static void *lend(zp_rank_job *r, int32_t j, int64_t mb, void *stream, int32_t *sums)
{
  *sums = mb > 0 && r->c->cfg.stage < 2;
  if (zp_rank_draw(r, r->o->rank, DRAW_LENT + mb, j, 3) != 0) return NULL;
  return zp_engine_grad_buffer(r->e, j, mb, stream);
}

/* Queues the operations that write a gradient at `at`. */
static int write_gradient(zp_rank_job *r, int32_t j, int64_t mb, void *at, int32_t adds,
                          void *stream)
{
  const zp_rank_device *d = &r->o->device;
  const int64_t n = r->c->params[j].numel, which = (r->step * ZP_CASE_PARAMS + j) * 64 + mb;
  const size_t bytes = zp_rank_grad_bytes(r, j);
  int32_t late = zp_rank_draw(r, r->o->rank, DRAW_GRAD_LATE, which, LATE);
  int failed = 0;
  if (adds) return d->add(d->ctx, at, zp_rank_made(r, j, mb), n, stream);
  for (late = d->asynchronous ? late : 0; late > 0 && !failed; late--)
    failed = d->fill(d->ctx, at, bytes, stream);
  return failed ? failed : d->copy(d->ctx, at, zp_rank_made(r, j, mb), bytes, stream);
}

/* From memory that the engine lends, or from the caller's own, which is overwritten at once. */
static int announce(zp_rank_job *r, int32_t j, int64_t mb)
{
  const zp_rank_device *d = &r->o->device;
  const int64_t n = r->c->params[j].numel, which = r->step * r->c->cfg.micro_batches + mb;
  const int32_t k = zp_rank_stream(r, DRAW_GRAD + j, which);
  const size_t bytes = zp_rank_grad_bytes(r, j);
  void *stream = r->memory.stream[k], *own = r->memory.grad[j][k], *lent;
  int32_t sums;
  int status = 0;
  if (!r->used[j]) return zp_engine_grad_unused(r->e, j, mb);
  if (n > 0 && r->fault == ZP_RANK_FAULT_BIT) *(uint8_t *)zp_rank_made(r, j, mb) ^= 4;
  lent = lend(r, j, mb, stream, &sums);
  if (n > 0) status = write_gradient(r, j, mb, lent ? lent : own, lent && sums, stream);
  if (!status)
    status = zp_engine_grad_ready(r->e, j, mb,
                                  lent    ? lent
                                  : n > 0 ? own
                                          : NULL,
                                  n, zp_rank_grad_dtype(r, j), stream);
  if (status || lent || n == 0) return status;
  return d->fill(d->ctx, own, bytes, stream);
}

static int misuse(zp_rank_job *r, int32_t j, int64_t mb)
{
  const int64_t n = r->c->params[j].numel;
  const int32_t dtype = zp_rank_grad_dtype(r, j);
  const void *grad = r->memory.grad[j][0];
  void *stream = r->memory.stream[0];
  switch (r->misuse) {
  case ZP_MISUSE_DTYPE: return zp_engine_grad_ready(r->e, j, mb, grad, n, (dtype + 1) % 3, stream);
  case ZP_MISUSE_SHORT: return zp_engine_grad_ready(r->e, j, mb, grad, n - 1, dtype, stream);
  case ZP_MISUSE_LONG: return zp_engine_grad_ready(r->e, j, mb, grad, n + 1, dtype, stream);
  case ZP_MISUSE_NULL: return zp_engine_grad_ready(r->e, j, mb, NULL, n > 0 ? n : 1, dtype, stream);
  case ZP_MISUSE_ENTRY:
    return zp_engine_grad_ready(r->e, r->c->cfg.n_params, mb, grad, n, dtype, stream);
  case ZP_MISUSE_AHEAD: return zp_engine_grad_ready(r->e, j, mb + 1, grad, n, dtype, stream);
  case ZP_MISUSE_TWICE: {
    const int status = announce(r, j, mb);
    return status ? status : zp_engine_grad_unused(r->e, j, mb);
  }
  default: return ZP_OK; /* it is missing */
  }
}

/* Puts the entries into another order. */
static void shuffle(zp_rank_job *r, int64_t mb)
{
  for (int32_t i = 0; i < r->n_order && !r->in_order; i++) {
    const int32_t k =
        zp_rank_draw(r, r->o->rank, DRAW_ORDER + mb, r->step * ZP_CASE_PARAMS + i, r->n_order);
    const int32_t x = r->order[i];
    r->order[i] = r->order[k];
    r->order[k] = x;
  }
}

int zp_rank_announce(zp_rank_job *r, int64_t mb)
{
  int status = 0;
  const int wrong = r->misuse && r->step == r->c->steps - 1 && mb == r->c->cfg.micro_batches - 1;
  shuffle(r, mb);
  for (int32_t i = 0; i < r->n_order - wrong && !status; i++) status = announce(r, r->order[i], mb);
  if (status || !wrong) return status;
  r->wrong_entry = r->order[r->n_order - 1];
  if (r->fault == ZP_RANK_FAULT_WRONG) return announce(r, r->wrong_entry, mb);
  r->misused = misuse(r, r->wrong_entry, mb);
  return 0; /* the step has to fail */
}

/* ---- Calls that are refused ------------------------------------------------------------------ */

static int32_t an_entry(const zp_rank_job *r, int64_t which)
{
  return zp_rank_draw(r, r->o->rank, DRAW_REFUSED + 1, r->step * 64 + which, r->c->cfg.n_params);
}

static int refused_hyper(const zp_rank_job *r, int32_t which)
{
  zp_hyper h;
  if (zp_engine_get_hyper(r->e, &h)) return 1;
  if (which == 0) h.optim[0].lr = -1;
  if (which == 1) h.clip = NAN;
  if (which == 2) h.scaler.log2_scale++;
  if (which == 3) h.optim[0].kind = !h.optim[0].kind;
  return zp_engine_set_hyper(r->e, &h);
}

static int refused_call(const zp_rank_job *r, int32_t which, int64_t i)
{
  const int32_t j = an_entry(r, i);
  const int64_t n = r->c->params[j].numel;
  float out[2] = {7, 7};
  int64_t offset, count;
  int status;
  if (which < 4) return refused_hyper(r, which);
  if (which == 4) return zp_engine_held(r->e, r->c->cfg.n_params, 0, &offset, &count);
  if (which == 5) return zp_engine_held(r->e, j, -1, &offset, &count);
  if (which == 6) status = zp_engine_read_state(r->e, j, ZP_WHAT_MASTER, n, 1, out);
  else if (which == 7) status = zp_engine_read_state(r->e, j, ZP_WHAT_GRADIENT, 0, 1, out);
  else if (which == 8) status = zp_engine_write_state(r->e, j, ZP_WHAT_MOMENT1, n, 1, out);
  else status = zp_engine_read_state(r->e, -1, ZP_WHAT_MASTER, 0, 1, out);
  return out[0] == 7 && out[1] == 7 ? status : 1;
}

int zp_rank_refused_calls(zp_rank_job *r)
{
  enum { CALLS = 10 };
  const int32_t n = zp_rank_draw(r, r->o->rank, DRAW_REFUSED, r->step, 6);
  for (int32_t i = 0; i < n; i++) {
    const int32_t which = zp_rank_draw(r, r->o->rank, DRAW_REFUSED + 2, r->step * 64 + i, CALLS);
    const int status = refused_call(r, which, i);
    const zp_error *why = zp_engine_why(r->e);
    const int stores = which != 4 && which != 5; /* zp_engine_held returns a status alone */
    if (status != ZP_E_REFUSED || (stores && why->status != ZP_E_REFUSED))
      return zp_rank_found(r, which < 4 ? "OPT-7" : "STEP-11",
                           "wrong call %d between steps: it returned %d and zp_engine_why has %d "
                           "(%.200s), expected %d (refused)",
                           (int)which, status, (int)why->status, why->text, ZP_E_REFUSED);
  }
  if (zp_engine_param(r->e, r->c->cfg.n_params) || zp_engine_param(r->e, -1))
    return zp_rank_found(r, "STEP-11", "zp_engine_param returned memory of no entry");
  return 0;
}
