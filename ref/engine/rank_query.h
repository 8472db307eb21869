/* Queries on a rank, for the interpreter and for those who compare ranks. Not installed. */
#ifndef ZP_ENGINE_RANK_QUERY_H
#define ZP_ENGINE_RANK_QUERY_H

#include "rank.h"

/* Steps through the entries' runs in range p of flat group k in order, without padding; *i is the
 * iterator's state and starts as lay->n_params. Returns 0 at the end. spec: PART-9 */
int zp_next_piece(const zp_rank *r, int32_t k, zp_range p, int32_t *i, zp_piece *g);

/* This rank's copy of entry j. */
int32_t zp_copy_tp(const zp_rank *r, int32_t j);
int32_t zp_copy_ep(const zp_rank *r, int32_t j);

/* The sums (fp32, limbs, or packed) of what this rank holds of bucket b of flat group k: over the
 * ranks after their reduction, and the means after MEAN, except for limbs. RED-4 */
void *zp_sums_of(const zp_rank *r, int32_t k, int64_t b);

/* Packed sums of n elements. spec: SUM-8, SUM-9 */
typedef struct zp_packed {
  uint32_t *low; /* (ZP_PACKED_WORDS, n), or (3, n) */
  int64_t *top;  /* (n), or NULL: sums of fp16 numbers */
  int64_t n;
} zp_packed;

/* The same where sums are packed. */
zp_packed zp_packed_of(const zp_rank *r, int32_t k, int64_t b);

/* Element i as carried limbs. */
void zp_packed_get(zp_packed p, int64_t i, int64_t limb[ZP_LIMBS]);

/* The dtype of flat group k's gradients. */
int32_t zp_gradients_of(const zp_rank *r, int32_t k);

/* The master, first or second moment (ZP_WHAT_…) of flat group k. */
float *zp_state_of(const zp_rank *r, int32_t k, int32_t what);

/* What this rank holds of bucket b of flat group k: of the masters, of a moment, or of the reduced
 * gradient (after MEAN). */
float *zp_held_of(const zp_rank *r, int32_t k, int64_t b, int32_t what);

#endif
