/* The states that zp_kernel_update reads, for programs that run it without an engine. */
#ifndef ZP_GPU_STATES_H
#define ZP_GPU_STATES_H
#include "../kernels/kernels.h"

/* Writes them to device memory: a step that is not skipped, AdamW. Returns when they are there: 0,
 * or a CUDA error. */
int zp_gpu_write_states(zp_step_state *step, zp_group_state *group);

#endif
