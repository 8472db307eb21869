/* spec: RED-4, RED-5, PIPE-3 */
#define _GNU_SOURCE
#include "comm_mpi_data.h"

#include <stdlib.h>
#include <string.h>

#include "comm_mpi_messages.h"
#include "comm_mpi_wait.h"

static int64_t smaller(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static int grow_scratch(zp_mpi *m, int64_t bytes)
{
  if (bytes <= m->cap_scratch) return 0;
  char *p = realloc(m->scratch, (size_t)bytes);
  if (!p) return -1;
  m->scratch = p;
  m->cap_scratch = bytes;
  return 0;
}

/* A type of which `*count` elements are `bytes` bytes, however many. MPI_DATATYPE_NULL: failed. */
static MPI_Datatype type_of(const zp_mpi *m, int64_t bytes, int *count)
{
  MPI_Datatype part, whole;
  const MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
  int lengths[2] = {1, (int)(bytes % m->piece)};
  MPI_Aint at[2] = {0, (MPI_Aint)(bytes - bytes % m->piece)};
  *count = (int)bytes;
  if (bytes <= m->piece) return MPI_BYTE;
  *count = 1;
  lengths[0] = (int)(bytes / m->piece);
  if (MPI_Type_contiguous((int)m->piece, MPI_BYTE, &part)) return MPI_DATATYPE_NULL;
  MPI_Datatype both[2] = {part, types[1]};
  if (MPI_Type_create_struct(2, lengths, at, both, &whole)) whole = MPI_DATATYPE_NULL;
  else if (MPI_Type_commit(&whole)) MPI_Type_free(&whole);
  MPI_Type_free(&part);
  return whole;
}

/* ALL_GATHER, GATHER, BROADCAST by MPI: they only move bytes. */
int zp_mpi_move_bytes(zp_mpi *m, const position *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  const int64_t bytes = op->count * zp_dtype_bytes(op->dtype);
  const void *send = at->q->send;
  void *recv = at->q->recv;
  int n, rc;
  if (bytes == 0) return 0;
  if (zp_mpi_reserve(m)) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
  MPI_Datatype type = type_of(m, bytes, &n);
  MPI_Request *req = &m->req[m->n_req];
  if (type == MPI_DATATYPE_NULL) return zp_mpi_finish(m, at, 1, err);
  if (op->kind == ZP_OP_ALL_GATHER) rc = MPI_Iallgather(send, n, type, recv, n, type, c->comm, req);
  else if (op->kind == ZP_OP_GATHER)
    rc = MPI_Igather(send, n, type, recv, n, type, op->root, c->comm, req);
  else rc = MPI_Ibcast(recv, n, type, op->root, c->comm, req);
  if (!rc) zp_mpi_started(m, -1);
  if (type != MPI_BYTE) MPI_Type_free(&type); /* lives on until the collective is done */
  return zp_mpi_finish(m, at, rc, err);
}

/* Part q, of `part` elements each, of `total` elements: the last parts may be short or empty. */
static int64_t part_start(int64_t part, int64_t total, int32_t q)
{
  return smaller(part * q, total);
}
static int64_t part_count(int64_t part, int64_t total, int32_t q)
{
  return part_start(part, total, q + 1) - part_start(part, total, q);
}

/* Direct exchange: part q of everyone's `send` goes to member q, who reduces the D parts in member
 * order, so that every bit is comm_sim's. out: this member's part of the result. RED-4, RED-5 */
static int reduce_parts(zp_mpi *m, const position *at, int64_t part, int64_t total, void *out,
                        zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  const int64_t size = zp_dtype_bytes(op->dtype), mine = part_count(part, total, c->index);
  const char *send = at->q->send;
  int failed = 0;
  if (grow_scratch(m, c->size * mine * size))
    return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory to reduce %lld bytes", m->rank,
                   (long long)(c->size * mine * size));
  for (int32_t i = 0; i < c->size; i++) {
    m->parts[i] =
        i == c->index ? send + part_start(part, total, i) * size : m->scratch + i * mine * size;
    if (i != c->index && !failed)
      failed = zp_mpi_post(m, c, 0, m->parts[i], mine * size, i, TAG_DATA);
  }
  for (int32_t i = 0; i < c->size && !failed; i++)
    if (i != c->index)
      failed = zp_mpi_post(m, c, 1, send + part_start(part, total, i) * size,
                           part_count(part, total, i) * size, i, TAG_DATA);
  if (zp_mpi_finish(m, at, failed, err)) return err->status;
  zp_reduce_members(op->redop, op->dtype, c->size, m->parts, mine, out);
  return 0;
}

