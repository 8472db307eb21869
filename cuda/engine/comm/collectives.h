/* The communications of the programs as NCCL calls. Each is ordered after the one before it
 * (order.h), and on its stream when the function returns. Counts are in elements; dtype: zp_dtype,
 * ZP_I64 for limbs. spec: LEDG-1 */
#ifndef ZP_CUDA_COLLECTIVES_H
#define ZP_CUDA_COLLECTIVES_H

#include "communicators.h"

/* On the reduction stream. */
int zp_cuda_all_reduce(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv, int64_t n,
                       int32_t dtype);
int zp_cuda_reduce_scatter(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv,
                           int64_t n, int32_t dtype);
int zp_cuda_all_gather(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv, int64_t n,
                       int32_t dtype);
/* The same on another stream. */
int zp_cuda_all_gather_on(zp_cuda_comms *c, cudaStream_t stream, const zp_op *op, const void *send,
                          void *recv, int64_t n, int32_t dtype);
/* From the group's member op->root, in place. */
int zp_cuda_broadcast(zp_cuda_comms *c, const zp_op *op, void *data, int64_t n, int32_t dtype);
/* Parts of n elements: part r of `send` goes to member r, that of member r to recv + r parts. The
 * rank's own part is not copied. */
int zp_cuda_exchange_parts(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv,
                           int64_t n, int32_t dtype);
/* The n elements of each member to recv + r parts of the member op->root, whose own part is not
 * copied. */
int zp_cuda_gather_parts(zp_cuda_comms *c, const zp_op *op, const void *send, void *recv, int64_t n,
                         int32_t dtype);

/* On the p2p stream: one exchange with op's neighbour; out or in may be NULL. Tensors without
 * elements do not travel: both sides know which these are. */
int zp_cuda_exchange_messages(zp_cuda_comms *c, const zp_op *op, const zp_message *out,
                              const zp_message *in);

#endif
