/* With partial_gather: gathers on a stream of their own, each bucket's after its update, and what
 * waits for them: streams that read an entry, for the last gather that writes it. Gathers run in
 * the program's order, so a wait for one covers those before it. spec: STEP-8, STRM-11 */
#ifndef ZP_CUDA_GATHERS_H
#define ZP_CUDA_GATHERS_H

#include "../device/rank.h"
#include "waits.h"

typedef struct zp_cuda_gathers {
  zp_cuda_rank *r;
  cudaEvent_t updated;   /* on reduce, after a bucket's update */
  cudaEvent_t *gathered; /* [n] on gather, after that gather; NULL: no entry waits for it */
  int64_t n;             /* gathers of a step */
  int64_t *last;         /* [lay.n_params] the last gather that writes the entry, or -1 */
  uint8_t *awaited;      /* [lay.n_params] 1: a stream waited for it since the last step's end */
  int64_t next;          /* the next gather of this step */
  int32_t issued;        /* 1: a step has gathered */
  zp_cuda_waits waits;   /* of entries: for gathers of this step */
} zp_cuda_gathers;

/* The lists; then the events. Without the option, nothing. */
int zp_cuda_gathers_open(zp_cuda_gathers *g, zp_cuda_rank *r);
int zp_cuda_gathers_create_events(zp_cuda_gathers *g);
void zp_cuda_gathers_close(zp_cuda_gathers *g);

/* 1: the gathers of STEP run on their own stream. */
int zp_cuda_gathers_apart(const zp_cuda_gathers *g);

/* Around a gather: it follows the update, which `reduce` has queued last; then its event. */
int zp_cuda_gathers_after_update(const zp_cuda_gathers *g);
int zp_cuda_gathers_issued(zp_cuda_gathers *g);

/* Makes `stream` wait until the n entries of the list (-1: all of the stage) have the values of the
 * last step. */
int zp_cuda_gathers_wait(zp_cuda_gathers *g, const int32_t *params, int32_t n, cudaStream_t stream);

/* ZeRO stage 1: before a stream adds to the sums of an entry that the last step's update reads. */
int zp_cuda_gathers_wait_to_add(zp_cuda_gathers *g, int32_t param, cudaStream_t stream);

/* Fails if a trained entry was not waited for since the last step's end. */
int zp_cuda_gathers_check(const zp_cuda_gathers *g);
/* The end of a step. */
void zp_cuda_gathers_end_step(zp_cuda_gathers *g);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_gathers_invariant(const zp_cuda_gathers *g, zp_error *err);

#endif
