/* Matching the members' calls: an operation is queued when all its members have called it, and a
 * call that does not match is an error of all members. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"

static int same(const zp_nt_op *a, const zp_nt_op *b)
{
  if (a->kind != b->kind) return 0;
  if (a->kind == ZP_NT_SPLIT) return 1;
  return a->count == b->count && a->dtype == b->dtype && a->redop == b->redop && a->peer == b->peer;
}

static void fail_mismatch(zp_nt_shared *s, ncclComm_t a, const zp_nt_op *x, ncclComm_t b,
                          const zp_nt_op *y)
{
  char first[96], second[96];
  zp_nt_fail(s, ncclInvalidUsage,
             "nccl_threads: members called different operations: call %llu of member %d is %s, "
             "call %llu of member %d is %s",
             (unsigned long long)a->calls, a->rank, zp_nt_op_text(x, first),
             (unsigned long long)b->calls, b->rank, zp_nt_op_text(y, second));
}

/* ---- Splitting ------------------------------------------------------------------------------- */

/* A member's rank in its child: by key, then by rank. */
static int rank_in_child(const zp_nt_shared *s, int32_t rank)
{
  const zp_nt_op *own = &s->member[rank]->ops[0];
  int index = 0;
  for (int32_t r = 0; r < s->n; r++) {
    const zp_nt_op *o = &s->member[r]->ops[0];
    if (o->color != own->color || r == rank) continue;
    index += o->peer < own->peer || (o->peer == own->peer && r < rank);
  }
  return index;
}

static void split(zp_nt_shared *s)
{
  for (int32_t r = 0; r < s->n; r++) {
    const int32_t color = s->member[r]->ops[0].color;
    zp_nt_shared *child = NULL;
    int32_t n = 0, first = 1;
    for (int32_t m = 0; m < s->n; m++) {
      n += s->member[m]->ops[0].color == color;
      if (m < r && s->member[m]->ops[0].color == color) first = 0;
    }
    if (color == NCCL_SPLIT_NOCOLOR) *s->member[r]->ops[0].child = NULL;
    if (color == NCCL_SPLIT_NOCOLOR || !first) continue;
    child = zp_nt_shared_make(n, 0);
    for (int32_t m = r; child && m < s->n; m++) {
      const zp_nt_op *o = &s->member[m]->ops[0];
      if (o->color == color) *o->child = zp_nt_member_make(child, rank_in_child(s, m), o->blocking);
      if (o->color == color && !*o->child) child = NULL;
    }
    if (!child) zp_nt_fail(s, ncclSystemError, "nccl_threads: out of memory for a communicator");
  }
  for (int32_t r = 0; r < s->n; r++) s->member[r]->pending = 0;
}

/* ---- Matching -------------------------------------------------------------------------------- */

/* A member's collective in progress, or NULL. */
static const zp_nt_op *collective_of(ncclComm_t c)
{
  return c && c->pending > 0 && c->ops[0].kind > ZP_NT_RECV ? &c->ops[0] : NULL;
}

static void match_collective(ncclComm_t c)
{
  zp_nt_shared *s = c->s;
  int32_t here = 0;
  for (int32_t r = 0; r < s->n; r++) {
    const zp_nt_op *o = collective_of(s->member[r]);
    if (!o) continue;
    here++;
    if (same(o, &c->ops[0])) continue;
    fail_mismatch(s, s->member[r], o, c, &c->ops[0]);
    return;
  }
  if (here < s->n) return;
  if (c->ops[0].kind == ZP_NT_SPLIT) split(s);
  else zp_nt_queue_collective(s);
}

/* The other member's first message between the same two that is not queued. */
static zp_nt_op *counterpart(ncclComm_t other, const zp_nt_op *op, int32_t rank)
{
  const zp_nt_kind kind = op->kind == ZP_NT_SEND ? ZP_NT_RECV : ZP_NT_SEND;
  for (int32_t i = 0; other && i < other->n_ops && other->pending > 0; i++) {
    zp_nt_op *o = &other->ops[i];
    if (!o->queued && o->kind == kind && o->peer == rank) return o;
  }
  return NULL;
}

