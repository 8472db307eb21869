/* The ops of the SAVE and LOAD programs. They are no part of a step: the host waits for every block
 * that it copies, through pinned memory that exists only meanwhile.
 *
 * A store that fails on one rank blocks no other: the rank continues with the program's
 * communications, and the status all-reduce informs all ranks. After a failed save the training
 * state and the checkpoint before are unchanged, and steps may follow; a failed load leaves a
 * mixture, so the engine does nothing more. spec: CKPT-1 … CKPT-5 */
#ifndef ZP_CUDA_CHECKPOINT_H
#define ZP_CUDA_CHECKPOINT_H

#include "buffers.h"
#include "step_memory.h"

typedef struct zp_cuda_checkpoint {
  zp_cuda_rank *r;
  zp_cuda_comms *comms;
  const zp_cuda_buffers *buffers;
  const zp_cuda_step_memory *memory;
  zp_error unsaved; /* of the last save, if it failed */
  /* of the save or load in progress */
  zp_store *store;
  int32_t sealing; /* 1: only the end of SAVE, from SEAL on, is carried out (CKPT-11) */
  zp_error store_error;
  zp_train_state loaded;
  /* NULL between saves and loads */
  zp_optim_state *optim; /* [optgroups] */
  float *block;          /* pinned */
  void *narrow;          /* pinned; elements of an entry's dtype */
} zp_cuda_checkpoint;

/* Around a SAVE or LOAD. sealing: on all ranks alike. */
void zp_cuda_checkpoint_begin(zp_cuda_checkpoint *c, zp_store *store, int32_t sealing);
void zp_cuda_checkpoint_end(zp_cuda_checkpoint *c);

/* WRITE, SEAL, COMMIT, READ, LOAD's INSTALL. */
int zp_cuda_checkpoint_op(zp_cuda_checkpoint *c, const zp_op *op);
/* Parts of a bucket to the group's member op->root. */
int zp_cuda_checkpoint_gather(const zp_cuda_checkpoint *c, const zp_op *op);
/* The status all-reduce. */
int zp_cuda_checkpoint_agree(zp_cuda_checkpoint *c, const zp_op *op);

/* Copies after all that the reduction stream has queued, the end of the last step included, and
 * waits. Offloaded arrays are pinned host memory, which copies and kernels reach like the
 * device's. */
int zp_cuda_checkpoint_copy(const zp_cuda_checkpoint *c, void *to, const void *from, size_t bytes);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_checkpoint_invariant(const zp_cuda_checkpoint *c, zp_error *err);

#endif
