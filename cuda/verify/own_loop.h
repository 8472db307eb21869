/* A caller with a loop of its own: it computes on one stream, has its losses on another, and ends
 * the steps. */
#ifndef ZP_CUDA_VERIFY_OWN_LOOP_H
#define ZP_CUDA_VERIFY_OWN_LOOP_H

#include "differential.h"

typedef struct zp_own_loop {
  cudaStream_t stream, losses;
  cudaEvent_t forwarded;
  float *loss; /* device: [2][M] as forward writes them, as they are announced */
} zp_own_loop;

int zp_own_loop_open(zp_diff_rank *w);
int zp_own_loop_step(zp_diff_rank *w);
void zp_own_loop_wait(const zp_diff_rank *w); /* until its streams are idle */
void zp_own_loop_close(zp_diff_rank *w);

#endif
