#include "comm_sim_report.h"

#include <stdio.h>

enum { SHOWN = 12, RUNS = 24, TEXT = 256 }; /* ranks and runs of ranks listed; more are counted */

/* "dp {0, 1, 2}", at most six members. */
static void name_group(const zp_rank *r, const zp_op *op, char *text, int cap)
{
  const int32_t n = zp_block_group_size(&r->block, op->group, op->key);
  int used = snprintf(text, (size_t)cap, "%s", zp_group_name(op->group));
  if (op->group == ZP_GROUP_TIED)
    used += snprintf(text + used, (size_t)(cap - used), " key %d", op->key);
  used += snprintf(text + used, (size_t)(cap - used), " {");
  for (int32_t i = 0; i < n && i < 6; i++)
    used += snprintf(text + used, (size_t)(cap - used), "%s%d", i ? ", " : "",
                     zp_block_group_member(&r->block, op->group, op->key, i));
  snprintf(text + used, (size_t)(cap - used), n > 6 ? ", ... %d ranks}" : "}", n);
}

/* "rank 3 (stage 1, dp 0, tp 0), position 17 of step 0: all_reduce(…) of group world {…}". */
static void put_rank(const zp_rank *r, const zp_wait *w, zp_error *err)
{
  char op[TEXT], group[TEXT];
  const zp_op *at;
  zp_error_append(err, "\n  rank %d (stage %d, dp %d, tp %d)", r->rank, r->at.pp, r->at.dp,
                  r->at.tp);
  if (w->state == ZP_ENDED) {
    zp_error_append(err, " has ended its %s program", zp_phase_name(r->cursor.phase));
    return;
  }
  if (zp_cursor_position(&r->cursor) >= r->cursor.length) return;
  at = w->state == ZP_WAITING ? &r->current : &r->cursor.ops[zp_cursor_position(&r->cursor)];
  zp_op_describe(at, op, sizeof op);
  zp_error_append(err, ", %s %lld, program position %lld: %s", zp_phase_name(r->cursor.phase),
                  (long long)r->step, (long long)zp_cursor_position(&r->cursor), op);
  if (at->kind < ZP_OP_FIRST_COMM) return;
  name_group(r, at, group, sizeof group);
  zp_error_append(err, " of group %s", group);
}

/* Whether rank q waits in the same op as r. */
static int joined(const zp_rank *r, const zp_rank *q, const zp_wait *w)
{
  const zp_op *a = &r->current, *b = &q->current;
  return w->state == ZP_WAITING && a->group == b->group && a->key == b->key && a->kind == b->kind &&
         a->what == b->what;
}

/* The rank that r waits for: its neighbour, or the first member in another op; -1: no rank. */
static int32_t waits_for(zp_rank *const *rank, const zp_wait *wait, int32_t r)
{
  const zp_op *op = &rank[r]->current;
  const zp_block_rank *b = &rank[r]->block;
  if (wait[r].state != ZP_WAITING) return -1;
  if (op->kind == ZP_OP_P2P || op->kind == ZP_OP_META)
    return zp_block_group_member(b, ZP_GROUP_PP, -1, op->root);
  for (int32_t i = 0; i < zp_block_group_size(b, op->group, op->key); i++) {
    const int32_t m = zp_block_group_member(b, op->group, op->key, i);
    if (m != r && !joined(rank[r], rank[m], &wait[m])) return m;
  }
  return -1;
}

/* Some of the ranks: those in a state, or (of >= 0) those that rank `of` waits for. */
typedef struct some {
  zp_rank *const *rank;
  const zp_wait *wait;
  int32_t world, state, of;
} some;

static int holds(const some *s, int32_t r)
{
  const zp_op *op;
  if (s->of < 0) return s->wait[r].state == s->state;
  op = &s->rank[s->of]->current;
  if (op->kind == ZP_OP_P2P || op->kind == ZP_OP_META)
    return r == waits_for(s->rank, s->wait, s->of);
  return r != s->of && !joined(s->rank[s->of], s->rank[r], &s->wait[r]) &&
         zp_block_group_id(&s->rank[r]->block, op->group, op->key) ==
             zp_block_group_id(&s->rank[s->of]->block, op->group, op->key);
}

