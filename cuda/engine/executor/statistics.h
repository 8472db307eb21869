/* The statistics that all ranks agree on, and the decision. All on the reduction stream; the host
 * does not see it. spec: STAT-1, STEP-6 */
#ifndef ZP_CUDA_STATISTICS_H
#define ZP_CUDA_STATISTICS_H

#include "ops.h"

/* 1: this rank counts its losses: those of the last stage, of tp replicas the first. STAT-5 */
int zp_cuda_counts_losses(const zp_cuda_plan *p);

/* The statistics' all-reduce; reduce is ordered after the losses. */
int zp_cuda_statistics(const zp_cuda_ops *o, const zp_op *op);
/* reduce is ordered after the last reader of state and parameters. */
int zp_cuda_decide(const zp_cuda_ops *o);

#endif
