/* What the parts of `zeroproof train` share. */
#ifndef ZP_CLI_TRAIN_H
#define ZP_CLI_TRAIN_H

#include <stdatomic.h>
#include <stdint.h>

#include "../engine/checkpoint.h"
#include "../engine/comm_mpi.h"
#include "../engine/comm_sim.h"
#include "../engine/rank.h"
#include "../engine/serial.h"
#include "../model/gpt.h"
#include "engine.h"
#include "options.h"

typedef struct zp_train_args {
  zp_options o;
  zp_engine_args chosen;
  const zp_engine *engine;
  zp_gpt_shape shape;
  const char **files; /* --data and what follows it */
  int32_t n_files;
  int32_t verify, vary_shapes, tuple, sample; /* sample: bytes */
  int32_t library; /* 1: the engine's library multiplies, and ref follows the engine (ERR-7) */
  const char *plot, *save, *load;
  int64_t save_every;
  uint64_t text_hash; /* of the training text */
} zp_train_args;

/* The training text, by file or from the spec that ships with the project. 0, or an exit code. */
typedef struct zp_text {
  uint8_t *bytes;
  int64_t n;
  int32_t files;
  char what[256]; /* for people */
} zp_text;
int zp_text_read(const zp_train_args *a, zp_text *text);

/* The whole training state in the model's own terms, whatever the topology: each logical element
 * once, entries of one tied key at the place of the first. */
typedef struct zp_snapshot {
  int32_t entries;
  int64_t *at;   /* [entries] first element of the entry */
  int32_t *home; /* [entries] first entry of the same key */
  int64_t elements;
  float *state[3];         /* [elements] masters, first and second moments */
  uint8_t *param;          /* [elements · size] */
  int32_t size;            /* bytes of an element of the precision */
  int64_t seen[3];         /* elements written so far */
  int32_t replicas_differ; /* 1: two ranks hold different parameters */
} zp_snapshot;

/* One training run and where it ended. */
typedef struct zp_outcome {
  int64_t first, steps;   /* steps first … first + steps - 1 */
  zp_step_result *result; /* [steps] */
  zp_snapshot end;
  zp_scaler scaler;
  int32_t ledgers_agree; /* members of every group issued the same sequence */
  int64_t ledger_groups; /* how many were compared */
  zp_error err;
} zp_outcome;

/* 0, or -1 without memory. */
int zp_outcome_open(zp_outcome *out, const zp_config *cfg, int64_t first, int64_t steps);
void zp_outcome_close(zp_outcome *out);

/* One number for the bits of the final parameters, masters, moments and scaler; and one for these
 * and all losses, norms, scales and skips of steps [from, first + steps). */
uint64_t zp_outcome_end_hash(const zp_outcome *out);
uint64_t zp_outcome_hash(const zp_outcome *out, int64_t from);

/* A rank's (sim) or this process's (MPI) part in a training run. Exactly one of sim and mpi. */
typedef struct zp_trainer {
  const zp_config *cfg;
  zp_sim *sim;
  zp_mpi *mpi;
  zp_rank *rank;      /* rank 0 of the simulation, or this process's */
  int64_t ops, bytes; /* of the last step, communications of `rank` */
} zp_trainer;

/* Opens, runs INIT. mpi NULL: all ranks here. 0, or a negative zp_status in *err. */
int zp_trainer_open(zp_trainer *t, const zp_config *cfg, const zp_hyper *hyper,
                    const zp_workload *work, zp_mpi *mpi, zp_error *err);
int zp_trainer_run(zp_trainer *t, int32_t phase, zp_error *err);
/* ops and bytes since the rank's ledgers were `before`. */
void zp_trainer_count(zp_trainer *t, const zp_ledger_sum before[ZP_GROUPS]);
void zp_trainer_close(zp_trainer *t);

/* Fills out->end, scaler and the ledgers' verdict; under MPI collective, whole on rank 0 only. */
int zp_trainer_harvest(zp_trainer *t, zp_outcome *out, zp_error *err);

/* The serial oracle's, and the simulator's, run of out->steps from step 0. They end early, with no
 * meaningful outcome, once *stop is not 0. */
int zp_serial_run(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                  atomic_int *stop, zp_outcome *out);
int zp_sim_run_all(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                   atomic_int *stop, zp_outcome *out);

/* --verify: serial and other topologies, trained beside the main run. */
typedef struct zp_verify zp_verify;
zp_verify *zp_verify_start(const zp_train_args *a, const zp_config *cfg, const zp_workload *work,
                           const zp_gpt_shape *shape, int64_t steps);
/* Waits, prints and returns an exit code. NULL main: stop and free only. json may be NULL. */
int zp_verify_finish(zp_verify *v, const zp_outcome *main_run, void *json);

/* Before training: can what --save and --plot name be written? Leaves nothing behind. 0, or
 * ZP_E_FILE in *err. */
int zp_train_probe(const zp_train_args *a, zp_error *err);

/* --save and --load, collective under MPI. 0, or a negative zp_status in *err. */
int zp_train_save(const zp_train_args *a, zp_trainer *t, zp_error *err);
int zp_train_load(const zp_train_args *a, zp_trainer *t, zp_error *err);

/* The parts of it, for another engine. Opens the checkpoint of --load for all ranks of the process,
 * which may be that of another model or damaged: ZP_E_REFUSED; speaks: remarks are printed. The
 * caller closes *reader. */
int zp_train_reader(const zp_train_args *a, const zp_config *cfg, int speaks,
                    zp_ckpt_reader **reader, zp_store *store, zp_error *err);
void zp_train_remark_scale(const zp_train_args *a, const zp_scaler *loaded);
/* Opens a rank's part of the checkpoint of --save. The caller closes *writer. */
int zp_train_writer(const zp_train_args *a, const zp_config *cfg, int64_t step, int32_t rank,
                    zp_ckpt_writer **writer, zp_store *store, zp_error *err);

/* --plot: the loss curve by gnuplot. 0, or an exit code after a message. */
int zp_train_plot(const zp_train_args *a, const zp_outcome *run, double entropy);

/* Text sampled from the end of a run, made printable; malloc'ed, or NULL. */
char *zp_train_sample(const zp_train_args *a, const zp_snapshot *end, int32_t precision,
                      const zp_text *text);

#endif
