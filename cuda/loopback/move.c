/* What is queued when all have come: waits, one kernel or one copy, records. */
#include <string.h>

#include "internal.h"
#include "kernel.h"

enum { THREADS = 256, BLOCKS = 256 };

int lb_can_reduce(int32_t dtype, int32_t redop)
{
  if (dtype == ncclFloat32) return redop == ncclSum;
  return (dtype == ncclInt32 || dtype == ncclInt64) &&
         (redop == ncclSum || redop == ncclMin || redop == ncclMax);
}

static int wait_for(lb_shared *s, cudaStream_t stream, cudaEvent_t event)
{
  return lb_cuda(s, cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

static zp_loopback_params params_of(const lb_shared *s, const lb_op *op)
{
  static const int32_t modes[] = {[LB_ALL_REDUCE] = ZP_LOOP_SUM_ALL,
                                  [LB_REDUCE_SCATTER] = ZP_LOOP_SUM_PART,
                                  [LB_ALL_GATHER] = ZP_LOOP_GATHER,
                                  [LB_BROADCAST] = ZP_LOOP_ROOT};
  zp_loopback_params p;
  memset(&p, 0, sizeof p);
  p.mode = modes[op->kind];
  p.type = op->dtype == ncclInt64   ? ZP_LOOP_I64
           : op->dtype == ncclInt32 ? ZP_LOOP_I32
                                    : ZP_LOOP_F32;
  p.redop = op->redop == ncclMin ? ZP_LOOP_MIN : op->redop == ncclMax ? ZP_LOOP_MAX : ZP_LOOP_SUM;
  p.members = s->n;
  p.bytes = (int32_t)lb_bytes_of(op->dtype);
  p.root = op->peer;
  p.n = (int64_t)op->count;
  for (int32_t m = 0; m < s->n; m++) {
    p.in[m] = s->member[m]->ops[0].send;
    p.out[m] = s->member[m]->ops[0].recv;
  }
  return p;
}

static int launch(lb_shared *s, const lb_op *op, cudaStream_t stream)
{
  zp_loopback_params p = params_of(s, op);
  const int32_t parts = p.mode == ZP_LOOP_SUM_PART || p.mode == ZP_LOOP_GATHER ? s->n : 1;
  const int64_t blocks = (p.n * parts + THREADS - 1) / THREADS;
  const dim3 grid = {(unsigned)(blocks < BLOCKS ? blocks : BLOCKS), 1, 1}, block = {THREADS, 1, 1};
  void *args[] = {&p};
  if (blocks == 0) return 0;
  return lb_cuda(s, cudaLaunchKernel(zp_kernel_loopback, grid, block, args, 0, stream),
                 "cudaLaunchKernel");
}

/* On the stream of one member, another one each time: it waits for all, and all wait for it. */
void lb_move_collective(lb_shared *s)
{
  ncclComm_t on = s->member[s->moved++ % (uint64_t)s->n];
  for (int32_t m = 0; m < s->n; m++)
    if (s->member[m] != on && wait_for(s, on->stream, s->member[m]->ready)) return;
  if (launch(s, &on->ops[0], on->stream) ||
      lb_cuda(s, cudaEventRecord(on->done, on->stream), "cudaEventRecord"))
    return;
  for (int32_t m = 0; m < s->n; m++) {
    ncclComm_t c = s->member[m];
    if (c != on && wait_for(s, c->stream, on->done)) return;
    c->pending = 0;
  }
}

/* On the receiver's stream; the sender's waits for it, as it may overwrite what it has sent. */
void lb_move_message(ncclComm_t from, ncclComm_t to, const lb_op *send, const lb_op *recv)
{
  lb_shared *s = from->s;
  const size_t bytes = (size_t)(recv->count * (uint64_t)lb_bytes_of(recv->dtype));
  if (from != to && wait_for(s, to->stream, from->ready)) return;
  if (bytes > 0 &&
      lb_cuda(s,
              cudaMemcpyAsync(recv->recv, send->send, bytes, cudaMemcpyDeviceToDevice, to->stream),
              "cudaMemcpyAsync"))
    return;
  if (from == to || lb_cuda(s, cudaEventRecord(to->done, to->stream), "cudaEventRecord")) return;
  wait_for(s, from->stream, to->done);
}
