/* What a rank keeps in memory, from its layout alone: what every executor of its programs
 * allocates, beside a workload's activations. */
#ifndef ZP_ENGINE_MEMORY_H
#define ZP_ENGINE_MEMORY_H

#include <stdint.h>

#include "../comm/block.h"
#include "../plan/program.h"
#include "hyper.h"

/* Bytes by use. */
typedef struct zp_memory {
  int64_t params;  /* in the precision: flat groups with views, other entries with storage */
  int64_t window;  /* stages 0, 1: sums of this rank's micro-batches, reduced in place */
  int64_t slots;   /* stage 2: zp_slot_count buckets, of gradients */
  int64_t reduced; /* stage 2: sums over the ranks */
  int64_t mean;    /* stages 0, 1, `exact`: of the sums. Packed sums become their means, and fp32
                      sums are divided where they are read */
  int64_t state;   /* masters and two moments */
  int64_t scratch; /* what is sent and received of one bucket */
} zp_memory;

/* 1: the parameters of flat group k are one array, as long as the padded flat group: gathers write
 * it, and entries are parts of it. So it is at stages 1 and 2 if every entry starts at a multiple
 * of ZP_VIEW_BYTES; further uses of a tied key have no parameters. Otherwise each entry has an
 * array of its own, to which gathers are copied. spec: STEP-8, PART-2 */
int zp_has_views(const zp_config *cfg, const zp_layout *lay, int32_t k);

/* lay is the layout of a stage of the valid configuration cfg; slots and fp32_gradients: as in
 * zp_hyper. Errors: none; a sum that no machine has is below 2^63 all the same. spec: PART-5,
 * STEP-1 */
zp_memory zp_memory_of(const zp_config *cfg, const zp_layout *lay, int32_t slots,
                       int32_t fp32_gradients);

/* All of it. */
int64_t zp_memory_total(const zp_memory *m);

/* In what a rank of the CUDA engine differs from zp_memory on its device, but for a few hundred
 * bytes of state, with options.early_bytes 0, without offload, and where no sum goes over tied
 * stages, replicas or tp. */
typedef struct zp_device_memory {
  int64_t early;  /* more: gradients that are announced before their turn (early.h) */
  int64_t native; /* more, if sums are native: NCCL adds fp32, which take more of the slots than
                     16-bit gradients */
  int64_t limbs;  /* less, of scratch: what it receives of a bucket are contributions, which it adds
                     to packed sums; the reference receives their sums, as limbs (SUM-8) */
} zp_device_memory;

/* lay is the layout of a stage of b->cfg. 0, or -1 without memory. */
int zp_device_memory_of(const zp_block_rank *b, const zp_layout *lay, zp_device_memory *m);

/* zp_device_memory.limbs: 0 where sums go over tied stages, replicas or tp, as limbs. */
int64_t zp_device_spare_limbs(const zp_block_rank *b, const zp_layout *lay);

/* The sum of m without native sums; without more state than masters and moments. */
int64_t zp_device_memory_total(const zp_memory *m, const zp_device_memory *device);

#endif
