/* spec: LEDG-1, LEDG-2, LEDG-7, RED-4, RED-5 */
#include "comm_calls.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PIECE = 1 << 22 }; /* bytes of a rank's part of an all-reduce at a time */

/* What a rank is about to do. phase: LEAVES: it ends its engine. */
enum { LEAVES = -1 };
typedef struct signature {
  zp_op op;
  int64_t step;
  int32_t phase;
} signature;

struct zp_calls {
  zp_transport t;
  int32_t rank, world;
  signature own, *all; /* [world] */
  const void **part;   /* [world] */
  char *scratch;
  int64_t room;
};

/* ---- Errors ---------------------------------------------------------------------------------- */

static int no_memory(const zp_calls *c, zp_error *err)
{
  return zp_fail(err, ZP_E_MEMORY, c->rank, "rank %d: not enough memory for what it receives",
                 (int)c->rank);
}

/* The transport's own failure. what: of this rank, for people. */
static int broken(const zp_calls *c, const char *what, int64_t step, zp_error *err)
{
  const char *why = c->t.why ? c->t.why(c->t.ctx) : NULL;
  return zp_fail(err, ZP_E_PEER, c->rank, "rank %d, step %lld: %s: the transport failed: %.300s",
                 (int)c->rank, (long long)step, what, why ? why : "it gave no reason");
}

static int broken_op(const zp_calls *c, const zp_request *q, zp_error *err)
{
  char what[160];
  zp_op_describe(q->op, what, sizeof what);
  return broken(c, what, q->step, err);
}

static int grow(zp_calls *c, int64_t bytes, zp_error *err)
{
  if (bytes <= c->room) return 0;
  free(c->scratch);
  c->scratch = malloc((size_t)bytes);
  c->room = c->scratch ? bytes : 0;
  return c->scratch ? 0 : no_memory(c, err);
}

/* ---- Agreement. LEDG-2 ----------------------------------------------------------------------- */

static int same(const signature *a, const signature *b)
{
  return a->step == b->step && a->phase == b->phase && zp_collective_same(&a->op, &b->op);
}

static int agree(zp_calls *c, const zp_request *q, zp_error *err)
{
  char mine[160], other[160];
  memset(&c->own, 0, sizeof c->own);
  c->own.op = *q->op;
  c->own.step = q->step;
  c->own.phase = q->phase;
  if (c->t.all_gather(c->t.ctx, &c->own, c->all, sizeof c->own)) return broken_op(c, q, err);
  for (int32_t r = 0; r < c->world; r++) {
    if (same(&c->own, &c->all[r])) continue;
    if (c->all[r].phase == LEAVES)
      return zp_fail(err, ZP_E_MISMATCH, c->rank,
                     "rank %d is in step %lld, and rank %d has ended its engine (LEDG-2)",
                     (int)c->rank, (long long)c->own.step, (int)r);
    zp_op_describe(&c->own.op, mine, sizeof mine);
    zp_op_describe(&c->all[r].op, other, sizeof other);
    return zp_fail(err, ZP_E_MISMATCH, c->rank,
                   "rank %d issues %s in %s %lld, and rank %d %s in %s %lld (LEDG-2)", (int)c->rank,
                   mine, zp_phase_name(c->own.phase), (long long)c->own.step, (int)r, other,
                   zp_phase_name(c->all[r].phase), (long long)c->all[r].step);
  }
  return 0;
}

/* ---- Ops ------------------------------------------------------------------------------------- */

/* Adds up n elements of all ranks that lie one rank after the other in scratch. */
static void reduce(const zp_calls *c, const zp_op *op, int64_t n, void *out)
{
  const int64_t bytes = n * zp_dtype_bytes(op->dtype);
  for (int32_t r = 0; r < c->world; r++) c->part[r] = c->scratch + r * bytes;
  zp_reduce_members(op->redop, op->dtype, c->world, c->part, n, out);
}

static int reduce_scatter(zp_calls *c, const zp_request *q, zp_error *err)
{
  const zp_op *op = q->op;
  const int64_t bytes = op->count * zp_dtype_bytes(op->dtype);
  if (grow(c, c->world * bytes, err)) return err->status;
  if (c->t.all_to_all(c->t.ctx, q->send, c->scratch, bytes)) return broken_op(c, q, err);
  reduce(c, op, op->count, q->recv);
  return 0;
}

/* Piece by piece, as each rank receives the parts of all. A piece of the result may replace what
 * was sent of it. */
static int all_reduce(zp_calls *c, const zp_request *q, zp_error *err)
{
  const zp_op *op = q->op;
  const int64_t size = zp_dtype_bytes(op->dtype), most = MOST_PIECE / size;
  const int64_t width = zp_result_width(op->redop) * zp_dtype_bytes(zp_result_dtype(op->redop));
  for (int64_t at = 0, n; at < op->count; at += n) {
    n = op->count - at < most ? op->count - at : most;
    if (grow(c, c->world * n * size, err)) return err->status;
    if (c->t.all_gather(c->t.ctx, (const char *)q->send + at * size, c->scratch, n * size))
      return broken_op(c, q, err);
    reduce(c, op, n, (char *)q->recv + at * width);
  }
  return 0;
}

