/* What `zeroproof train` runs: the steps, from a checkpoint and to checkpoints, on ref or on
 * another engine beside it. */
#ifndef ZP_VERIFY_TRAIN_H
#define ZP_VERIFY_TRAIN_H

#include "backend.h"
#include "train_run.h"
#include "train_store.h"

/* One training run. Callbacks may be NULL. */
typedef struct zp_training {
  const zp_config *cfg;
  zp_train_hyper *hyper; /* restored by a load */
  const zp_workload *work;
  const zp_train_record *record;
  const char *load, *save; /* folders of checkpoints, or NULL */
  int64_t save_every;      /* steps between two saves in the background; 0: only at the end */
  int64_t steps;
  zp_mpi *mpi; /* NULL: all ranks are in this process */
  void *ctx;
  void (*remark)(void *ctx, const char *text);        /* on the checkpoint that is loaded */
  void (*loaded)(void *ctx, const zp_scaler *scaler); /* the scaler that continues */
  int (*begins)(void *ctx, int64_t first_step, zp_error *err); /* 0, or a negative status in *err */
  /* after a step; ops, bytes: communications of rank 0, or of this process's rank */
  void (*stepped)(void *ctx, const zp_step_result *result, int64_t ops, int64_t bytes);
  void (*saved)(void *ctx, int64_t next_step);
} zp_training;

/* Trains on ref. *t and *out are closed by the caller, also after an error; after an error under
 * MPI they are not, since messages may be under way. 0, or a negative status in *err. */
int zp_train(const zp_training *job, zp_trainer *t, zp_outcome *out, zp_error *err);

/* Trains on another engine, which compares with ref. offload, products: as in
 * zp_backend_training. */
int zp_train_beside(const zp_training *job, const zp_backend *backend, int32_t offload,
                    zp_gemm_report *products, zp_outcome *out, zp_error *err);

#endif
