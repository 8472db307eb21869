/* The bucket slots of a rank at ZeRO stage 2: buffers that its flat groups share. The planner
 * numbers two for each flat group; an executor's program numbers those of the rank. spec: RED-3,
 * STRM-2 */
#ifndef ZP_ENGINE_BUCKET_SLOTS_H
#define ZP_ENGINE_BUCKET_SLOTS_H

#include "../base/error.h"
#include "../plan/program.h"

enum { ZP_SLOTS_MOST = 1024 };

/* 0, or ZP_E_REFUSED in *err: a number that is not 0 to ZP_SLOTS_MOST. */
int zp_slots_check(int32_t slots, zp_error *err);

/* How many slots a rank has. lay is the layout of a stage of cfg. At any time at most one bucket of
 * each flat group is being filled. slots: how many are wanted; there are never fewer than such
 * buckets. 0: one more than those, and at least 2. */
int32_t zp_slot_count(const zp_config *cfg, const zp_layout *lay, int32_t slots);

/* Elements of the widest bucket, with padding; bytes of each slot: of the gradients of the bucket
 * that takes most. fp32_gradients: as in zp_hyper. */
int64_t zp_slot_elements(const zp_layout *lay);
int64_t zp_slot_bytes(const zp_config *cfg, const zp_layout *lay, int32_t fp32_gradients);

/* Numbers the slots of a STEP program of n ops from 0 to zp_slot_count - 1: each bucket gets the
 * free one whose bucket was reduced the longest ago. 0, or -1 without memory. */
int zp_assign_slots(const zp_config *cfg, const zp_layout *lay, int32_t slots, zp_op *ops,
                    int64_t n);

#endif
