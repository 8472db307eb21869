/* What the engine reports of its own work: the options' callbacks, and ZP_LOG
 * (ref/engine/log.h). */
#ifndef ZP_CUDA_TRACE_H
#define ZP_CUDA_TRACE_H

#include "rank.h"

/* Before the op's work is queued; op NULL: a gradient is staged. */
void zp_cuda_issuing(const zp_cuda_rank *r, const zp_op *op);
/* After a communication of the program. */
void zp_cuda_issued(const zp_cuda_rank *r, const zp_op *op);
/* After a launch. */
void zp_cuda_launched(const zp_cuda_rank *r, const zp_cuda_action *action);
/* After a wait or record; waited: on the host, the event was still pending. */
void zp_cuda_synced(const zp_cuda_rank *r, const zp_cuda_action *action, int32_t waited);

#endif
