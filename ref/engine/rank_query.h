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

/* The array of flat group k that holds `what`: a master, a moment, or the reduced gradient. */
float *zp_array_of(const zp_rank *r, int32_t k, int32_t what);

#endif
