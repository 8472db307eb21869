/* Members meet: who has come, what for, and whether that is one operation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int64_t lb_bytes_of(int32_t dtype)
{
  switch (dtype) {
  case ncclInt8:
  case ncclUint8: return 1;
  case ncclFloat16:
  case ncclBfloat16: return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32: return 4;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64: return 8;
  default: return 0;
  }
}

const char *lb_name_of(const lb_op *op, char text[96])
{
  static const char *const names[] = {"ncclSend",          "ncclRecv",      "ncclAllReduce",
                                      "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
                                      "ncclCommSplit"};
  if (op->kind == LB_SPLIT) return "ncclCommSplit";
  snprintf(text, 96, "%s(count %llu, type %d, op %d, %s %d)", names[op->kind],
           (unsigned long long)op->count, op->dtype, op->redop,
           op->kind <= LB_RECV ? "peer" : "root", op->peer);
  return text;
}

static int same(const lb_op *a, const lb_op *b)
{
  if (a->kind != b->kind) return 0;
  if (a->kind == LB_SPLIT) return 1;
  return a->count == b->count && a->dtype == b->dtype && a->redop == b->redop && a->peer == b->peer;
}

static void differ(lb_shared *s, ncclComm_t a, const lb_op *x, ncclComm_t b, const lb_op *y)
{
  char first[96], second[96];
  lb_fail(s, ncclInvalidUsage,
          "loopback: members disagree: call %llu of member %d is %s, call %llu of member %d is %s",
          (unsigned long long)a->calls, a->rank, lb_name_of(x, first), (unsigned long long)b->calls,
          b->rank, lb_name_of(y, second));
}

/* ---- Splitting ------------------------------------------------------------------------------- */

/* Whom a member's child has before it: smaller keys, then smaller ranks. */
static int place_in(const lb_shared *s, int32_t rank)
{
  const lb_op *own = &s->member[rank]->ops[0];
  int place = 0;
  for (int32_t r = 0; r < s->n; r++) {
    const lb_op *o = &s->member[r]->ops[0];
    if (o->color != own->color || r == rank) continue;
    place += o->peer < own->peer || (o->peer == own->peer && r < rank);
  }
  return place;
}

static void split(lb_shared *s)
{
  for (int32_t r = 0; r < s->n; r++) {
    const int32_t color = s->member[r]->ops[0].color;
    lb_shared *child = NULL;
    int32_t n = 0, first = 1;
    for (int32_t m = 0; m < s->n; m++) {
      n += s->member[m]->ops[0].color == color;
      if (m < r && s->member[m]->ops[0].color == color) first = 0;
    }
    if (color == NCCL_SPLIT_NOCOLOR) *s->member[r]->ops[0].child = NULL;
    if (color == NCCL_SPLIT_NOCOLOR || !first) continue;
    child = lb_shared_of(n, 0);
    for (int32_t m = r; child && m < s->n; m++) {
      const lb_op *o = &s->member[m]->ops[0];
      if (o->color == color) *o->child = lb_member(child, place_in(s, m), o->blocking);
      if (o->color == color && !*o->child) child = NULL;
    }
    if (!child) lb_fail(s, ncclSystemError, "loopback: no memory for a communicator");
  }
  for (int32_t r = 0; r < s->n; r++) s->member[r]->pending = 0;
}

/* ---- Meeting --------------------------------------------------------------------------------- */

/* A member's collective that is not over, or NULL. */
static const lb_op *collective_of(ncclComm_t c)
{
  return c && c->pending > 0 && c->ops[0].kind > LB_RECV ? &c->ops[0] : NULL;
}

static void meet_collective(ncclComm_t c)
{
  lb_shared *s = c->s;
  int32_t here = 0;
  for (int32_t r = 0; r < s->n; r++) {
    const lb_op *o = collective_of(s->member[r]);
    if (!o) continue;
    here++;
    if (same(o, &c->ops[0])) continue;
    differ(s, s->member[r], o, c, &c->ops[0]);
    return;
  }
  if (here < s->n) return;
  if (c->ops[0].kind == LB_SPLIT) split(s);
  else lb_move_collective(s);
}

