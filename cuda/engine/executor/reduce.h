/* Reductions of gradients, and their means. The members of a group exchange parts directly, and the
 * owner adds them in the order of the ranks; NCCL adds sums in limbs, as the order of integer
 * additions does not matter. `native` leaves the additions of `ordered` between ranks to NCCL, too,
 * which fixes no order: in fp32, as all accumulation, so that 16-bit gradients are widened before
 * they are sent. All work is on the reduction stream.
 * spec: RED-2 … RED-5, RED-7 … RED-9, TIE-1, TIE-2, STAT-2 */
#ifndef ZP_CUDA_REDUCE_H
#define ZP_CUDA_REDUCE_H

#include "ops.h"

/* A bucket's last sum is followed by the op MEAN: the means of this rank's share of the bucket,
 * which only `exact` stores, and the squares that it counts (STEP-2). With offload what the host's
 * update reads leaves then (STRM-9). */

/* A bucket over its data-parallel group, after the streams that filled it. */
int zp_cuda_reduce(const zp_cuda_ops *o, const zp_op *op);
/* The sums between replicas of this rank's share of a bucket. */
int zp_cuda_reduce_replica(const zp_cuda_ops *o, const zp_op *op);
/* A tied bucket's sums over its uses and stages. */
int zp_cuda_reduce_tied(const zp_cuda_ops *o, const zp_op *op);
/* The sums over tp of a bucket's tp-replicated entries, packed without the others. */
int zp_cuda_reduce_partial(const zp_cuda_ops *o, const zp_op *op);
#endif
