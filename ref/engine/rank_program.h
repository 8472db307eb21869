/* A rank's programs: the planner's for its block, with what the planner does not know: sums over tp
 * of partial gradients (partial.h), with several replicas their communicator, first values and
 * sums, fp32 gradients beside a narrower precision, and the numbers of bucket slots that flat
 * groups share (bucket_slots.h). The executors run, and the checkers check, these programs. spec:
 * RED-1, RED-8, RED-9, STEP-2, LEDG-4 … LEDG-6, PIPE-5 */
#ifndef ZP_ENGINE_RANK_PROGRAM_H
#define ZP_ENGINE_RANK_PROGRAM_H

#include <stdint.h>

#include "../comm/block.h"

/* As zp_program_need and zp_program_write (plan/program.h). lay is the layout of the rank's stage
 * in b->cfg. Writing also returns -1 without memory; then ops are undefined. spec: LEDG-8 */
int64_t zp_rank_program_need(const zp_block_rank *b, const zp_layout *lay, int32_t phase);
int64_t zp_rank_program_write(const zp_block_rank *b, const zp_layout *lay, int32_t phase,
                              zp_op *ops, int64_t cap);

#endif
