/* The walk through a program. spec: STEP-2, STEP-4, LEDG-1 */
#ifndef ZP_CUDA_STEP_H
#define ZP_CUDA_STEP_H

#include "../state/checkpoint.h"
#include "gradients.h"
#include "ops.h"
#include "pipeline.h"

typedef struct zp_cuda_steps {
  const zp_cuda_ops *ops;
  zp_cuda_gradients *gradients;
  zp_cuda_messages *messages;
  zp_cuda_pipeline *pipeline;
  zp_cuda_checkpoint *checkpoint;
  /* on reduce, or on gather after gathers there: of step s at s % 2, of INIT as of step -1 */
  cudaEvent_t ended[ZP_CUDA_FLIGHT];
  cudaEvent_t settled; /* partial_gather: on reduce, after the last decision */
  int64_t seen;        /* the host has seen the end of all steps before this one; -1: of none */
  /* without callbacks (own_loop.h): */
  int32_t begun;        /* 1: the step's first micro-batch is awaited, or a later one */
  int32_t ending;       /* 1: the caller has ended the step */
  uint8_t *loss_copied; /* [M] 1: the caller passed the loss */
} zp_cuda_steps;

/* The list; then the events. */
int zp_cuda_steps_open(zp_cuda_steps *s);
int zp_cuda_steps_create_events(zp_cuda_steps *s);
void zp_cuda_steps_close(const zp_cuda_steps *s);

/* What the next step's forward waits for, but for its parameters: the last step's end, or with
 * partial_gather its decision. */
int zp_cuda_wait_for_last_step(const zp_cuda_steps *s, int32_t sync_point, cudaStream_t stream);

/* The event of step `step`, or -1: of INIT. */
cudaEvent_t zp_cuda_step_end(const zp_cuda_steps *s, int64_t step);

/* First values and INIT. */
int zp_cuda_run_init(zp_cuda_steps *s);
/* A whole step, with callbacks. */
int zp_cuda_run_step(zp_cuda_steps *s);
/* SAVE or LOAD, or another whole program. */
int zp_cuda_run_program(zp_cuda_steps *s, int32_t phase);
/* Waits for the last step and copies its state. */
int zp_cuda_read_state(zp_cuda_steps *s, zp_step_state *state);

/* The start of a step; the program from its position on, up to its end or to gradients that the
 * caller's own loop has not announced; the end of a step. */
int zp_cuda_begin_step(zp_cuda_steps *s);
int zp_cuda_continue(zp_cuda_steps *s);
int zp_cuda_record_step_end(zp_cuda_steps *s);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_steps_invariant(const zp_cuda_steps *s, zp_error *err);

#endif
