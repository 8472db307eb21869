/* What the parts of the rank interpreter share. Not installed. */
#ifndef ZP_ENGINE_RANK_INTERNAL_H
#define ZP_ENGINE_RANK_INTERNAL_H

#include "rank.h"
#include "rank_query.h"

/* Grows a buffer (only dynamic shapes make it grow after the first step); 0 or -1. */
int zp_buffer_need(zp_buffer *b, int64_t bytes);

/* Describes the activation that `boundary` sends to the next stage (n = 0 on the last stage), and
 * its gradient: the float tensors only. spec: PIPE-6 */
void zp_rank_describe(const zp_rank *r, int32_t boundary, int64_t mb, zp_message *out);
void zp_rank_describe_gradient(const zp_rank *r, int32_t boundary, int64_t mb, zp_message *out);

/* Points a description's tensors at buffers large enough; 0, or a negative status in *r->err. */
int zp_rank_attach(zp_rank *r, zp_message *msg, zp_buffer *mem);

/* Local ops: 0, or a negative status in *r->err. */
int zp_rank_compute(zp_rank *r, const zp_op *op);    /* load, forward, backward, arrived */
int zp_rank_arithmetic(zp_rank *r, const zp_op *op); /* add, mean, decide, update */
int zp_rank_storage(zp_rank *r, const zp_op *op);    /* write, seal, read, commit, install */

/* Of the hyperparameters that the rank's next decision uses. spec: STAT-6 */
uint64_t zp_rank_digest(const zp_rank *r);

/* Fills r->request for a communication op, and finishes it. */
int zp_rank_request(zp_rank *r, const zp_op *op);
int zp_rank_finish(zp_rank *r, const zp_op *op);

#endif