/* The other's first message on the same way that is not over. */
static lb_op *match_of(ncclComm_t other, const lb_op *op, int32_t rank)
{
  const lb_kind kind = op->kind == LB_SEND ? LB_RECV : LB_SEND;
  for (int32_t i = 0; other && i < other->n_ops && other->pending > 0; i++) {
    lb_op *o = &other->ops[i];
    if (!o->over && o->kind == kind && o->peer == rank) return o;
  }
  return NULL;
}

static void meet_message(ncclComm_t c, lb_op *op)
{
  ncclComm_t other = c->s->member[op->peer];
  lb_op *match = match_of(other, op, c->rank);
  if (!match) {
    /* it waits for this member, which waits for it */
    if (collective_of(other)) differ(c->s, other, &other->ops[0], c, op);
    return;
  }
  if (match->count != op->count || match->dtype != op->dtype) {
    differ(c->s, other, match, c, op);
    return;
  }
  op->over = match->over = 1;
  c->pending--;
  other->pending--;
  if (op->kind == LB_SEND) lb_move_message(c, other, op, match);
  else lb_move_message(other, c, match, op);
}

/* Members whose last message is over: what follows on their streams is behind all of them. */
static void note_ends(lb_shared *s)
{
  for (int32_t r = 0; r < s->n; r++) {
    ncclComm_t m = s->member[r];
    if (!m || m->pending > 0 || m->n_ops == 0) continue;
    if (m->ops[0].kind != LB_SPLIT && s->error == ncclSuccess) {
      m->used = 1;
      lb_cuda(s, cudaEventRecord(m->ended, m->stream), "cudaEventRecord");
    }
    m->n_ops = 0;
  }
}

/* Whose message waits for a member that waits in a collective for all. */
static void look_for_knots(ncclComm_t c)
{
  for (int32_t r = 0; r < c->s->n; r++) {
    ncclComm_t m = c->s->member[r];
    for (int32_t i = 0; m && m->pending > 0 && i < m->n_ops; i++)
      if (m->ops[i].kind <= LB_RECV && !m->ops[i].over && m->ops[i].peer == c->rank)
        differ(c->s, m, &m->ops[i], c, &c->ops[0]);
  }
}

static ncclResult_t check(ncclComm_t c, const lb_op *ops, int32_t n)
{
  for (int32_t i = 0; i < n; i++) {
    const lb_op *o = &ops[i];
    if (o->kind > LB_RECV && n > 1)
      return lb_fail(c->s, ncclInvalidUsage, "loopback: a group is of sends and receives");
    if (o->stream != ops[0].stream)
      return lb_fail(c->s, ncclInvalidUsage, "loopback: a group is of one stream");
    if (o->kind == LB_SPLIT) continue;
    if (lb_bytes_of(o->dtype) == 0 || o->peer < 0 || o->peer >= c->s->n)
      return lb_fail(c->s, ncclInvalidArgument, "loopback: member %d: type %d, peer or root %d",
                     c->rank, o->dtype, o->peer);
    if ((o->kind == LB_ALL_REDUCE || o->kind == LB_REDUCE_SCATTER) &&
        !lb_can_reduce(o->dtype, o->redop))
      return lb_fail(c->s, ncclInvalidArgument, "loopback: no reduction of type %d with op %d",
                     o->dtype, o->redop);
  }
  return ncclSuccess;
}

ncclResult_t lb_submit(ncclComm_t c, const lb_op *ops, int32_t n)
{
  const ncclResult_t state = lb_state(c);
  if (state == ncclInProgress)
    return lb_fail(c->s, ncclInvalidUsage, "loopback: member %d calls while a call is in progress",
                   c->rank);
  if (state != ncclSuccess) return state;
  if (check(c, ops, n) != ncclSuccess) return c->s->error;
  memcpy(c->ops, ops, (size_t)n * sizeof *ops);
  c->n_ops = c->pending = n;
  c->stream = ops[0].stream;
  c->calls++;
  if (ops[0].kind != LB_SPLIT &&
      lb_cuda(c->s, cudaEventRecord(c->ready, c->stream), "cudaEventRecord"))
    return c->s->error;
  for (int32_t i = 0; i < n && c->s->error == ncclSuccess && ops[0].kind <= LB_RECV; i++)
    if (!c->ops[i].over) meet_message(c, &c->ops[i]);
  if (ops[0].kind > LB_RECV) {
    look_for_knots(c);
    if (c->s->error == ncclSuccess) meet_collective(c);
  }
  note_ends(c->s);
  return c->s->error;
}
