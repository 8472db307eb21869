/* Replicas: the dp indices of a job are cut into blocks, each of which holds a replica of the
 * sharded state and runs the programs of a job of its size. Here ranks and groups of a block are
 * mapped to those of the job. spec: TOPO-6, LIM-10 */
#ifndef ZP_COMM_BLOCK_H
#define ZP_COMM_BLOCK_H

#include <stdint.h>

#include "../base/error.h"
#include "../plan/program.h"

/* The planner knows no replicas, so what they add is numbered after its own. */
enum {
  ZP_GROUP_REPLICA = ZP_GROUPS, /* same pp, tp index and dp index within the block */
  ZP_ALL_GROUPS,
  ZP_WHAT_REPLICA = ZP_WHATS, /* the sum between replicas of a rank's part of a bucket (RED-9) */
  ZP_ALL_WHATS
};

/* A rank in its block. */
typedef struct zp_block_rank {
  const zp_config *job; /* outlives it */
  /* what the block's programs are planned for: dp is a block's, the list's numels are flat sizes */
  zp_config cfg;
  int32_t replicas;       /* R, at least 1 */
  int32_t index;          /* which block, 0..R-1 */
  zp_coord at;            /* in cfg */
  zp_param *sized;        /* the list of cfg if it is not the job's, or NULL */
  int32_t slots;          /* as in zp_hyper, which the caller sets; 0: the default */
  int32_t fp32_gradients; /* 1: all gradients are fp32 (RED-1); zp_block_of sets 0 */
} zp_block_rank;

/* Can the valid configuration `job` have so many replicas? 0, or ZP_E_REFUSED in *err. spec: LIM-10
 */
int zp_block_check(const zp_config *job, int32_t replicas, zp_error *err);

/* The block of a rank, 0 <= rank < zp_world(job), of a configuration that zp_block_check accepts.
 */
zp_block_rank zp_block_of(const zp_config *job, int32_t replicas, int32_t rank);

/* Plans for flat sizes with this entry alignment, 0 or 1: none. Returns 0, or -1 without memory;
 * zp_block_close frees it. spec: PART-2 */
int zp_block_align(zp_block_rank *b, int64_t entry_align);
void zp_block_close(zp_block_rank *b);

/* The dtype of gradients of entries, or of a flat group, whose field fp32 is `fp32`. spec: RED-1 */
static inline int32_t zp_block_gradients(const zp_block_rank *b, int32_t fp32)
{
  return zp_dtype_of(fp32 || b->fp32_gradients, b->cfg.precision);
}

/* Can the valid configuration `job` have this entry alignment? 0, or ZP_E_REFUSED in *err. spec:
 * LIM-11 */
int zp_block_check_align(const zp_config *job, int64_t entry_align, zp_error *err);

/* How many of an entry's elements offset … offset+count-1, which may be padding, are its own. */
int64_t zp_block_own(const zp_block_rank *b, int32_t param, int64_t offset, int64_t count);

/* As the functions of plan/topology.h, for the rank's groups in the job: members and ids are the
 * job's ranks. spec: TOPO-2 … TOPO-6 */
int32_t zp_block_group_size(const zp_block_rank *b, int32_t group, int32_t key);
int32_t zp_block_group_index(const zp_block_rank *b, int32_t group, int32_t key);
int32_t zp_block_group_member(const zp_block_rank *b, int32_t group, int32_t key, int32_t i);
int32_t zp_block_group_id(const zp_block_rank *b, int32_t group, int32_t key);

#endif
