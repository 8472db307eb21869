/* Offload: masters and moments in pinned host memory. A bucket's gradients (with `exact` the means,
 * else the sums) are copied to the host after its last sum, on a stream of their own, while
 * backward and reductions continue; the decision follows the last of them, and the host waits once
 * for it. Then the host updates bucket after bucket; while it works on one, the parameters of the
 * one before are copied back and gathered.
 *
 * The caller's thread leads the update, and OpenMP's threads share it, so that no CUDA callback
 * runs anything heavy. A thread of the engine's own would not help: the next step's communications
 * follow this step's gathers. The lock is released meanwhile, so that the watchdog runs.
 *
 * No wait is needed for work that precedes the decision: the last step's gathers, hence all
 * readers of landing buffers, copied gradients and rounded masters. spec: OPT-5, STRM-9 */
#ifndef ZP_CUDA_OFFLOAD_H
#define ZP_CUDA_OFFLOAD_H

#include "../../../ref/engine/window.h"
#include "buffers.h"
#include "step_memory.h"

typedef struct zp_cuda_offload {
  zp_cuda_rank *r;
  const zp_cuda_comms *comms;
  const zp_cuda_buffers *buffers;
  const zp_cuda_step_memory *memory;
  cudaStream_t copy;       /* NULL: no offload */
  cudaEvent_t averaged;    /* on reduce: the latest bucket's gradients are made */
  cudaEvent_t decided;     /* on reduce: so is the step's decision */
  cudaEvent_t copied_out;  /* on copy: all gradients and the decision are on the host */
  cudaEvent_t copied_back; /* on copy: the latest bucket's parameters are on the device */
  cudaEvent_t consumed[2]; /* on reduce: they have been read from the landing buffer */
  void *landing[2];        /* device memory, to which buckets' parameters are copied in turn */
  int64_t updates;         /* buckets that a step updates */
  int64_t landings;        /* of them, those that are copied back to the landing */
  int64_t n;               /* of those updated in this step */
  zp_group_state *groups;  /* pinned: [optgroups] */
  int32_t has_decision;    /* 1: the host has read this step's decision */
  int64_t waits;
} zp_cuda_offload;

/* The stream and events; then the landing buffers. Without options.offload nothing. */
int zp_cuda_offload_open(zp_cuda_offload *o, zp_cuda_allocations *a);
int zp_cuda_offload_open_landing(zp_cuda_offload *o, zp_cuda_allocations *a);
void zp_cuda_offload_close(const zp_cuda_offload *o);

/* Copies what the update of range r of op's flat group reads, once it is final, or the decision, to
 * the host. */
int zp_cuda_offload_send_gradients(const zp_cuda_offload *o, const zp_op *op, zp_range r);
int zp_cuda_offload_send_decision(zp_cuda_offload *o);
/* Updates op's bucket on the host, and copies its parameters back, to `to` or, if that is NULL, to
 * the landing: reduce is ordered after that. */
int zp_cuda_offload_update(zp_cuda_offload *o, const zp_op *op, void *to);
/* The landing buffer with the latest bucket's parameters. */
void *zp_cuda_offload_landing(const zp_cuda_offload *o);
/* reduce has queued what reads them there. */
int zp_cuda_offload_release_landing(const zp_cuda_offload *o);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_offload_invariant(const zp_cuda_offload *o, zp_error *err);

#endif
