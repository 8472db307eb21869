/* Which contributions reduced gradients hold, where they are coded. */
#ifndef ZP_VERIFY_CONTRIBUTIONS_H
#define ZP_VERIFY_CONTRIBUTIONS_H

#include "verdict.h"

/* 1: the gradients of this step are coded, and no sum of them rounds at this scale. cfg: a case's,
 * with gradients by opt. */
int zp_are_coded_exactly(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                         int32_t log2_scale);

/* Adds the clauses that a finding of zp_synth_decode violates. foreign: 1: with several replicas,
 * the contribution comes from another one than the rank that holds it. */
void zp_verdict_contribution(zp_verdict *v, const zp_config *cfg, const zp_synth_finding *f,
                             int foreign);

#endif
