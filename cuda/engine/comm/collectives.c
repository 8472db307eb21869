/* spec: LEDG-1, LEDG-2 */
#include "collectives.h"

#include "../../../ref/comm/comm.h"
#include "../device/launch.h"
#include "host_wait.h"

static ncclDataType_t type_of(int32_t dtype)
{
  switch (dtype) {
  case ZP_F32: return ncclFloat32;
  case ZP_BF16: return ncclBfloat16;
  case ZP_F16: return ncclFloat16;
  case ZP_I32: return ncclInt32;
  default: return ncclInt64;
  }
}

/* A test may change what begin returns as the action. */
static int begin(const zp_cuda_comms *c, const zp_op *op, zp_cuda_action *a)
{
  a->kind = ZP_CUDA_COMMUNICATE;
  a->comm = op->group == ZP_GROUP_TIED ? c->tied[op->key] : c->group[op->group];
  zp_cuda_intercepted(c->r, a);
  return zp_cuda_order_begin(&c->order, a->stream);
}

static int end(zp_cuda_comms *c, const zp_cuda_action *a)
{
  return zp_cuda_order_end(&c->order, a->comm, a->stream);
}

int zp_cuda_all_reduce(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv, int64_t n,
                       int32_t dtype)
{
  zp_cuda_action a = {.send = send, .recv = recv, .stream = c->r->reduce};
  ZP_TRY(begin(c, op, &a));
  ZP_NCCL(c->r,
          ncclAllReduce(a.send, a.recv, (size_t)n, type_of(dtype), ncclSum, a.comm, a.stream));
  return end(c, &a);
}

int zp_cuda_reduce_scatter(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv,
                           int64_t n, int32_t dtype)
{
  zp_cuda_action a = {.send = send, .recv = recv, .stream = c->r->reduce};
  ZP_TRY(begin(c, op, &a));
  ZP_NCCL(c->r,
          ncclReduceScatter(a.send, a.recv, (size_t)n, type_of(dtype), ncclSum, a.comm, a.stream));
  return end(c, &a);
}

int zp_cuda_all_gather(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv, int64_t n,
                       int32_t dtype)
{
  return zp_cuda_all_gather_on(c, c->r->reduce, op, send, recv, n, dtype);
}

int zp_cuda_all_gather_on(zp_cuda_comms *c, cudaStream_t stream, const zp_op *op, const void *send,
                          void *recv, int64_t n, int32_t dtype)
{
  zp_cuda_action a = {.send = send, .recv = recv, .stream = stream};
  ZP_TRY(begin(c, op, &a));
  ZP_NCCL(c->r, ncclAllGather(a.send, a.recv, (size_t)n, type_of(dtype), a.comm, a.stream));
  return end(c, &a);
}

int zp_cuda_broadcast(zp_cuda_comms *c, const zp_op *op, void *data, int64_t n, int32_t dtype)
{
  zp_cuda_action a = {.send = data, .recv = data, .stream = c->r->reduce};
  ZP_TRY(begin(c, op, &a));
  ZP_NCCL(c->r,
          ncclBroadcast(a.send, a.recv, (size_t)n, type_of(dtype), op->root, a.comm, a.stream));
  return end(c, &a);
}

/* ---- Groups of sends and receives ------------------------------------------------------------ */

static int succeeded(ncclResult_t result)
{
  return result == ncclSuccess || result == ncclInProgress;
}

/* Ends the group even after a failed call, which would leave it open. */
static int end_group(zp_cuda_comms *c, const zp_cuda_action *a, ncclResult_t sent,
                     ncclResult_t received)
{
  const ncclResult_t ended = ncclGroupEnd();
  ZP_TRY(zp_cuda_check_nccl(c->r, sent, "ncclSend"));
  ZP_TRY(zp_cuda_check_nccl(c->r, received, "ncclRecv"));
  ZP_TRY(zp_cuda_check_nccl(c->r, ended, "ncclGroupEnd"));
  return end(c, a);
}

int zp_cuda_exchange_parts(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv,
                           int64_t n, int32_t dtype)
{
  const zp_cuda_plan *p = &c->r->plan;
  const int32_t members = zp_block_group_size(&p->block, op->group, op->key);
  const int32_t own = zp_block_group_index(&p->block, op->group, op->key);
  const int64_t bytes = n * zp_dtype_bytes(dtype);
  ncclResult_t sent = ncclSuccess, received = ncclSuccess;
  zp_cuda_action a = {.send = send, .recv = recv, .stream = c->r->reduce};
  if (members == 1) return 0;
  ZP_TRY(begin(c, op, &a));
  ZP_NCCL(c->r, ncclGroupStart());
  for (int32_t m = 0; m < members; m++) {
    if (m == own) continue;
    if (succeeded(sent))
      sent = ncclSend((const char *)a.send + m * bytes, (size_t)n, type_of(dtype), m, a.comm,
                      a.stream);
    if (succeeded(received))
      received =
          ncclRecv((char *)a.recv + m * bytes, (size_t)n, type_of(dtype), m, a.comm, a.stream);
  }
  return end_group(c, &a, sent, received);
}

/* NCCL has a gather of its own from 2.28 on. */
int zp_cuda_gather_parts(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv, int64_t n,
                         int32_t dtype)
{
  const zp_cuda_plan *p = &c->r->plan;
  const int32_t members = zp_block_group_size(&p->block, op->group, op->key);
  const int32_t own = zp_block_group_index(&p->block, op->group, op->key);
  const int64_t bytes = n * zp_dtype_bytes(dtype);
  ncclResult_t sent = ncclSuccess, received = ncclSuccess;
  zp_cuda_action a = {.send = send, .recv = recv, .stream = c->r->reduce};
  if (members == 1) return 0;
  ZP_TRY(begin(c, op, &a));
  ZP_NCCL(c->r, ncclGroupStart());
  if (own != op->root)
    sent = ncclSend(a.send, (size_t)n, type_of(dtype), op->root, a.comm, a.stream);
  for (int32_t m = 0; own == op->root && m < members; m++)
    if (m != own && succeeded(received))
      received =
          ncclRecv((char *)a.recv + m * bytes, (size_t)n, type_of(dtype), m, a.comm, a.stream);
  return end_group(c, &a, sent, received);
}

static int is_empty(const zp_message *m)
{
  int64_t n = 0;
  for (int32_t i = 0; m && i < m->n; i++) n += zp_tensor_numel(&m->t[i]);
  return n == 0;
}

int zp_cuda_exchange_messages(zp_cuda_comms *c, const zp_op *op, const zp_message *out,
                              const zp_message *in)
{
  ncclResult_t sent = ncclSuccess, received = ncclSuccess;
  zp_cuda_action a = {.stream = c->r->p2p};
  if (is_empty(out) && is_empty(in)) return 0;
  ZP_TRY(begin(c, op, &a));
  ZP_NCCL(c->r, ncclGroupStart());
  for (int32_t i = 0; out && i < out->n && succeeded(sent); i++) {
    const zp_tensor *t = &out->t[i];
    const size_t n = (size_t)zp_tensor_numel(t);
    if (n > 0) sent = ncclSend(t->data, n, type_of(t->dtype), op->root, a.comm, a.stream);
  }
  for (int32_t i = 0; in && i < in->n && succeeded(sent) && succeeded(received); i++) {
    const zp_tensor *t = &in->t[i];
    const size_t n = (size_t)zp_tensor_numel(t);
    if (n > 0) received = ncclRecv(t->data, n, type_of(t->dtype), op->root, a.comm, a.stream);
  }
  return end_group(c, &a, sent, received);
}
