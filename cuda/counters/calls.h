/* Calls of CUDA and NCCL that a rank has made. */
#ifndef ZP_CUDA_COUNTERS_CALLS_H
#define ZP_CUDA_COUNTERS_CALLS_H

#include "run.h"

/* All so far. */
int64_t zp_counted_calls(const zp_counted_rank *w);
/* w->call: the calls between these two, without the model's. */
void zp_counted_calls_begin(zp_counted_rank *w);
void zp_counted_calls_end(zp_counted_rank *w);

#endif
