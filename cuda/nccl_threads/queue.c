/* The work of one operation: waits for events, one kernel or one copy, records of events. */
#include <string.h>

#include "comm.h"
#include "kernel.h"

enum { THREADS = 256, BLOCKS = 256 };

static int wait_for(zp_nt_shared *s, cudaStream_t stream, cudaEvent_t event)
{
  return zp_nt_check(s, cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

static zp_nccl_threads_params params_of(const zp_nt_shared *s, const zp_nt_op *op)
{
  static const int32_t modes[] = {[ZP_NT_ALL_REDUCE] = ZP_NT_SUM_ALL,
                                  [ZP_NT_REDUCE_SCATTER] = ZP_NT_SUM_PART,
                                  [ZP_NT_ALL_GATHER] = ZP_NT_GATHER,
                                  [ZP_NT_BROADCAST] = ZP_NT_ROOT};
  zp_nccl_threads_params p;
  memset(&p, 0, sizeof p);
  p.mode = modes[op->kind];
  p.type = op->dtype == ncclInt64 ? ZP_NT_I64 : op->dtype == ncclInt32 ? ZP_NT_I32 : ZP_NT_F32;
  p.redop = op->redop == ncclMin ? ZP_NT_MIN : op->redop == ncclMax ? ZP_NT_MAX : ZP_NT_SUM;
  p.members = s->n;
  p.bytes = (int32_t)zp_nt_dtype_bytes(op->dtype);
  p.root = op->peer;
  p.n = (int64_t)op->count;
  for (int32_t m = 0; m < s->n; m++) {
    p.in[m] = s->member[m]->ops[0].send;
    p.out[m] = s->member[m]->ops[0].recv;
  }
  return p;
}

static int launch(zp_nt_shared *s, const zp_nt_op *op, cudaStream_t stream)
{
  zp_nccl_threads_params p = params_of(s, op);
  const int32_t parts = p.mode == ZP_NT_SUM_PART || p.mode == ZP_NT_GATHER ? s->n : 1;
  const int64_t blocks = (p.n * parts + THREADS - 1) / THREADS;
  const dim3 grid = {(unsigned)(blocks < BLOCKS ? blocks : BLOCKS), 1, 1}, block = {THREADS, 1, 1};
  void *args[] = {&p};
  if (blocks == 0) return 0;
  return zp_nt_check(s, cudaLaunchKernel(zp_kernel_nccl_threads, grid, block, args, 0, stream),
                     "cudaLaunchKernel");
}

/* On the stream of one member, another one each time. It waits for all other members' streams, and
 * they wait for it. */
void zp_nt_queue_collective(zp_nt_shared *s)
{
  ncclComm_t on = s->member[s->collectives++ % (uint64_t)s->n];
  for (int32_t m = 0; m < s->n; m++)
    if (s->member[m] != on && wait_for(s, on->stream, s->member[m]->ready)) return;
  if (launch(s, &on->ops[0], on->stream) ||
      zp_nt_check(s, cudaEventRecord(on->done, on->stream), "cudaEventRecord"))
    return;
  for (int32_t m = 0; m < s->n; m++) {
    ncclComm_t c = s->member[m];
    if (c != on && wait_for(s, c->stream, on->done)) return;
    c->pending = 0;
  }
}

/* On the receiver's stream. The sender's stream waits for it, as the sender may then overwrite its
 * buffer. */
void zp_nt_queue_message(ncclComm_t from, ncclComm_t to, const zp_nt_op *send, const zp_nt_op *recv)
{
  zp_nt_shared *s = from->s;
  const size_t bytes = (size_t)(recv->count * (uint64_t)zp_nt_dtype_bytes(recv->dtype));
  if (from != to && wait_for(s, to->stream, from->ready)) return;
  if (bytes > 0 &&
      zp_nt_check(
          s, cudaMemcpyAsync(recv->recv, send->send, bytes, cudaMemcpyDeviceToDevice, to->stream),
          "cudaMemcpyAsync"))
    return;
  if (from == to || zp_nt_check(s, cudaEventRecord(to->done, to->stream), "cudaEventRecord"))
    return;
  wait_for(s, from->stream, to->done);
}
