/* Which records somebody waits for, as far as the program says: of the others none is issued. What
 * depends on announcements (whether an entry is unused, comes before its turn, and on which stream)
 * is not known when the record is due. spec: STRM-2, STRM-3, STRM-4 */
#include <stdlib.h>

#include "engine_internal.h"

/* Events of the pipeline, and of each the op that recorded it last, the record's number, and 0 for
 * one that has been waited for. */
enum { FORWARDED, BACKWARDED, NEXT, PREVIOUS, EVENTS };

typedef struct latest {
  int64_t recorded, at[EVENTS], is_new[EVENTS];
} latest;

/* For the later of two events of one stream, of those that are wanted. */
static void wait_once(zp_cuda *e, latest *l, int32_t a, int wants_a, int32_t b, int wants_b)
{
  const int64_t x = wants_a ? l->is_new[a] : 0, y = wants_b ? l->is_new[b] : 0;
  const int64_t n = x > y ? x : y;
  if (n == 0) return;
  e->wanted[l->at[x > y ? a : b]] = 1;
  if (l->is_new[a] <= n) l->is_new[a] = 0;
  if (l->is_new[b] <= n) l->is_new[b] = 0;
}

static void record(latest *l, int32_t event, int64_t at)
{
  l->at[event] = at;
  l->is_new[event] = ++l->recorded;
}

/* As p2p.c waits and records. */
static void pass(zp_cuda *e, latest *l, int64_t at)
{
  const zp_op *op = &e->program[ZP_PHASE_STEP][at];
  const int next = op->what == ZP_WHAT_ACTIVATION, out = op->mb >= 0, in = op->recv_mb >= 0;
  if (op->kind == ZP_OP_P2P) {
    wait_once(e, l, FORWARDED, out && next, BACKWARDED, in || (out && !next));
    record(l, next ? NEXT : PREVIOUS, at);
  } else if (op->kind == ZP_OP_FORWARD || op->kind == ZP_OP_BACKWARD) {
    wait_once(e, l, PREVIOUS, 1, NEXT, 1);
    record(l, op->kind == ZP_OP_FORWARD ? FORWARDED : BACKWARDED, at);
  } else if (op->kind == ZP_OP_DECIDE) {
    e->wanted[l->at[BACKWARDED]] = 1;
  }
}

/* A slot's reduction is waited for by who fills the slot again in this step; the next step is behind
 * all of this one's. */
static void want_slots(zp_cuda *e)
{
  const zp_op *ops = e->program[ZP_PHASE_STEP];
  for (int32_t k = 0; k < e->lay.n_flats; k++) {
    int refilled[2] = {0, 0};
    for (int64_t at = e->length[ZP_PHASE_STEP] - 1; at >= 0; at--) {
      if (ops[at].flat != k) continue;
      if (ops[at].kind == ZP_OP_ADD) refilled[ops[at].slot & 1] = 1;
      else if (ops[at].what == ZP_WHAT_GRADIENT)
        e->wanted[at] = (uint8_t)refilled[ops[at].slot & 1];
    }
  }
}

int zp_cuda_open_records(zp_cuda *e)
{
  const int64_t n = e->length[ZP_PHASE_STEP];
  latest l = {0, {0}, {0}};
  e->wanted = calloc((size_t)n + 1, 1);
  if (!e->wanted) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no host memory for the programs");
  if (e->cfg->stage == 2) want_slots(e);
  for (int64_t i = 0; i < 2 * n; i++)
    pass(e, &l, i % n); /* the next step waits for this one, too */
  return 0;
}

int zp_cuda_is_wanted(const zp_cuda *e)
{
  return e->phase != ZP_PHASE_STEP || e->wanted[e->pc];
}
