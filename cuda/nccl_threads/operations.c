/* NCCL's operations. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"

static ncclResult_t submit(ncclComm_t c, const zp_nt_op *ops, int32_t n)
{
  ncclResult_t r;
  zp_nt_lock();
  r = zp_nt_submit(c, ops, n);
  zp_nt_unlock();
  return r;
}

/* Submits the operation, or adds it to the open group. */
static ncclResult_t call(const zp_nt_op *op)
{
  const int added = zp_nt_group_add(op);
  ncclResult_t r;
  if (added != 0) return added > 0 ? ncclSuccess : ncclInvalidUsage;
  r = submit(op->comm, op, 1);
  return r == ncclSuccess ? zp_nt_wait(op->comm) : r;
}

ncclResult_t ncclGroupStart(void)
{
  zp_nt_group_open();
  return ncclSuccess;
}

/* A group may hold several communicators. Each gets its operations before the call waits. */
ncclResult_t ncclGroupEnd(void)
{
  const int depth = zp_nt_group_close();
  ncclResult_t result = ncclSuccess;
  zp_nt_op *ops, *own;
  int n;
  if (depth != 0) return depth < 0 ? ncclInvalidUsage : ncclSuccess;
  ops = malloc(2 * ZP_NT_OPS_MAX * sizeof *ops);
  if (!ops) return ncclSystemError;
  own = ops + ZP_NT_OPS_MAX;
  n = zp_nt_group_collect(ops);
  if (n < 0) result = ncclInvalidUsage;
  for (int i = 0; i < n && result == ncclSuccess; i++) {
    int k = 0, seen = 0;
    for (int j = 0; j < i; j++) seen |= ops[j].comm == ops[i].comm;
    for (int j = i; j < n && !seen; j++)
      if (ops[j].comm == ops[i].comm) own[k++] = ops[j];
    if (k > 0) result = submit(ops[i].comm, own, k);
  }
  for (int i = 0; i < n && (result == ncclSuccess || result == ncclInProgress); i++) {
    const ncclResult_t r = zp_nt_wait(ops[i].comm);
    if (r != ncclSuccess) result = r;
  }
  free(ops);
  return result;
}

static ncclResult_t communicate(int kind, const void *from, void *to, size_t count,
                                ncclDataType_t type, ncclRedOp_t redop, int peer, ncclComm_t comm,
                                cudaStream_t stream)
{
  const zp_nt_op op = {.kind = kind,
                       .send = from,
                       .recv = to,
                       .count = count,
                       .dtype = type,
                       .redop = redop,
                       .peer = peer,
                       .comm = comm,
                       .stream = stream};
  return call(&op);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
  return communicate(ZP_NT_SEND, from, NULL, count, type, 0, peer, comm, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
  return communicate(ZP_NT_RECV, NULL, to, count, type, 0, peer, comm, stream);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t redop, ncclComm_t comm, cudaStream_t stream)
{
  return communicate(ZP_NT_ALL_REDUCE, from, to, count, type, redop, 0, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t redop, ncclComm_t comm, cudaStream_t stream)
{
  return communicate(ZP_NT_REDUCE_SCATTER, from, to, count, type, redop, 0, comm, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
  return communicate(ZP_NT_ALL_GATHER, from, to, count, type, 0, 0, comm, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
  return communicate(ZP_NT_BROADCAST, from, to, count, type, 0, root, comm, stream);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                           ncclConfig_t *config)
{
  const zp_nt_op op = {.kind = ZP_NT_SPLIT,
                       .color = color,
                       .peer = key,
                       .child = child,
                       .comm = comm,
                       .blocking = config ? config->blocking != 0 : comm->blocking};
  return zp_nt_group_depth() > 0 ? ncclInvalidUsage : call(&op);
}
