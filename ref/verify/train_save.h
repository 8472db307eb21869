/* The saves of a training run: in the background every so many steps, and at its end. */
#ifndef ZP_VERIFY_TRAIN_SAVE_H
#define ZP_VERIFY_TRAIN_SAVE_H

#include "../engine/background.h"
#include "train.h"

/* All ranks of a job call the functions below at the same steps. */
typedef struct zp_saving {
  const zp_training *job;
  zp_trainer *t;
  zp_ckpt_folder loaded; /* of the checkpoint that this job continues */
  int64_t step;          /* of the save that is under way */
  int32_t n;             /* ranks of this process */
  zp_ckpt_writer **writer;
  zp_store *disk, *store;
  zp_background *background; /* NULL: no saves in the background */
} zp_saving;

/* job, t outlive *s. 0, or a negative status in *err, then there is nothing to close. */
int zp_saving_open(zp_saving *s, const zp_training *job, zp_trainer *t, zp_ckpt_folder loaded,
                   zp_error *err);

/* Copies the state of all ranks, and starts to write it. The save before it is completed first,
 * which may mean to wait for the disk. 0, or a negative status in *err. */
int zp_saving_begin(zp_saving *s, zp_error *err);

/* Publishes the save that is under way if all ranks have written their parts. 0, or a negative
 * status in *err: the save has failed. */
int zp_saving_poll(zp_saving *s, zp_error *err);

/* Completes the save that is under way, then saves at once, without a copy. 0, or a negative status
 * in *err. */
int zp_saving_now(zp_saving *s, zp_error *err);

/* After a status that is not 0, an MPI process leaves everything as it is: it is about to end, and
 * the others are not to wait for its disk. */
void zp_saving_close(zp_saving *s, int status);

#endif
