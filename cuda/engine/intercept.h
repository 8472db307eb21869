/* A view of every action of the engine, for tests that inject faults: the one place where a test
 * can make the engine misbehave. Production code leaves it empty. */
#ifndef ZP_CUDA_INTERCEPT_H
#define ZP_CUDA_INTERCEPT_H

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdint.h>

#include "../../ref/plan/program.h"

typedef enum zp_cuda_action_kind {
  ZP_CUDA_LOAD,        /* kernel: loads its code when the engine is opened */
  ZP_CUDA_LAUNCH,      /* kernel, params, stream */
  ZP_CUDA_COMMUNICATE, /* comm, send, recv, stream: before the first NCCL call */
  ZP_CUDA_ENQUEUE,     /* comm, stream: waits until NCCL has put the communication on the stream */
  ZP_CUDA_WAIT,        /* sync_point, event, stream */
  ZP_CUDA_RECORD,      /* likewise */
  ZP_CUDA_HOST_WAIT    /* sync_point, event */
} zp_cuda_action_kind;

/* An action that the engine is about to perform. Members that the kind does not list are 0. */
typedef struct zp_cuda_action {
  int32_t kind;       /* zp_cuda_action_kind */
  int32_t sync_point; /* zp_cuda_sync_point */
  const zp_op *op;    /* the op that is being issued; NULL: none */
  cudaStream_t stream;
  cudaEvent_t event;
  const void *kernel;
  void *params; /* the kernel's parameters, which may be changed */
  ncclComm_t comm;
  const void *send;
  void *recv;
} zp_cuda_action;

/* before: called with the lock held before each action. It may change stream, event, send, recv and
 * what params points to, and returns 1 to leave the action out (not a ZP_CUDA_COMMUNICATE), else 0.
 * NULL: not called. */
typedef struct zp_cuda_intercept {
  void *ctx;
  int (*before)(void *ctx, zp_cuda_action *action);
} zp_cuda_intercept;

#endif
