/* What a call of NCCL costs the host, with blocking and with non-blocking communicators. */
#ifndef ZP_GPU_LAUNCH_COST_H
#define ZP_GPU_LAUNCH_COST_H
#include "../../ref/comm/job/job.h"

/* Prints a line of JSON for each: host_us, from an all-reduce's call until NCCL has put it on the
 * stream. 0, or -1: a call failed, which is printed. */
int zp_launch_cost(zp_job *job);

#endif
