/* Training runs: on ref's simulator or as one rank of an MPI job, on another engine beside ref, and
 * serially. */
#ifndef ZP_VERIFY_TRAIN_RUN_H
#define ZP_VERIFY_TRAIN_RUN_H

#include <stdatomic.h>
#include <stdint.h>

#include "../comm/mpi/comm_mpi.h"
#include "../comm/sim/comm_sim.h"
#include "../engine/serial.h"
#include "train_hyper.h"
#include "train_outcome.h"

/* A rank's (sim) or this process's (MPI) part in a training run. Exactly one of sim and mpi. */
typedef struct zp_trainer {
  const zp_config *cfg;
  zp_sim *sim;
  zp_mpi *mpi;
  const zp_train_hyper *hyper;
  zp_hyper now;       /* of the step that runs: all ranks read these */
  zp_rank *rank;      /* rank 0 of the simulation, or this process's */
  int64_t ops, bytes; /* of the last step, communications of `rank` */
} zp_trainer;

/* Opens, runs INIT. mpi NULL: all ranks here. *t stays where it is until zp_trainer_close; hyper
 * and the rest outlive it. 0, or a negative zp_status in *err. */
int zp_trainer_open(zp_trainer *t, const zp_config *cfg, const zp_train_hyper *hyper,
                    const zp_workload *work, zp_mpi *mpi, zp_error *err);
/* A STEP has the hyperparameters of its number. */
int zp_trainer_run(zp_trainer *t, int32_t phase, zp_error *err);
/* ops and bytes since the rank's ledgers were `before`. */
void zp_trainer_count(zp_trainer *t, const zp_ledger_sum before[ZP_ALL_GROUPS]);
void zp_trainer_close(zp_trainer *t);

/* The ranks of this process: all of a simulation, or one. */
int32_t zp_trainer_ranks(const zp_trainer *t);
zp_rank *zp_trainer_rank(const zp_trainer *t, int32_t i);

/* Fills out->end, scaler and the ledgers' verdict; under MPI collective, whole on rank 0 only. */
int zp_trainer_collect(zp_trainer *t, zp_outcome *out, zp_error *err);

/* The serial oracle's, and the simulator's, run of out->steps from step 0. They end early, with no
 * meaningful outcome, once *stop is not 0. */
int zp_serial_run(const zp_config *cfg, const zp_train_hyper *hyper, const zp_workload *work,
                  atomic_int *stop, zp_outcome *out);
int zp_sim_run_all(const zp_config *cfg, const zp_train_hyper *hyper, const zp_workload *work,
                   atomic_int *stop, zp_outcome *out);

#endif
