/* NCCL's functions that communicate. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static ncclResult_t submit(ncclComm_t c, const lb_op *ops, int32_t n)
{
  ncclResult_t r;
  lb_lock();
  r = lb_submit(c, ops, n);
  lb_unlock();
  return r;
}

/* Alone, or added to the open group. */
static ncclResult_t ask(const lb_op *op)
{
  const int added = lb_group_add(op);
  ncclResult_t r;
  if (added != 0) return added > 0 ? ncclSuccess : ncclInvalidUsage;
  r = submit(op->comm, op, 1);
  return r == ncclSuccess ? lb_answer(op->comm) : r;
}

ncclResult_t ncclGroupStart(void)
{
  lb_group_open();
  return ncclSuccess;
}

/* A group may be of several communicators: each gets its share before one is waited for. */
ncclResult_t ncclGroupEnd(void)
{
  const int depth = lb_group_close();
  ncclResult_t result = ncclSuccess;
  lb_op *ops, *share;
  int n;
  if (depth != 0) return depth < 0 ? ncclInvalidUsage : ncclSuccess;
  ops = malloc(2 * LB_OPS * sizeof *ops);
  if (!ops) return ncclSystemError;
  share = ops + LB_OPS;
  n = lb_group_take(ops);
  if (n < 0) result = ncclInvalidUsage;
  for (int i = 0; i < n && result == ncclSuccess; i++) {
    int k = 0, seen = 0;
    for (int j = 0; j < i; j++) seen |= ops[j].comm == ops[i].comm;
    for (int j = i; j < n && !seen; j++)
      if (ops[j].comm == ops[i].comm) share[k++] = ops[j];
    if (k > 0) result = submit(ops[i].comm, share, k);
  }
  for (int i = 0; i < n && (result == ncclSuccess || result == ncclInProgress); i++) {
    const ncclResult_t r = lb_answer(ops[i].comm);
    if (r != ncclSuccess) result = r;
  }
  free(ops);
  return result;
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
  const lb_op op = {.kind = LB_SEND,
                    .send = from,
                    .count = count,
                    .dtype = type,
                    .peer = peer,
                    .comm = comm,
                    .stream = stream};
  return ask(&op);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
  const lb_op op = {.kind = LB_RECV,
                    .recv = to,
                    .count = count,
                    .dtype = type,
                    .peer = peer,
                    .comm = comm,
                    .stream = stream};
  return ask(&op);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t redop, ncclComm_t comm, cudaStream_t stream)
{
  const lb_op op = {.kind = LB_ALL_REDUCE,
                    .send = from,
                    .recv = to,
                    .count = count,
                    .dtype = type,
                    .redop = redop,
                    .comm = comm,
                    .stream = stream};
  return ask(&op);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t redop, ncclComm_t comm, cudaStream_t stream)
{
  const lb_op op = {.kind = LB_REDUCE_SCATTER,
                    .send = from,
                    .recv = to,
                    .count = count,
                    .dtype = type,
                    .redop = redop,
                    .comm = comm,
                    .stream = stream};
  return ask(&op);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
  const lb_op op = {.kind = LB_ALL_GATHER,
                    .send = from,
                    .recv = to,
                    .count = count,
                    .dtype = type,
                    .comm = comm,
                    .stream = stream};
  return ask(&op);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
  const lb_op op = {.kind = LB_BROADCAST,
                    .send = from,
                    .recv = to,
                    .count = count,
                    .dtype = type,
                    .peer = root,
                    .comm = comm,
                    .stream = stream};
  return ask(&op);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                           ncclConfig_t *config)
{
  const lb_op op = {.kind = LB_SPLIT,
                    .color = color,
                    .peer = key,
                    .child = child,
                    .comm = comm,
                    .blocking = config ? config->blocking != 0 : comm->blocking};
  return lb_group_depth() > 0 ? ncclInvalidUsage : ask(&op);
}
