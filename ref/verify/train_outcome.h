/* Where a training run ends, in the model's own terms, whatever the topology. */
#ifndef ZP_VERIFY_TRAIN_OUTCOME_H
#define ZP_VERIFY_TRAIN_OUTCOME_H

#include <stdint.h>

#include "../engine/rank.h"
#include "../model/gpt.h"

/* The whole training state in the model's own terms, whatever the topology: each logical element
 * once, entries of one tied key at the place of the first. */
typedef struct zp_snapshot {
  int32_t entries;
  int64_t *at;   /* [entries] first element of the entry */
  int32_t *home; /* [entries] first entry of the same key */
  int64_t elements;
  float *state[3];         /* [elements] masters, first and second moments */
  uint8_t *param;          /* [elements · size]; an entry's begin at element at[] */
  int32_t size;            /* bytes of an element of the widest entry */
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

/* `bytes` bytes of text sampled from the end of a run after the first ZP_SAMPLE_PROMPT bytes of its
 * text, made printable; malloc'ed, or NULL. */
enum { ZP_SAMPLE_PROMPT = 16 };
char *zp_train_sample(const zp_gpt_shape *shape, const zp_snapshot *end, const zp_config *cfg,
                      const uint8_t *text, int64_t text_bytes, int32_t bytes, uint64_t seed);

#endif
