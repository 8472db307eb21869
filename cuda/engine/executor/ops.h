/* The parts that the ops of a program work on; connected once, when the engine is opened. */
#ifndef ZP_CUDA_OPS_H
#define ZP_CUDA_OPS_H

#include "../comm/communicators.h"
#include "../state/buffers.h"
#include "../state/offload.h"
#include "../state/step_memory.h"
#include "buckets.h"
#include "gathers.h"

typedef struct zp_cuda_ops {
  zp_cuda_rank *r;
  zp_cuda_comms *comms;
  const zp_cuda_buffers *buffers;
  const zp_cuda_step_memory *memory;
  zp_cuda_offload *offload;
  zp_cuda_buckets *buckets;
  zp_cuda_gathers *gathers;
} zp_cuda_ops;

#endif
