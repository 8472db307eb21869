/* Updates and gathers of parameters, and their first values. All on the reduction stream; the host
 * does not see it. spec: STEP-7, STEP-8, LEDG-5 */
#ifndef ZP_CUDA_UPDATE_H
#define ZP_CUDA_UPDATE_H

#include "ops.h"

int zp_cuda_update(const zp_cuda_ops *o, const zp_op *op);
int zp_cuda_gather_params(const zp_cuda_ops *o, const zp_op *op);

/* The model queues the first values of each entry with storage of its own. */
int zp_cuda_queue_first_values(const zp_cuda_ops *o);
/* First values from the group's first member. */
int zp_cuda_broadcast_first_values(const zp_cuda_ops *o, const zp_op *op);
/* Masters are the widened parameters. */
int zp_cuda_install_masters(const zp_cuda_ops *o);

#endif
