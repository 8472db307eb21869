/* What a rank keeps in memory, from its layout alone: what every executor of its programs
 * allocates, beside a workload's activations. */
#ifndef ZP_ENGINE_MEMORY_H
#define ZP_ENGINE_MEMORY_H

#include <stdint.h>

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

/* What a rank of the CUDA engine allocates on its device beside zp_memory and a few hundred bytes
 * of state, with options.early_bytes 0, without offload, and where no sum goes over tied stages,
 * replicas or tp. */
typedef struct zp_device_memory {
  int64_t early;  /* gradients that are announced before their turn (early.h) */
  int64_t native; /* stage 2: what native sums, which NCCL adds in fp32, take in the slots beside
                     16-bit gradients */
} zp_device_memory;

/* As zp_memory_of. 0, or -1 without memory. */
int zp_device_memory_of(const zp_config *cfg, const zp_layout *lay, int32_t slots,
                        int32_t fp32_gradients, zp_device_memory *m);

#endif
