#include "simulation.h"

zp_ranks_run_as zp_ranks_as;
int (*zp_launch_body)(const simdev_kernel *kernel, const void *params, cudaStream_t stream);
void (*zp_on_tag)(int32_t rank, int64_t tag, const zp_op *op);
