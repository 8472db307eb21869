/* Sequence parallelism: each tensor-parallel rank sees its part of the sequence, so its gradient of
 * a tp-replicated entry is a part of the gradient. The parts are summed over tp, by ops that
 * rank_program.c adds to the planner's programs. spec: RED-8, STEP-2, LEDG-6 */
#ifndef ZP_ENGINE_PARTIAL_H
#define ZP_ENGINE_PARTIAL_H

#include <stdint.h>

#include "../plan/program.h"
#include "window.h"

/* 1: each tp rank contributes a part of entry j's gradient; 0: it is sharded or frozen, or all tp
 * ranks contribute the same. */
int32_t zp_is_partial(const zp_config *cfg, int32_t j);

/* Elements of partial entries in range p of flat group k. spec: PART-9 */
int64_t zp_partial_in(const zp_config *cfg, const zp_layout *lay, int32_t k, zp_range p);

/* Bytes of the largest packed array that a rank of the stage sends in one such sum. */
int64_t zp_partial_bytes(const zp_config *cfg, const zp_layout *lay);

/* Writes the sums of the rank at `at` of the layout's stage, all at clock_t, from ops[0] on; only
 * counts them where ops is NULL. Returns how many. */
int64_t zp_partial_sums(const zp_config *cfg, const zp_layout *lay, zp_coord at, int64_t clock_t,
                        zp_op *ops);

#endif
