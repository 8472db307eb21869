/* The hyperparameters of a training run, whose learning rates follow a schedule, and their part of
 * a checkpoint. spec: OPT-8, CKPT-10 */
#ifndef ZP_VERIFY_TRAIN_HYPER_H
#define ZP_VERIFY_TRAIN_HYPER_H

#include <jansson.h>
#include <stdint.h>

#include "../engine/lr_schedule.h"

/* What the user set: it stays as it is when a checkpoint is loaded, which replaces the rest. */
enum {
  ZP_SET_LR = 1,         /* one rate for all optimizers */
  ZP_SET_OPTIMIZERS = 2, /* all numbers of all optimizers */
  ZP_SET_CLIP = 4,
  ZP_SET_CLIP_EPS = 8,
  ZP_SET_SCHEDULE = 16
};

typedef struct zp_train_hyper {
  zp_hyper peak; /* its rates are those that the schedule multiplies */
  zp_lr_schedule schedule;
  uint32_t set; /* ZP_SET_* */
} zp_train_hyper;

/* The hyperparameters of step `step`. */
zp_hyper zp_train_hyper_at(const zp_train_hyper *h, int64_t step);

/* Adds to the manifest's document `root` the numbers of the next step, `step`, as the public engine
 * saves them, and "schedule": its text and the peak rates. 0, or -1 without memory. */
int zp_train_hyper_save(const zp_train_hyper *h, int64_t step, json_t *root);

/* *h continues with what the manifest's text has, except for what the user set; unchanged if it has
 * no hyperparameters. 0, or ZP_E_FILE in *err: a member is missing or out of range. */
int zp_train_hyper_restore(zp_train_hyper *h, const char *workload, zp_error *err);

#endif