/* What is sent may lie in what is received, where the transport's may not overlap. */
static int all_gather(zp_calls *c, const zp_request *q, int keeps, zp_error *err)
{
  const int64_t bytes = q->op->count * zp_dtype_bytes(q->op->dtype);
  if (grow(c, c->world * bytes, err)) return err->status;
  if (c->t.all_gather(c->t.ctx, q->send, c->scratch, bytes)) return broken_op(c, q, err);
  if (keeps) memcpy(q->recv, c->scratch, (size_t)(c->world * bytes));
  return 0;
}

static int carry_out(zp_calls *c, const zp_request *q, zp_error *err)
{
  const zp_op *op = q->op;
  switch (op->kind) {
  case ZP_OP_CREATE: return 0;
  case ZP_OP_REDUCE_SCATTER: return reduce_scatter(c, q, err);
  case ZP_OP_ALL_REDUCE: return all_reduce(c, q, err);
  case ZP_OP_ALL_GATHER: return all_gather(c, q, 1, err);
  case ZP_OP_GATHER: return all_gather(c, q, op->root == c->rank, err);
  case ZP_OP_BROADCAST:
    if (c->t.broadcast(c->t.ctx, q->recv, op->count * zp_dtype_bytes(op->dtype), op->root))
      return broken_op(c, q, err);
    return 0;
  default:
    return zp_fail(err, ZP_E_INTERNAL, c->rank, "rank %d: %s needs pipeline stages", (int)c->rank,
                   zp_op_name(op->kind));
  }
}

/* ---- Programs -------------------------------------------------------------------------------- */

static int serve(zp_calls *c, const zp_rank *r, const zp_request *q, zp_error *err)
{
  const zp_op *op = q->op;
  const int creates = op->kind == ZP_OP_CREATE; /* by all ranks, whatever it creates */
  if (!creates && zp_block_group_size(&r->block, op->group, op->key) == 1) {
    zp_request_alone(q);
    return 0;
  }
  return agree(c, q, err) ? err->status : carry_out(c, q, err);
}

int zp_calls_run(zp_calls *c, zp_rank *r, int32_t phase, zp_error *err)
{
  zp_rank_begin(r, phase);
  for (;;) {
    const zp_run run = zp_rank_advance(r);
    if (run == ZP_RUN_DONE || run == ZP_RUN_PAUSED) return ZP_OK;
    if (run != ZP_RUN_ERROR) {
      if (serve(c, r, &r->request, err)) return err->status;
      if (zp_rank_complete(r) == 0) continue;
    }
    if (err != r->err) *err = *r->err;
    return err->status;
  }
}

/* ---- Outside programs ------------------------------------------------------------------------ */

int zp_calls_broadcast_bytes(zp_calls *c, void *data, int64_t bytes, zp_error *err)
{
  if (c->t.broadcast(c->t.ctx, data, bytes, 0) == 0) return 0;
  return broken(c, "broadcasting from rank 0, outside the programs", 0, err);
}

/* phase: what this rank does, which all others do, too. */
static int gather_phases(zp_calls *c, int32_t phase, zp_error *err)
{
  memset(&c->own, 0, sizeof c->own);
  c->own.phase = phase;
  if (c->t.all_gather(c->t.ctx, &c->own, c->all, sizeof c->own))
    return broken(c, "waiting for all ranks, outside the programs", 0, err);
  for (int32_t r = 0; r < c->world; r++)
    if (c->all[r].phase != phase)
      return zp_fail(err, ZP_E_MISMATCH, c->rank,
                     "rank %d %s, and rank %d is in step %lld (LEDG-2)", (int)c->rank,
                     phase == LEAVES ? "has ended its engine" : "loads a checkpoint", (int)r,
                     (long long)c->all[r].step);
  return 0;
}

int zp_calls_barrier(zp_calls *c, zp_error *err)
{
  return gather_phases(c, ZP_PHASE_LOAD, err);
}

/* ---- Joining and leaving --------------------------------------------------------------------- */

static void release(zp_calls *c)
{
  free(c->all);
  free(c->part);
  free(c->scratch);
  free(c);
}

int zp_calls_start(zp_calls **out, const zp_transport *t, int32_t rank, int32_t world,
                   zp_error *err)
{
  zp_calls *c = calloc(1, sizeof *c);
  *out = c;
  if (c) {
    c->t = *t;
    c->rank = rank;
    c->world = world;
    c->all = calloc((size_t)world, sizeof *c->all);
    c->part = calloc((size_t)world, sizeof *c->part);
    if (c->all && c->part) return 0;
    release(c);
    *out = NULL;
  }
  return zp_fail(err, ZP_E_MEMORY, rank, "rank %d: no memory for its transport", (int)rank);
}

int zp_calls_stop(zp_calls *c, zp_error *err)
{
  if (gather_phases(c, LEAVES, err)) return err->status;
  release(c);
  return 0;
}

void zp_calls_abandon(zp_calls *c, const zp_error *why)
{
  if (c->t.alarm) c->t.alarm(c->t.ctx, why->status, why->text);
}