/* "rank 3", "ranks 0, 2 to 5". */
static void put_some(zp_error *err, const some *s)
{
  int32_t n = 0, runs = 0, put = 0;
  for (int32_t r = 0; r < s->world; r++) n += holds(s, r);
  zp_error_append(err, n == 1 ? "rank" : "ranks");
  for (int32_t r = 0, end; r < s->world && runs < RUNS; r = end + 1) {
    for (end = r; end < s->world && holds(s, end);) end++;
    if (end == r) continue;
    put += end - r;
    zp_error_append(err, "%s %d", runs++ > 0 ? "," : "", r);
    if (end > r + 1) zp_error_append(err, end > r + 2 ? " to %d" : ", %d", end - 1);
  }
  if (put < n) zp_error_append(err, ", ... (%d in all)", n);
}

void zp_report_mismatch(zp_rank *const *rank, const zp_wait *wait, int32_t a, int32_t b,
                        zp_error *err)
{
  err->status = ZP_OK;
  zp_fail(err, ZP_E_MISMATCH, b,
          "mismatch: two members of one group issued different communications (LEDG-2)");
  put_rank(rank[a], &wait[a], err);
  put_rank(rank[b], &wait[b], err);
  zp_error_append(err,
                  "\n  every member of a group must issue the same op, count, dtype, redop and "
                  "root, in the same order");
}

static int listed(const int32_t *chain, int32_t n, int32_t r)
{
  for (int32_t i = 0; i < n; i++)
    if (chain[i] == r) return 1;
  return 0;
}

/* The chain of waits from the first waiting rank on, until it closes or ends. */
static void put_chain(zp_rank *const *rank, const zp_wait *wait, int32_t world, zp_error *err)
{
  int32_t chain[SHOWN], shown = 0, r = 0;
  while (r < world && wait[r].state != ZP_WAITING) r++;
  while (r >= 0 && r < world && shown < SHOWN && !listed(chain, shown, r)) {
    const int32_t next = waits_for(rank, wait, r);
    chain[shown++] = r;
    put_rank(rank[r], &wait[r], err);
    if (next >= 0) {
      zp_error_append(err, "\n    waits for ");
      put_some(err, &(some){rank, wait, world, 0, r});
    }
    r = next;
  }
  if (listed(chain, shown, r)) zp_error_append(err, "; this closes the cycle");
}

void zp_report_deadlock(zp_rank *const *rank, const zp_wait *wait, int32_t world, zp_error *err)
{
  int32_t ended = 0;
  for (int32_t r = 0; r < world; r++) ended += wait[r].state == ZP_ENDED;
  zp_fail(err, ZP_E_DEADLOCK, -1, "deadlock: no rank can continue (LEDG-7); waiting: ");
  put_some(err, &(some){rank, wait, world, ZP_WAITING, -1});
  if (ended > 0) {
    zp_error_append(err, "; ended: ");
    put_some(err, &(some){rank, wait, world, ZP_ENDED, -1});
  }
  put_chain(rank, wait, world, err);
}

void zp_report_others(zp_rank *const *rank, const zp_wait *wait, int32_t world, zp_error *err)
{
  int32_t shown = 0;
  if (err->status == ZP_E_MISMATCH || err->rank < 0) return;
  zp_error_append(err, "\n  all other ranks were stopped by rank %d's error:", err->rank);
  for (int32_t r = 0; r < world && shown < SHOWN; r++) {
    if (r == err->rank) continue;
    put_rank(rank[r], &wait[r], err);
    shown++;
  }
  if (world - 1 > shown) zp_error_append(err, "\n  and %d more", world - 1 - shown);
}
