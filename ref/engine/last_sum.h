/* After which op of a STEP program a bucket is summed. spec: STEP-2 */
#ifndef ZP_ENGINE_LAST_SUM_H
#define ZP_ENGINE_LAST_SUM_H

#include "../comm/block.h"

/* is_last: [n] 1: the op is the last sum of a bucket that has a mean, over the data-parallel group,
 * replicas, stages or tp. mean: [flats] the position of the mean of the flat group's bucket 0,
 * which those of its further buckets follow; -1: the flat group has none.
 * ops: a rank's program of STEP, of n ops and so many flat groups. 0, or -1 without memory. */
int zp_last_sums(const zp_op *ops, int64_t n, int32_t flats, uint8_t *is_last, int64_t *mean);

#endif