static void match_message(ncclComm_t c, zp_nt_op *op)
{
  ncclComm_t other = c->s->member[op->peer];
  zp_nt_op *match = counterpart(other, op, c->rank);
  if (!match) {
    /* the other member waits in a collective for this one, which waits for its message */
    if (collective_of(other)) fail_mismatch(c->s, other, &other->ops[0], c, op);
    return;
  }
  if (match->count != op->count || match->dtype != op->dtype) {
    fail_mismatch(c->s, other, match, c, op);
    return;
  }
  op->queued = match->queued = 1;
  c->pending--;
  other->pending--;
  if (op->kind == ZP_NT_SEND) zp_nt_queue_message(c, other, op, match);
  else zp_nt_queue_message(other, c, match, op);
}

/* Members whose last message is queued: later work on their streams runs after all of them. */
static void note_ends(zp_nt_shared *s)
{
  for (int32_t r = 0; r < s->n; r++) {
    ncclComm_t m = s->member[r];
    if (!m || m->pending > 0 || m->n_ops == 0) continue;
    if (m->ops[0].kind != ZP_NT_SPLIT && s->error == ncclSuccess) {
      m->used = 1;
      zp_nt_check(s, cudaEventRecord(m->ended, m->stream), "cudaEventRecord");
    }
    m->n_ops = 0;
  }
}

/* A message to this member, which has called a collective, cannot be matched any more. */
static void check_messages_to(ncclComm_t c)
{
  for (int32_t r = 0; r < c->s->n; r++) {
    ncclComm_t m = c->s->member[r];
    for (int32_t i = 0; m && m->pending > 0 && i < m->n_ops; i++)
      if (m->ops[i].kind <= ZP_NT_RECV && !m->ops[i].queued && m->ops[i].peer == c->rank)
        fail_mismatch(c->s, m, &m->ops[i], c, &c->ops[0]);
  }
}

static ncclResult_t check(ncclComm_t c, const zp_nt_op *ops, int32_t n)
{
  for (int32_t i = 0; i < n; i++) {
    const zp_nt_op *o = &ops[i];
    if (o->kind > ZP_NT_RECV && n > 1)
      return zp_nt_fail(c->s, ncclInvalidUsage,
                        "nccl_threads: a group may hold only sends and receives");
    if (o->stream != ops[0].stream)
      return zp_nt_fail(c->s, ncclInvalidUsage,
                        "nccl_threads: all operations of a group must be on one stream");
    if (o->kind == ZP_NT_SPLIT) continue;
    if (zp_nt_dtype_bytes(o->dtype) == 0 || o->peer < 0 || o->peer >= c->s->n)
      return zp_nt_fail(c->s, ncclInvalidArgument,
                        "nccl_threads: member %d: type %d, peer or root %d", c->rank, o->dtype,
                        o->peer);
    if ((o->kind == ZP_NT_ALL_REDUCE || o->kind == ZP_NT_REDUCE_SCATTER) &&
        !zp_nt_can_reduce(o->dtype, o->redop))
      return zp_nt_fail(c->s, ncclInvalidArgument,
                        "nccl_threads: type %d cannot be reduced with op %d", o->dtype, o->redop);
  }
  return ncclSuccess;
}

ncclResult_t zp_nt_submit(ncclComm_t c, const zp_nt_op *ops, int32_t n)
{
  const ncclResult_t state = zp_nt_state(c);
  if (state == ncclInProgress)
    return zp_nt_fail(c->s, ncclInvalidUsage,
                      "nccl_threads: member %d calls while its last call is in progress", c->rank);
  if (state != ncclSuccess) return state;
  if (check(c, ops, n) != ncclSuccess) return c->s->error;
  memcpy(c->ops, ops, (size_t)n * sizeof *ops);
  c->n_ops = c->pending = n;
  c->stream = ops[0].stream;
  c->calls++;
  if (ops[0].kind != ZP_NT_SPLIT &&
      zp_nt_check(c->s, cudaEventRecord(c->ready, c->stream), "cudaEventRecord"))
    return c->s->error;
  for (int32_t i = 0; i < n && c->s->error == ncclSuccess && ops[0].kind <= ZP_NT_RECV; i++)
    if (!c->ops[i].queued) match_message(c, &c->ops[i]);
  if (ops[0].kind > ZP_NT_RECV) {
    check_messages_to(c);
    if (c->s->error == ncclSuccess) match_collective(c);
  }
  note_ends(c->s);
  return c->s->error;
}
