/* Ref's run of a job. */
#ifndef ZP_CUDA_VERIFY_REF_RUN_H
#define ZP_CUDA_VERIFY_REF_RUN_H

#include "../../ref/comm/sim/comm_sim.h"
#include "differential.h"
#include "ledger.h"

typedef struct zp_ref_run {
  zp_sim *sim;
  zp_hook hook;           /* of its ranks */
  zp_hyper hyper;         /* of the step that runs */
  void **first;           /* [world · n_params] first values; NULL: an entry of another stage */
  zp_step_result *result; /* [steps] */
  zp_scaler *scaler;      /* [steps] after each step */
  uint64_t *params;       /* [steps · world] hashes of the parameters before each step */
  zp_diff_ledger *ledger; /* [world] */
} zp_ref_run;

/* Runs to the end or, where ref follows the engine (follow.h), to its first step. 0, or a negative
 * status in *err; zp_ref_run_close follows in either case. */
int zp_ref_run_open(zp_diff *t, zp_error *err);
/* 1, with the hyperparameters of step `step` of the run, counted from 0, in *hyper; 0: all steps
 * have those of zp_diff_open. */
int zp_ref_run_rates(const zp_diff *t, int32_t step, zp_hyper *hyper);
int zp_ref_run_step(zp_diff *t, int32_t step, zp_error *err);
void zp_ref_run_close(zp_diff *t);

/* checkpoint.c: ref's ranks load, save. */
int zp_ref_run_load(zp_diff *t, zp_error *err);
int zp_ref_run_save(zp_diff *t, zp_error *err);

#endif
