/* Which contributions a rank's reduced gradients hold, after a difference has been found. */
#ifndef ZP_CUDA_VERIFY_CONTRIBUTIONS_H
#define ZP_CUDA_VERIFY_CONTRIBUTIONS_H

#include "../../ref/verify/contributions.h"
#include "differential.h"

/* What one rank has decoded: of those that found a difference, the first whose gradients lack or
 * double a contribution. */
typedef struct zp_diff_contributions {
  int32_t rank, step; /* step: counted from 0 */
  int32_t n;
  zp_synth_finding finding[ZP_VERDICT_FINDINGS];
} zp_diff_contributions;

/* After the rank's last step: reads its reduced gradients, if they are coded. Always returns
 * `failed`; 0: nothing is decoded. */
int zp_diff_decode(zp_diff_rank *w, int failed);

/* Adds them to a verdict. */
void zp_diff_say_contributions(const zp_diff *t, zp_verdict *v);

#endif
