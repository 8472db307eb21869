/* What a step counts and decides, in device memory. spec: STAT-1, STEP-6 */
#ifndef ZP_CUDA_STEP_MEMORY_H
#define ZP_CUDA_STEP_MEMORY_H

#include "../comm/communicators.h"
#include "../device/memory.h"

typedef struct zp_cuda_step_memory {
  zp_cuda_rank *r;
  float *loss; /* [M] */
  zp_tally *tally;
  int64_t *stats; /* [ZP_STATS] */
  zp_step_state *state;
  zp_group_state *groups; /* [optgroups] */
  /* pinned host memory */
  zp_step_state *state_host;
  int64_t *status_host;
  cudaEvent_t copied_out; /* on reduce: the latest copy that the host waits for */
} zp_cuda_step_memory;

/* The event; then the memory; then the first state's copy. */
int zp_cuda_step_memory_open(zp_cuda_step_memory *m, zp_cuda_rank *r);
int zp_cuda_step_memory_allocate(zp_cuda_step_memory *m, zp_cuda_allocations *a);
int zp_cuda_step_memory_start(const zp_cuda_step_memory *m, const zp_cuda_comms *c);
void zp_cuda_step_memory_free(const zp_cuda_step_memory *m);
void zp_cuda_step_memory_close(const zp_cuda_step_memory *m); /* the event alone */

/* Copies the state after all that reduce has queued, and waits for the copy. */
int zp_cuda_step_memory_read(const zp_cuda_step_memory *m, const zp_cuda_comms *c,
                             zp_step_state *state);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_step_memory_invariant(const zp_cuda_step_memory *m, zp_error *err);

#endif
