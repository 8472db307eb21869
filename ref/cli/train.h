/* Parts of `zeroproof train`. */
#ifndef ZP_CLI_TRAIN_H
#define ZP_CLI_TRAIN_H

#include <stdint.h>

#include "../verify/train.h"
#include "../verify/train_text.h"
#include "../verify/train_verify.h"
#include "engine_option.h"
#include "options.h"

typedef struct zp_train_args {
  zp_options o;
  zp_engine_args chosen;
  const zp_backend *engine;
  zp_gpt_shape shape;
  zp_lr_schedule schedule;
  int32_t schedule_set; /* 1: --schedule */
  const char **files;   /* --data and what follows it */
  int32_t n_files;
  int32_t verify, vary_shapes, tuple, sample; /* sample: bytes */
  int32_t follow; /* 1: products are not ref's, and ref follows the engine (ERR-7, ERR-8) */
  const char *plot, *save, *load;
  int64_t save_every;
  uint64_t text_hash; /* of the training text */
} zp_train_args;

/* --verify: waits for the other runs, prints and returns an exit code. NULL main_run: stop and free
 * only. json may be NULL. */
int zp_train_verified(zp_verify *v, const zp_options *o, const zp_outcome *main_run, void *json);

/* Before training: can what --save and --plot name be written? Locks the folder of --save until
 * *lock, which is set only then, is closed (CKPT-7). 0, or a negative status in *err. */
int zp_train_probe(const zp_train_args *a, int *lock, zp_error *err);

/* --plot: the loss curve by gnuplot. 0, or an exit code after a message. */
int zp_train_plot(const zp_train_args *a, const zp_outcome *run, double entropy);

#endif
