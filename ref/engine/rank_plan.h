/* The plan of one rank, without running it: its layout, its programs and their memory and traffic.
 * For those who print, draw or judge plans. */
#ifndef ZP_ENGINE_RANK_PLAN_H
#define ZP_ENGINE_RANK_PLAN_H

#include <stdint.h>

#include "../base/error.h"
#include "../comm/block.h"
#include "memory.h"

/* Ops of a program that can be held: 7 GB of them mean a forgotten bucket size. */
#define ZP_RANK_PLAN_OPS ((int64_t)1 << 26)

typedef struct zp_rank_plan {
  int32_t rank;
  zp_coord at;         /* in the configuration */
  zp_block_rank block; /* its numels are flat sizes (PART-2); those of entries: block.job */
  zp_layout lay;       /* of block.cfg */
  zp_op *op;           /* the program that was written last, or NULL */
  int64_t n;           /* its length; before, that of STEP */
  struct {
    int64_t ops, bytes; /* bytes sent under direct exchange, without exchanges in pp */
  } ledger[ZP_PHASES][ZP_ALL_GROUPS]; /* of the programs that were written */
  zp_memory memory;
  int64_t program, total; /* bytes: of all phases' programs; with memory */
  int64_t
      snapshot; /* bytes: of a save in the background, where zp_rank_plan_add_snapshot was called */
} zp_rank_plan;

/* Fills *p for a rank of the valid configuration cfg, without a program. Of *hyper it reads
 * replicas, entry_align, slots and fp32_gradients, which zp_block_check and zp_block_check_align
 * have accepted. cfg outlives it. The caller closes it in any case. 0, or ZP_E_MEMORY in *err. */
int zp_rank_plan_open(zp_rank_plan *p, const zp_config *cfg, const zp_hyper *hyper, int32_t rank,
                      zp_error *err);
void zp_rank_plan_close(zp_rank_plan *p);

/* Writes the program of a phase into p->op, and its sums into p->ledger. 0, or in *err ZP_E_MEMORY,
 * or ZP_E_REFUSED for a program that cannot be held. */
int zp_rank_plan_phase(zp_rank_plan *p, int32_t phase, zp_error *err);

/* Can all programs of all ranks be held? 0, or a status as of zp_rank_plan_phase. */
int zp_rank_plan_holds(const zp_config *cfg, const zp_hyper *hyper, zp_error *err);

/* Bytes of values that p's rank copies for a save in the background, beside less than 1/1000 and
 * 64 KiB for their heads. -1 if the SAVE program cannot be held. spec: CKPT-1, CKPT-11 */
int64_t zp_rank_plan_snapshot(const zp_rank_plan *p);

/* Sets p->snapshot, and adds it to p->total. 0, or a negative status in *err. */
int zp_rank_plan_add_snapshot(zp_rank_plan *p, zp_error *err);

/* A run of the shard map: elements of one entry that lie together in one part of a rank's shard.
 * spec: PART-6 */
typedef struct zp_shard_run {
  int32_t entry;
  int64_t offset, count; /* in the entry */
  int64_t bucket, shard_offset;
} zp_shard_run;

/* Index of p's rank in the reduction group of flat group k: which part it owns. */
int32_t zp_rank_plan_owner(const zp_rank_plan *p, int32_t k);

/* Calls `visit` for each run that p's rank owns of flat group k, in order. */
void zp_rank_plan_runs(const zp_rank_plan *p, int32_t k,
                       void (*visit)(void *ctx, const zp_shard_run *run), void *ctx);

#endif
