/* What the engine's model computed in a step, kept for ref's ranks; and the workload that returns
 * it to them. spec: ERR-7, PIPE-6 */
#ifndef ZP_CUDA_VERIFY_TAPE_H
#define ZP_CUDA_VERIFY_TAPE_H

#include "differential.h"

/* Messages of a micro-batch: activations received and sent, gradients received and sent. */
enum { ZP_TAPE_RECEIVED, ZP_TAPE_SENT, ZP_TAPE_RETURNED, ZP_TAPE_RETURNING, ZP_TAPE_MESSAGES };

/* A rank's. Device memory, of one step. */
typedef struct zp_tape {
  char *messages; /* [ZP_TAPE_MESSAGES][M] */
  int64_t bytes;  /* of one */
  float *losses;  /* [M] */
} zp_tape;

int zp_tape_open(zp_diff_rank *w);
void zp_tape_close(zp_diff_rank *w);
void zp_tape_record(zp_diff_rank *w, int32_t which, int64_t mb, const zp_message *m);
/* Of ref's ranks: ref's own model computes, too, and its errors are reported. */
zp_workload zp_tape_workload(zp_diff *t);

/* An error that is NaN or infinite counts for no maximum. */
void zp_error_max(double *most, double error);

#endif
