/* Steps of a caller that computes in a loop of its own, without callbacks: the program continues
 * with each announcement, up to where the next gradients are awaited. spec: STEP-2, STRM-4 */
#ifndef ZP_CUDA_OWN_LOOP_H
#define ZP_CUDA_OWN_LOOP_H

#include "step.h"

/* From the first announcement on, and whenever a micro-batch is complete. */
int zp_cuda_continue_own_step(zp_cuda_steps *s);
/* Copies a micro-batch's loss on `stream`. */
int zp_cuda_copy_loss(zp_cuda_steps *s, int64_t mb, const float *loss, cudaStream_t stream);
int zp_cuda_end_own_step(zp_cuda_steps *s, cudaStream_t stream);

#endif
