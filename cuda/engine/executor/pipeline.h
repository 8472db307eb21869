/* The pipeline: callbacks on the compute stream, exchanges with the neighbours on another.
 *
 * An exchange of a backward slot is with the next stage, of a forward slot with the previous one
 * (PIPE-3), so that the latest exchange with a stage delivered what compute needs, and sent what it
 * overwrites (PIPE-4). spec: PIPE-2 … PIPE-6, STRM-3 */
#ifndef ZP_CUDA_PIPELINE_H
#define ZP_CUDA_PIPELINE_H

#include "../state/step_memory.h"
#include "messages.h"

typedef struct zp_cuda_pipeline {
  zp_cuda_rank *r;
  zp_cuda_messages *messages;
  const zp_cuda_step_memory *memory;
  cudaEvent_t forwarded, backwarded;    /* on compute, after the latest callback of each kind */
  cudaEvent_t with_next, with_previous; /* on p2p, after the latest exchange with that stage */
  /* the latest record's number; 0: p2p or compute has waited for it, or is ordered after it, so
   * that a later wait would be redundant */
  int64_t recorded, new_forwarded, new_backwarded, new_next, new_previous;
} zp_cuda_pipeline;

/* The events. */
int zp_cuda_pipeline_open(zp_cuda_pipeline *p);
void zp_cuda_pipeline_close(const zp_cuda_pipeline *p);

int zp_cuda_forward(zp_cuda_pipeline *p, const zp_op *op);
int zp_cuda_backward(zp_cuda_pipeline *p, const zp_op *op);
int zp_cuda_p2p(zp_cuda_pipeline *p, const zp_op *op);

/* reduce waits for the step's last forward, if no gradient ordered it after that. */
int zp_cuda_wait_for_losses(const zp_cuda_pipeline *p, int after_forward);
/* reduce waits for the step's last backward. */
int zp_cuda_wait_for_backward(const zp_cuda_pipeline *p);

/* Without callbacks: reduce waits for a loss's copy on the caller's stream. */
int zp_cuda_join_loss(const zp_cuda_pipeline *p, cudaStream_t stream);
/* Without callbacks: what the caller's stream has queued counts as the last backward. */
int zp_cuda_record_caller(const zp_cuda_pipeline *p, cudaStream_t stream);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_pipeline_invariant(const zp_cuda_pipeline *p, zp_error *err);

#endif
