/* The cost model: how long a step of the plan takes on a machine. README.md describes it. */
#ifndef ZP_CUDA_COST_COST_H
#define ZP_CUDA_COST_COST_H

#include "../../ref/verify/backend.h"

/* Times the plan of a job, for `zeroproof plan --time`. 0, or a negative status in *err: the
 * machine's file or the job is refused, a picture cannot be written, or there is no memory. */
int zp_cost_time(const zp_time_job *job, zp_time_report *report, zp_error *err);

#endif
