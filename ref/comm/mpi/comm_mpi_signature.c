/* spec: LEDG-2, PIPE-6 */
#define _GNU_SOURCE
#include "comm_mpi_signature.h"

#include <string.h>

#include "comm_mpi_notice.h"

static int32_t differs(const signature *a, const signature *b, int32_t b_index)
{
  const zp_op *x = &a->op, *y = &b->op;
  if (x->kind != y->kind) return 1;
  if (x->kind != ZP_OP_P2P && x->kind != ZP_OP_META) return !zp_collective_same(x, y);
  const int32_t opposite =
      x->what == ZP_WHAT_ACTIVATION ? ZP_WHAT_ACTIVATION_GRADIENT : ZP_WHAT_ACTIVATION;
  return y->what != opposite || x->root != b_index || x->mb != y->recv_mb || x->recv_mb != y->mb ||
         memcmp(a->out, b->in, sizeof a->out) != 0 || memcmp(a->in, b->out, sizeof a->in) != 0;
}

int zp_mpi_mismatch_seen(const zp_mpi *m, const communicator *c, int32_t only)
{
  int32_t k = 0;
  for (int32_t i = 0; i < c->size; i++) {
    if (i == c->index || (only >= 0 && i != only)) continue;
    if (m->finished[k++] && differs(&m->own, &m->others[i], i)) return 1;
  }
  return 0;
}

/* "; sends bf16 (2, 64, 48); expects nothing". */
static void put_message(zp_error *err, const char *verb, const int64_t *meta)
{
  zp_message msg;
  if (zp_meta_decode(meta, &msg) || msg.n == 0) return;
  zp_error_append(err, "; %s", verb);
  for (int32_t i = 0; i < msg.n; i++) {
    zp_error_append(err, " %s (", zp_dtype_name(msg.t[i].dtype));
    for (int32_t d = 0; d < msg.t[i].ndim; d++)
      zp_error_append(err, "%s%lld", d ? ", " : "", (long long)msg.t[i].dim[d]);
    zp_error_append(err, ")");
  }
}

static void put_signature(zp_error *err, const signature *k)
{
  char text[320];
  zp_mpi_format_op(text, sizeof text, &k->op, k->phase, k->step, k->pc);
  zp_error_append(err, "\n  rank %d, %s", k->rank, text);
  put_message(err, "sends", k->out);
  put_message(err, "expects", k->in);
}

int zp_mpi_fail_mismatch(zp_mpi *m, const position *at, int32_t only, zp_error *err)
{
  const communicator *c = at->c;
  int32_t k = 0, shown = 0;
  char where[POSITION];
  zp_mpi_format_position(where, sizeof where, at);
  zp_fail(err, ZP_E_MISMATCH, -1,
          "mismatch: members of one group issued different communications (LEDG-2); rank %d, in %s",
          m->rank, where);
  put_signature(err, &m->own);
  for (int32_t i = 0; i < c->size; i++) {
    if (i == c->index || (only >= 0 && i != only)) continue;
    const int32_t there = m->finished[k++];
    if (shown++ >= SHOWN) continue;
    if (there) put_signature(err, &m->others[i]);
    else zp_error_append(err, "\n  rank %d has not come", c->member[i]);
  }
  return zp_mpi_fail_here(m, at, err);
}

void zp_mpi_sign(zp_mpi *m, const zp_request *q)
{
  signature *k = &m->own;
  memset(k, 0, sizeof *k); /* padding travels, too */
  k->op = *q->op;
  k->rank = m->rank;
  k->phase = q->phase;
  k->pc = q->pc;
  k->step = q->step;
  if (q->op->kind != ZP_OP_P2P) return;
  if (q->op->mb >= 0 && q->out_msg) zp_meta_encode(q->out_msg, k->out);
  if (q->op->recv_mb >= 0 && q->in_msg) zp_meta_encode(q->in_msg, k->in);
}