int zp_mpi_reduce_scatter(zp_mpi *m, const position *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  if (op->redop != ZP_RED_SUM || op->count * c->size > m->piece / 8)
    return reduce_parts(m, at, op->count, op->count * c->size, at->q->recv, err);
  if (zp_mpi_reserve(m)) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
  const int rc = MPI_Ireduce_scatter_block(at->q->send, at->q->recv, (int)op->count, MPI_INT64_T,
                                           MPI_SUM, c->comm, &m->req[m->n_req]);
  if (!rc) zp_mpi_started(m, -1);
  return zp_mpi_finish(m, at, rc, err);
}

/* Integer addition is associative: MPI may add in any order. STAT-3 */
static int all_reduce_sum(zp_mpi *m, const position *at, zp_error *err)
{
  const int64_t *send = at->q->send;
  int64_t *recv = at->q->recv, left = at->q->op->count;
  int rc = 0;
  while (left > 0 && !rc) {
    const int n = (int)smaller(left, m->piece / 8);
    if (zp_mpi_reserve(m)) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
    rc = MPI_Iallreduce(send == recv ? MPI_IN_PLACE : send, recv, n, MPI_INT64_T, MPI_SUM,
                        at->c->comm, &m->req[m->n_req]);
    if (!rc) zp_mpi_started(m, -1);
    send += n;
    recv += n;
    left -= n;
  }
  return zp_mpi_finish(m, at, rc, err);
}

/* Each member reduces one part and sends it to all others. RED-4, RED-5 */
int zp_mpi_all_reduce(zp_mpi *m, const position *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  if (op->redop == ZP_RED_SUM) return all_reduce_sum(m, at, err);
  const int64_t total = op->count, part = (total + c->size - 1) / c->size;
  const int64_t size = zp_result_width(op->redop) * zp_dtype_bytes(zp_result_dtype(op->redop));
  char *recv = at->q->recv, *mine = recv + part_start(part, total, c->index) * size;
  int failed = 0;
  if (reduce_parts(m, at, part, total, mine, err)) return err->status;
  for (int32_t i = 0; i < c->size && !failed; i++)
    if (i != c->index)
      failed = zp_mpi_post(m, c, 0, recv + part_start(part, total, i) * size,
                           part_count(part, total, i) * size, i, TAG_DATA);
  for (int32_t i = 0; i < c->size && !failed; i++)
    if (i != c->index)
      failed = zp_mpi_post(m, c, 1, mine, part_count(part, total, c->index) * size, i, TAG_DATA);
  return zp_mpi_finish(m, at, failed, err);
}

/* Both halves are posted before either is waited for: no buffering is needed. PIPE-3 */
int zp_mpi_exchange(zp_mpi *m, const position *at, zp_error *err)
{
  const zp_request *q = at->q;
  const int32_t who = q->op->root;
  const int64_t meta = ZP_META_LONGS * (int64_t)sizeof *q->in_meta;
  int failed = 0;
  if (q->op->kind == ZP_OP_META) {
    if (q->op->recv_mb >= 0) failed = zp_mpi_post(m, at->c, 0, q->in_meta, meta, who, TAG_DATA);
    if (q->op->mb >= 0 && !failed)
      failed = zp_mpi_post(m, at->c, 1, q->out_meta, meta, who, TAG_DATA);
    return zp_mpi_finish(m, at, failed, err);
  }
  for (int sends = 0; sends < 2; sends++) {
    const zp_message *msg = sends ? q->out_msg : q->in_msg;
    const int wanted = msg && (sends ? q->op->mb : q->op->recv_mb) >= 0;
    for (int32_t i = 0; wanted && i < msg->n && !failed; i++)
      failed =
          zp_mpi_post(m, at->c, sends, msg->t[i].data, zp_tensor_bytes(&msg->t[i]), who, TAG_DATA);
  }
  return zp_mpi_finish(m, at, failed, err);
}
