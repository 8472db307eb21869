/* The gradients that a rank announces: finite numbers of mixed signs and magnitudes, the same ones
 * in each micro-batch. */
#ifndef ZP_CUDA_COUNTERS_GRADIENTS_H
#define ZP_CUDA_COUNTERS_GRADIENTS_H

#include "run.h"

int32_t zp_counted_grad_dtype(const zp_counters_job *job, int32_t param);
size_t zp_counted_grad_bytes(const zp_counters_job *job, int32_t param);
/* 0, or non-zero on failure. */
int zp_counted_gradients_open(zp_counted_rank *w);
void zp_counted_gradients_close(zp_counted_rank *w);

#endif
