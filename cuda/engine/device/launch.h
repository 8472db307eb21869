/* The only launches, waits on streams, and records of the engine. */
#ifndef ZP_CUDA_LAUNCH_H
#define ZP_CUDA_LAUNCH_H

#include "rank.h"
#include "sync_points.h"

/* Loads the code of a kernel. spec: STRM-7 */
int zp_cuda_load_kernel(zp_cuda_rank *r, const void *kernel);

/* A launch with grid 0 does nothing. */
int zp_cuda_launch(zp_cuda_rank *r, const void *kernel, zp_launch l, void *params,
                   cudaStream_t stream);
int zp_cuda_wait(zp_cuda_rank *r, int32_t sync_point, cudaStream_t stream, cudaEvent_t event);
int zp_cuda_record(zp_cuda_rank *r, int32_t sync_point, cudaEvent_t event, cudaStream_t stream);

/* 1: a test leaves the action out (intercept.h). */
int zp_cuda_intercepted(const zp_cuda_rank *r, zp_cuda_action *action);

#endif
