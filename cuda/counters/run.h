/* A run of all ranks, and what each rank measures of it. */
#ifndef ZP_CUDA_COUNTERS_RUN_H
#define ZP_CUDA_COUNTERS_RUN_H

#include "../engine/engine.h"
#include "../engine/inspect.h"
#include "../simdev/simdev.h"
#include "counters.h"

/* Steps; the last one is counted, and everything is allocated in the first. */
enum { ZP_COUNTED_STEPS = 3 };

/* A tag says which item is the engine's, of which use and which step. Tag 0: the caller's, or not
 * of a step. */
static inline int64_t zp_counted_tag(int64_t step, int32_t use)
{
  return 1 + step * ZP_COUNT_USES + use;
}

typedef struct zp_counted_run {
  const zp_counters_job *job;
  int32_t world;
  simdev *sim;
  ncclUniqueId id;
  struct zp_counted_rank *rank; /* [world] */
} zp_counted_run;

typedef struct zp_counted_rank {
  zp_counted_run *run;
  int32_t rank;
  zp_coord at;
  zp_cuda *e;
  void **grad; /* [n_params] of the stage's trained entries: device memory */
  int64_t step;
  int32_t use;          /* of the op that the engine is at */
  int64_t locks;        /* acquired so far */
  int64_t by_model;     /* calls of CUDA that callbacks have made in this step */
  int64_t wire;         /* bytes sent in this step */
  int64_t further_sums; /* of gradients, in this step */
  zp_error why;
  /* results */
  int64_t params, buckets;
  zp_count_host host;
  zp_count_call call[ZP_COUNT_CALLS]; /* of the last step: its calls, less those before it */
  int32_t calls;
  int64_t created;
  zp_memory planned;
  zp_device_memory device;
  zp_cuda_memory allocated;
  zp_count_goal goal;
  simdev_memory before, after; /* opening the engine; the last step */
} zp_counted_rank;

/* Runs. 0, or a negative status in *err. */
int zp_counted_run_open(zp_counted_run *r, const zp_counters_job *job, zp_error *err);
void zp_counted_run_close(zp_counted_run *r);

#endif
