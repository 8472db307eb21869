/* What the parts of the rank interpreter share. Not installed. */
#ifndef ZP_ENGINE_RANK_INTERNAL_H
#define ZP_ENGINE_RANK_INTERNAL_H

#include "rank.h"

/* Steps through the entries' runs in range p of flat group k in order; *i is the iterator's state
 * and starts as lay->n_params. Returns 0 at the end. spec: PART-9 */
int zp_next_piece(const zp_rank *r, int32_t k, zp_range p, int32_t *i, zp_piece *g);

/* Grows a buffer (only dynamic shapes make it grow after the first step); 0 or -1. */
int zp_buffer_need(zp_buffer *b, int64_t bytes);

/* This rank's copy of entry j. */
int32_t zp_copy_tp(const zp_rank *r, int32_t j);
int32_t zp_copy_ep(const zp_rank *r, int32_t j);

/* The array of flat group k that holds `what`: a master, a moment, or the reduced gradient. */
float *zp_array_of(const zp_rank *r, int32_t k, int32_t what);

/* Describes the activation that `boundary` sends to the next stage (n = 0 where there is none), and
 * its gradient: the float tensors only. spec: PIPE-6 */
int zp_rank_describe(zp_rank *r, int32_t boundary, int64_t mb, zp_message *out);
int zp_rank_describe_gradient(zp_rank *r, int32_t boundary, int64_t mb, zp_message *out);

/* Points a description's tensors at buffers large enough; 0, or a negative status in *r->err. */
int zp_rank_attach(zp_rank *r, zp_message *msg, zp_buffer *mem);

/* Local ops: 0, or a negative status in *r->err. */
int zp_rank_compute(zp_rank *r, const zp_op *op);    /* load, forward, backward, arrived */
int zp_rank_arithmetic(zp_rank *r, const zp_op *op); /* add, mean, decide, update */
int zp_rank_storage(zp_rank *r, const zp_op *op);    /* write, seal, read, commit, install */

/* Fills r->request for a communication op, and finishes it. */
int zp_rank_request(zp_rank *r, const zp_op *op);
int zp_rank_finish(zp_rank *r, const zp_op *op);

#endif
