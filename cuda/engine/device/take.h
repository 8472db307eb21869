/* The functions of the host's cursor whose refusals are errors. The host does not know whether a
 * step is skipped: its cursor stays undecided and omits nothing (STEP-6).
 * spec: STEP-2, STEP-3 */
#ifndef ZP_CUDA_TAKE_H
#define ZP_CUDA_TAKE_H

#include "rank.h"

/* Begins the program of a phase. */
void zp_cuda_begin_program(zp_cuda_rank *r, int32_t phase);

/* Takes the op at the cursor, or op p before its turn; ends the op that was taken last. */
int zp_cuda_take(zp_cuda_rank *r);
int zp_cuda_take_early(zp_cuda_rank *r, int64_t p);
int zp_cuda_done(zp_cuda_rank *r);

#endif
