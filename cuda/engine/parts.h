/* The parts of a rank, for the files that connect them. Each part's state belongs to the functions
 * of its own header. */
#ifndef ZP_CUDA_PARTS_H
#define ZP_CUDA_PARTS_H

#include "executor/step.h"
#include "watchdog.h"

struct zp_cuda {
  zp_cuda_rank rank;
  zp_cuda_allocations allocations;
  zp_cuda_comms comms;
  zp_cuda_buffers buffers;
  zp_cuda_step_memory memory;
  zp_cuda_offload offload;
  zp_cuda_checkpoint checkpoint;
  zp_cuda_buckets buckets;
  zp_cuda_gathers gathers;
  zp_cuda_ops ops;
  zp_cuda_gradients gradients;
  zp_cuda_messages messages;
  zp_cuda_pipeline pipeline;
  zp_cuda_steps steps;
  zp_cuda_watchdog watchdog;
};

#endif
