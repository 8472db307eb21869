/* Ranks that call the public functions of the CUDA engine (ref/engine/engine.h), as hosts of one
 * simulation: each is a process with one program and the engine's watchdog. */
#ifndef ZP_CUDA_ENGINE_CASES_RANKS_H
#define ZP_CUDA_ENGINE_CASES_RANKS_H

#include "../engine/api.h"
#include "../simdev/simdev.h"

enum { ZP_SIMDEV_RANKS = 16 }; /* at most */

typedef struct zp_simdev_ranks {
  int32_t ranks;
  simdev_options options;
  /* The program of each rank. Not 0: a finding, which ends the simulation. */
  int (*program)(void *ctx, int32_t rank);
  void *ctx;
  zp_cuda_intercept intercept;         /* of all engines */
  const zp_cuda_host_channel *channel; /* NULL: the ranks of the simulation have one */
} zp_simdev_ranks;

/* Runs the programs; each rank has as many devices as there are ranks. *text: simdev's report,
 * empty if there is no finding. One simulation at a time. */
simdev_status zp_simdev_ranks_run(const zp_simdev_ranks *ranks, char *text, size_t cap);

/* zp_engine_create, called by a rank's program: a deadline of 0 is 30 s of the simulation's
 * clock. */
int zp_simdev_ranks_create(zp_engine **out, const zp_engine_options *options, zp_error *err);

#endif
