/* Waits on the host: each polls its event or communicator, and checks for asynchronous errors,
 * alarms of other ranks, and the deadline. spec: LEDG-7 */
#ifndef ZP_CUDA_HOST_WAIT_H
#define ZP_CUDA_HOST_WAIT_H

#include "communicators.h"

/* 0 if the call succeeded or is in progress, else -1 after zp_cuda_fail. */
int zp_cuda_check_nccl(zp_cuda_rank *r, ncclResult_t result, const char *call);
#define ZP_NCCL(r, call)                                                                           \
  do {                                                                                             \
    if (zp_cuda_check_nccl(r, (call), #call)) return -1;                                           \
  } while (0)

/* Fails if another rank has reported a failure. any: also one in a step that this rank has not
 * begun; otherwise this rank continues, as that rank's device does. 0 or -1. */
int zp_cuda_check_alarm(zp_cuda_rank *r, int any);
/* Fails after an alarm, or an asynchronous error of a communicator. what: what is waited for. */
int zp_cuda_check_async_errors(const zp_cuda_comms *c, const char *what);

/* Until NCCL has completed what the last calls on comm began. */
int zp_cuda_wait_until_complete(zp_cuda_rank *r, ncclComm_t comm, const char *what);
/* Until the event has ended. sync_point: of device/sync_points.h. */
int zp_cuda_host_wait(const zp_cuda_comms *c, int32_t sync_point, cudaEvent_t event,
                      const char *what);

#endif
