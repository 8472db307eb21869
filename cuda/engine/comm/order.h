/* The order of communications on the device.
 *
 * Two communications on two streams may begin in another order on another rank's device, and
 * deadlock if a device runs one at a time. So each begins after the one before it in the program,
 * which has the same order on all ranks (PIPE-5): NCCL keeps that order if it was configured to in
 * time; otherwise an event does. spec: STRM-5 */
#ifndef ZP_CUDA_ORDER_H
#define ZP_CUDA_ORDER_H

#include "../device/rank.h"

typedef struct zp_cuda_order {
  zp_cuda_rank *r;
  int32_t by_events;        /* 1: streams wait for each other's communication */
  cudaEvent_t communicated; /* on last, after the latest communication */
  cudaStream_t last;        /* NULL: no communication yet */
} zp_cuda_order;

/* Before the engine's first call of NCCL, which may be the process's first. */
int zp_cuda_order_open(zp_cuda_order *o);
void zp_cuda_order_close(const zp_cuda_order *o);

/* Around each communication: begin before the first NCCL call, end after the last. When end
 * returns, the work is on the stream. */
int zp_cuda_order_begin(const zp_cuda_order *o, cudaStream_t stream);
int zp_cuda_order_end(zp_cuda_order *o, ncclComm_t comm, cudaStream_t stream);

#endif
