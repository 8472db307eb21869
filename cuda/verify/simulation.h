/* Where the ranks of a run are, and the simulation that they run in. */
#ifndef ZP_CUDA_VERIFY_SIMULATION_H
#define ZP_CUDA_VERIFY_SIMULATION_H

#include "../simdev/simdev.h"
#include "differential.h"

/* Ranks are processes of their own, each with a device; or all in one process on one device, with
 * nccl_threads as NCCL: hosts of simdev, or POSIX threads, for which the engine makes its own lock
 * and watchdog. Set before the first run. */
typedef enum zp_ranks_run_as {
  ZP_RANKS_PROCESSES,
  ZP_RANKS_HOSTS,
  ZP_RANKS_THREADS
} zp_ranks_run_as;
extern zp_ranks_run_as zp_ranks_as;

/* Queues a kernel of one thread with a copy of its parameters; 0, or an error. NULL: it is launched
 * as a kernel of simdev. Set before the first run. */
extern int (*zp_launch_body)(const simdev_kernel *kernel, const void *params, cudaStream_t stream);

/* If set: called with the op whose work has the tag; op NULL: no tags are set. */
extern void (*zp_on_tag)(int32_t rank, int64_t tag, const zp_op *op);

typedef struct zp_simulation {
  simdev *now;           /* the run's */
  simdev *one, *several; /* with one host a rank; with several, or NULL */
  zp_rank_hosts *hosts;  /* [world] */
} zp_simulation;

/* 0, or -1: no memory. begin: before each run. */
int zp_simulation_open(zp_diff *t);
int zp_simulation_begin(zp_diff *t);
void zp_simulation_close(zp_diff *t);

#endif
