/* Checkpoints of training runs. Beside the engine's state a checkpoint records the model, the text
 * and the optimizer: a model of another shape is refused, other differences are remarks. */
#ifndef ZP_VERIFY_TRAIN_STORE_H
#define ZP_VERIFY_TRAIN_STORE_H

#include <stdint.h>

#include "../comm/mpi/comm_mpi.h"
#include "../engine/checkpoint.h"
#include "../model/gpt.h"
#include "train_hyper.h"

/* What a checkpoint records of a run. */
typedef struct zp_train_record {
  const zp_config *cfg;
  zp_train_hyper *hyper;       /* opening a reader restores it */
  char (*names)[ZP_CKPT_NAME]; /* [cfg->n_params] */
  zp_gpt_shape shape;
  uint64_t text_hash, seed;
  int32_t vary_shapes, tuple;
} zp_train_record;

/* Opens the checkpoint in folder `dir` for all ranks of the process, and restores record->hyper
 * from it: ZP_E_REFUSED when it is missing, damaged, or of another model. mpi: NULL, or the job,
 * all processes of which call this and load what rank 0 finds; ZP_E_MISMATCH on a rank that finds
 * another checkpoint. remark: NULL, or where the differences of the two runs are put ("" for none;
 * malloc'ed, the caller frees it). *reader is NULL before; the caller closes it, also after an
 * error. spec: CKPT-8 */
int zp_train_open_reader(const zp_train_record *record, const char *dir, zp_mpi *mpi,
                         zp_ckpt_reader **reader, zp_store *store, char **remark, zp_error *err);

/* Opens a rank's part of a save below folder `dir`; save's workload is filled in. The caller closes
 * *writer. */
int zp_train_open_writer(const zp_train_record *record, const char *dir, zp_ckpt_save save,
                         zp_ckpt_writer **writer, zp_store *store, zp_error *err);

#endif
