/* Checkpoints of training runs. Beside the engine's state a checkpoint records the model, the text
 * and the optimizer: a model of another shape is refused, other differences are remarks. */
#ifndef ZP_VERIFY_TRAIN_STORE_H
#define ZP_VERIFY_TRAIN_STORE_H

#include <stdint.h>

#include "../engine/checkpoint.h"
#include "../model/gpt.h"

/* What a checkpoint records of a run. */
typedef struct zp_train_record {
  const zp_config *cfg;
  const zp_hyper *hyper;
  char (*names)[ZP_CKPT_NAME]; /* [cfg->n_params] */
  zp_gpt_shape shape;
  uint64_t text_hash, seed;
  int32_t vary_shapes, tuple;
} zp_train_record;

/* Opens the checkpoint in folder `dir` for all ranks of the process: ZP_E_REFUSED when it is
 * missing, damaged, or of another model. remark: NULL, or where the differences of the two runs
 * are put ("" for none; malloc'ed, the caller frees it). The caller closes *reader. */
int zp_train_open_reader(const zp_train_record *record, const char *dir, zp_ckpt_reader **reader,
                         zp_store *store, char **remark, zp_error *err);

/* Opens a rank's part of the checkpoint in folder `dir`. The caller closes *writer. */
int zp_train_open_writer(const zp_train_record *record, const char *dir, int64_t step, int32_t rank,
                         zp_ckpt_writer **writer, zp_store *store, zp_error *err);

#endif
