/* A read-only view of a rank, for tests and for the comparison with ref. */
#ifndef ZP_CUDA_INSPECT_H
#define ZP_CUDA_INSPECT_H

#include "../../ref/engine/window.h"
#include "../../ref/plan/program.h"
#include "engine.h"

typedef enum zp_cuda_stream_kind {
  ZP_CUDA_COMPUTE,
  ZP_CUDA_REDUCE,
  ZP_CUDA_P2P,
  ZP_CUDA_COPY,  /* NULL without offload */
  ZP_CUDA_GATHER /* NULL without partial_gather */
} zp_cuda_stream_kind;
cudaStream_t zp_cuda_stream_of(const zp_cuda *e, zp_cuda_stream_kind kind);

/* The arrays of flat group k: of the rank's shard, but for the window and the slots. Device memory,
 * or, if offloaded, pinned host memory. NULL: the rank does not have it. */
typedef struct zp_cuda_arrays {
  float *master, *moment1, *moment2;
  void *window; /* stages 0, 1 */
  void *const
      *slot; /* stage 2: all slots of the rank, its buckets' elements of slot_dtype; else NULL */
  int32_t slots, slot_dtype;
} zp_cuda_arrays;
zp_cuda_arrays zp_cuda_arrays_of(const zp_cuda *e, int32_t k);
/* What the update reads of range r (zp_local_range) of flat group k: with `exact` the means, else
 * fp32 sums. RED-4 */
const float *zp_cuda_gradients_at(const zp_cuda *e, int32_t k, zp_range r);

const zp_layout *zp_cuda_layout_of(const zp_cuda *e);
/* The step's state in device memory. */
const zp_step_state *zp_cuda_state_of(const zp_cuda *e);
/* 1: INIT has been issued. */
int32_t zp_cuda_is_ready(const zp_cuda *e);
/* The position, in its program, of the op that the host issues. */
int64_t zp_cuda_position_of(const zp_cuda *e);
/* 1: events keep the order of communications, not NCCL. */
int32_t zp_cuda_orders_by_events(const zp_cuda *e);
/* Offload: buckets that the host updates in a step. */
int64_t zp_cuda_host_updates(const zp_cuda *e);
/* 1: step `step`, one of the last two, or -1 for INIT, has ended on the device. */
int32_t zp_cuda_step_has_ended(const zp_cuda *e, int64_t step);

#endif
