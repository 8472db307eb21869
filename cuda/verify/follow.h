/* Comparison with ref where products are not ref's, so that gradients are not either: after each
 * step of the engine, ref does the step with the engine's losses, gradients and messages (tape.h),
 * and the results must be equal bit for bit. spec: ERR-7, ERR-8, PIPE-6 */
#ifndef ZP_CUDA_VERIFY_FOLLOW_H
#define ZP_CUDA_VERIFY_FOLLOW_H

#include "differential.h"

typedef struct zp_follow {
  zp_workload tape; /* the workload of ref */
  int64_t arrived;  /* ranks that have ended a step, over all steps */
  char *followed;   /* [steps] keys: ref has done the step */
  /* Σ squares over a step's gradients: of the differences from ref's own, and of ref's own */
  double difference, size;
} zp_follow;

/* After a step of the rank: judges its products; the last rank has ref do the step. */
int zp_follow_step(zp_diff_rank *w);
/* After the last step: adds the rank's products to the report. */
int zp_follow_report(zp_diff_rank *w);

#endif
