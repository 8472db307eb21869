/* The serial oracle and, under exact reduction, other topologies train the same model beside a main
 * run; every bit of their ends is compared. spec: RED-5, STEP-7 */
#ifndef ZP_VERIFY_TRAIN_VERIFY_H
#define ZP_VERIFY_TRAIN_VERIFY_H

#include "../model/gpt.h"
#include "train_run.h"

/* The largest dp of another topology: each replica of the model takes memory. */
enum { ZP_VERIFY_DP_MAX = 64 };

/* One more training run. */
typedef struct zp_verify_run {
  int32_t serial; /* 1: the oracle; 0: the simulator */
  zp_config cfg;
  zp_param *params;
  zp_train_hyper hyper; /* the main run's, but other topologies have one replica */
  zp_outcome out;
  int status; /* of the run; its error is out.err */
} zp_verify_run;

typedef struct zp_verify zp_verify;

/* Starts the runs on other threads. cfg, hyper, work: the main run's; steps: from step 0. NULL
 * without memory. */
zp_verify *zp_verify_start(const zp_config *cfg, const zp_train_hyper *hyper,
                           const zp_workload *work, const zp_gpt_shape *shape, int64_t steps);
/* Waits for all runs, or (stop) for their early end. progress: NULL, or called now and then. */
void zp_verify_wait(zp_verify *v, int32_t stop, void (*progress)(int32_t done, int32_t runs));
/* Adds to *bytes an upper bound of what a run takes in simulation, and with verify those beside it.
 * 0, or a negative status. */
int zp_train_need(const zp_config *cfg, const zp_hyper *hyper, const zp_gpt_shape *shape,
                  int32_t verify, double *bytes, zp_error *err);
/* The runs: 0 is the oracle's. */
int32_t zp_verify_runs(const zp_verify *v);
const zp_verify_run *zp_verify_run_at(const zp_verify *v, int32_t i);
void zp_verify_free(zp_verify *v);

/* What differs between two runs over the steps of the first; each 0 or 1. */
typedef struct zp_differences {
  int32_t losses, norms, scales, params, masters, moments;
} zp_differences;
zp_differences zp_outcome_compare(const zp_outcome *a, const zp_outcome *b);

#endif
