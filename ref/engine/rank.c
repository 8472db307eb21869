/* The interpreter's loop. spec: STEP-2, STEP-4, LEDG-1 */
#include "rank.h"

#include <string.h>

#include "../base/invariant.h"
#include "log.h"
#include "rank_internal.h"

/* The end of SAVE: SEAL, the status, COMMIT, the status. CKPT-2 */
enum { SEAL_OPS = 4 };

/* The cursor is in the program of its phase, or in the end of SAVE. */
static int has_program(const zp_rank *r)
{
  const int32_t phase = r->cursor.phase;
  return r->cursor.length == r->length[phase] ||
         (phase == ZP_PHASE_SAVE && r->cursor.length == SEAL_OPS);
}

/* Of a rank between two of the functions below. */
static int invariant(const zp_rank *r)
{
  ZP_INVARIANT(r->err, r->rank, r->rank >= 0 && r->rank < zp_world(r->cfg));
  ZP_INVARIANT(r->err, r->rank, r->cursor.phase >= 0 && r->cursor.phase < ZP_PHASES);
  ZP_INVARIANT(r->err, r->rank, has_program(r));
  ZP_INVARIANT(r->err, r->rank, zp_cursor_position(&r->cursor) <= r->cursor.length);
  ZP_INVARIANT(r->err, r->rank, r->lay.first_param >= 0 && r->lay.n_params >= 0);
  ZP_INVARIANT(r->err, r->rank, r->lay.first_param + r->lay.n_params <= r->cfg->n_params);
  ZP_INVARIANT(r->err, r->rank, r->act_slots >= 1 && r->act_slots <= r->cfg->micro_batches);
  ZP_INVARIANT(r->err, r->rank, r->step >= 0 && r->stats.bad_loss >= 0);
  ZP_INVARIANT(r->err, r->rank, r->scaler.log2_scale >= -126 && r->scaler.log2_scale <= 126);
  return ZP_OK;
}

/* A window starts from nothing. STEP-4 */
static void begin_window(zp_rank *r)
{
  zp_statistics_clear(&r->stats);
  r->result.skipped = 0;
}

void zp_rank_begin(zp_rank *r, int32_t phase)
{
  if (phase == ZP_PHASE_PAUSED) return;
  if (phase == ZP_PHASE_SEAL) {
    const int64_t from = r->length[ZP_PHASE_SAVE] - SEAL_OPS;
    zp_cursor_begin(&r->cursor, r->program[ZP_PHASE_SAVE] + from, SEAL_OPS, ZP_PHASE_SAVE);
  } else {
    zp_cursor_begin(&r->cursor, r->program[phase], r->length[phase], phase);
  }
  memset(&r->store_error, 0, sizeof r->store_error);
  if (phase == ZP_PHASE_STEP) begin_window(r); /* the answers of the last step stay (STEP-9) */
  (void)invariant(r);                          /* an error is returned by zp_rank_advance */
}

static int run_local(zp_rank *r, const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_LOAD:
  case ZP_OP_FORWARD:
  case ZP_OP_BACKWARD:
  case ZP_OP_ARRIVED: return zp_rank_compute(r, op);
  case ZP_OP_ADD:
  case ZP_OP_MEAN:
  case ZP_OP_DECIDE:
  case ZP_OP_UPDATE: return zp_rank_arithmetic(r, op);
  default: return zp_rank_storage(r, op);
  }
}

static void log_op(const zp_rank *r)
{
  const zp_log log = {"ref", r->rank, r->log_topics};
  if (zp_log_has(&log, ZP_LOG_OPS))
    zp_log_op(&log, ZP_LOG_OPS, r->cursor.phase, r->step, zp_cursor_position(&r->cursor),
              &r->current);
}

/* The op at the cursor ends. A hook may have run it, or changed the decision. */
static int done(zp_rank *r)
{
  const zp_op *op = &r->cursor.ops[r->cursor.pc];
  if (r->cursor.state == ZP_CURSOR_OUT && op->kind == ZP_OP_DECIDE)
    ZP_INVARIANT(r->err, r->rank, zp_cursor_decide(&r->cursor, r->result.skipped) == 0);
  ZP_INVARIANT(r->err, r->rank, zp_cursor_done(&r->cursor) == 0);
  return ZP_OK;
}

static int after(zp_rank *r)
{
  if (r->hook && r->hook->after) r->hook->after(r->hook->ctx, r, &r->current);
  return done(r);
}

/* Does the op begin a micro-batch that is not due? */
static int is_paused(const zp_rank *r, const zp_op *op)
{
  return r->limit > 0 && op->mb >= r->limit &&
         (op->kind == ZP_OP_FORWARD || op->kind == ZP_OP_BACKWARD);
}

static int take(zp_rank *r)
{
  ZP_INVARIANT(r->err, r->rank, zp_cursor_take(&r->cursor) >= 0);
  r->current = r->cursor.ops[r->cursor.pc];
  return ZP_OK;
}

/* Runs until the program ends or pauses, a communication is due, or an op fails. */
static zp_run advance(zp_rank *r)
{
  const zp_cursor *c = &r->cursor;
  while (zp_cursor_position(c) < c->length) {
    if (is_paused(r, &c->ops[c->pc])) return ZP_RUN_PAUSED;
    if (take(r)) return ZP_RUN_ERROR;
    if (r->hook && r->hook->before) r->hook->before(r->hook->ctx, r, &r->current);
    if (r->err->status != ZP_OK) return ZP_RUN_ERROR;
    if (r->current.kind < 0) { /* a hook took the op away */
      if (done(r)) return ZP_RUN_ERROR;
      continue;
    }
    log_op(r);
    if (zp_op_communicates(&r->current))
      return zp_rank_request(r, &r->current) ? ZP_RUN_ERROR : ZP_RUN_COMM;
    if (run_local(r, &r->current)) return ZP_RUN_ERROR;
    if (after(r)) return ZP_RUN_ERROR;
  }
  return ZP_RUN_DONE;
}

zp_run zp_rank_advance(zp_rank *r)
{
  zp_run run;
  if (invariant(r)) return ZP_RUN_ERROR;
  run = advance(r);
  return run != ZP_RUN_ERROR && invariant(r) ? ZP_RUN_ERROR : run;
}

int zp_rank_complete(zp_rank *r)
{
  if (invariant(r) || zp_rank_finish(r, &r->current)) return r->err->status;
  if (after(r)) return r->err->status;
  return invariant(r);
}
