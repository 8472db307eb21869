/* A checkpoint in memory. Every logical element is put once (CKPT-1), what is got was put, and
 * ranks save the same step, scaler and optimizer states; else the call fails with ZP_E_VERDICT. */
#ifndef ZP_VERIFY_MEMORY_CHECKPOINT_H
#define ZP_VERIFY_MEMORY_CHECKPOINT_H

#include "../engine/rank.h"

/* Values by (what, ep, tp, entry, element); of a tied key only the first entry's place is used. */
typedef struct zp_case_memory {
  const zp_config *cfg;
  int64_t *at;   /* [n_params] an entry's first element */
  int64_t total; /* elements of one copy of everything */
  float *value;  /* [4 · ep · tp · total] */
  uint8_t *seen; /* the same */
  zp_train_state state;
  int32_t states; /* ranks that have finished */
  int32_t committed;
} zp_case_memory;

/* For saving under cfg, which outlives it. 0, or -1 without memory; it is closed either way. */
int zp_case_memory_open(zp_case_memory *m, const zp_config *cfg);
void zp_case_memory_close(zp_case_memory *m);
/* Empty again. */
void zp_case_memory_clear(zp_case_memory *m);

/* For all ranks that save, or for all that load, under whatever split. */
zp_store zp_case_memory_store(zp_case_memory *m);

/* What two checkpoints of one configuration differ in, or NULL. */
const char *zp_case_memory_differs(const zp_case_memory *a, const zp_case_memory *b);

#endif
