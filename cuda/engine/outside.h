/* The way from process to process beside NCCL: the job's alarm line (ref/engine/alarm.h), for
 * zp_cuda_options.outside. */
#ifndef ZP_CUDA_OUTSIDE_H
#define ZP_CUDA_OUTSIDE_H

#include "engine.h"

typedef struct zp_cuda_line zp_cuda_line;

/* Collective: all ranks of the job call it. Fills *outside, which is good until it is closed. Who
 * does not come within a minute is left out. NULL: the exchange failed, or there is no memory. */
zp_cuda_line *zp_cuda_open_line(int32_t rank, int32_t world,
                                int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n),
                                void *ctx, zp_cuda_outside *outside);

/* Other ranks hear of an end without this call: of a process that is gone. NULL is allowed. */
void zp_cuda_close_line(zp_cuda_line *line);

#endif
