/* A run through the program that follows the pipeline's events and the slots. */
#include "needed_records.h"

#include <stdlib.h>

/* Events of the pipeline, and of each the op that recorded it last and the record's number; 0 after
 * a wait for it. */
enum { FORWARDED, BACKWARDED, NEXT, PREVIOUS, EVENTS };

typedef struct latest {
  int64_t recorded, at[EVENTS], is_new[EVENTS];
} latest;

/* For the later of two events of one stream, if it is wanted and new. */
static void wait_once(zp_cuda_plan *p, latest *l, int32_t a, int wants_a, int32_t b, int wants_b)
{
  const int64_t x = wants_a ? l->is_new[a] : 0, y = wants_b ? l->is_new[b] : 0;
  const int64_t n = x > y ? x : y;
  if (n == 0) return;
  p->needed[l->at[x > y ? a : b]] = 1;
  if (l->is_new[a] <= n) l->is_new[a] = 0;
  if (l->is_new[b] <= n) l->is_new[b] = 0;
}

static void record(latest *l, int32_t event, int64_t at)
{
  l->at[event] = at;
  l->is_new[event] = ++l->recorded;
}

/* The waits and records of executor/pipeline.c. */
static void follow_op(zp_cuda_plan *p, latest *l, int64_t at)
{
  const zp_op *op = &p->program[ZP_PHASE_STEP][at];
  const int next = op->what == ZP_WHAT_ACTIVATION, out = op->mb >= 0, in = op->recv_mb >= 0;
  if (op->kind == ZP_OP_P2P) {
    wait_once(p, l, FORWARDED, out && next, BACKWARDED, in || (out && !next));
    record(l, next ? NEXT : PREVIOUS, at);
  } else if (op->kind == ZP_OP_FORWARD || op->kind == ZP_OP_BACKWARD) {
    wait_once(p, l, PREVIOUS, 1, NEXT, 1);
    record(l, op->kind == ZP_OP_FORWARD ? FORWARDED : BACKWARDED, at);
  } else if (op->kind == ZP_OP_DECIDE) {
    p->needed[l->at[BACKWARDED]] = 1;
  }
}

/* A stream that refills a slot in this step waits for the slot's reduction; the next step is
 * ordered after all of this one. */
static int find_needed_slots(zp_cuda_plan *p)
{
  const zp_op *ops = p->program[ZP_PHASE_STEP];
  uint8_t *refilled = calloc((size_t)p->slots + 1, 1);
  if (!refilled) return -1;
  for (int64_t at = p->length[ZP_PHASE_STEP] - 1; at >= 0; at--) {
    if (ops[at].kind == ZP_OP_ADD) refilled[ops[at].slot] = 1;
    else if (ops[at].what == ZP_WHAT_GRADIENT) p->needed[at] = refilled[ops[at].slot];
  }
  free(refilled);
  return 0;
}

int zp_cuda_find_needed_records(zp_cuda_plan *p)
{
  const int64_t n = p->length[ZP_PHASE_STEP];
  latest l = {0, {0}, {0}};
  if (p->cfg->stage == 2 && find_needed_slots(p)) return -1;
  for (int64_t i = 0; i < 2 * n; i++)
    follow_op(p, &l, i % n); /* twice: the next step waits for this one, too */
  return 0;
}

int zp_cuda_record_is_needed(const zp_cuda_plan *p, const zp_cuda_position *host)
{
  return host->cursor.phase != ZP_PHASE_STEP || p->needed[zp_cursor_position(&host->cursor)];
}
