/* What every part of the engine works with: the rank's options, plan, progress, first error, lock,
 * log and streams. */
#ifndef ZP_CUDA_RANK_H
#define ZP_CUDA_RANK_H

#include "../../../ref/engine/log.h"
#include "../engine.h"
#include "error.h"
#include "lock.h"
#include "plan.h"
#include "progress.h"

typedef struct zp_cuda_rank {
  zp_cuda_options opt;
  uint64_t digest; /* of opt's hyperparameters. STAT-6 */
  zp_cuda_plan plan;
  zp_cuda_progress progress;
  zp_cuda_failure failure;
  zp_cuda_lock lock;
  zp_log log;
  cudaStream_t compute, reduce, p2p;
  cudaStream_t gather; /* with partial_gather, else NULL */
} zp_cuda_rank;

/* Functions of the engine return 0, or -1 after zp_cuda_fail. */
#define ZP_TRY(call)                                                                               \
  do {                                                                                             \
    if (call) return -1;                                                                           \
  } while (0)
#define ZP_CUDA(r, call)                                                                           \
  do {                                                                                             \
    if (zp_cuda_check(r, (call), #call)) return -1;                                                \
  } while (0)

#endif
