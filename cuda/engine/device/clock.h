/* The clock and the deadline of every wait on the host. spec: LEDG-7 */
#ifndef ZP_CUDA_CLOCK_H
#define ZP_CUDA_CLOCK_H

#include "rank.h"

/* Nanoseconds of the options' clock, or of the system's. */
uint64_t zp_cuda_now(const zp_cuda_rank *r);
/* How long a wait may last. */
uint64_t zp_cuda_time_limit(const zp_cuda_rank *r);
/* When a wait that begins now is to end. */
uint64_t zp_cuda_deadline(const zp_cuda_rank *r);
/* Lets others run between two polls. */
void zp_cuda_pause(const zp_cuda_rank *r);

/* After an error: waits until the event or the stream has ended, which needs no other rank, at most
 * until the deadline. 1: it has. */
int zp_cuda_drain_event(const zp_cuda_rank *r, cudaEvent_t event);
int zp_cuda_drain_stream(const zp_cuda_rank *r, cudaStream_t stream);

#endif
