/* The engine's kernels on a device beside the same bodies on the host. */
#ifndef ZP_GPU_KERNEL_CHECK_H
#define ZP_GPU_KERNEL_CHECK_H
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "../kernels/kernels.h"
#include "../simdev/kernel.h"

/* The C compiler's, renamed: beside nvcc's. */
#define ZP_HOST_HANDLE(name) extern const simdev_kernel *const zp_host_kernel_##name;
ZP_KERNELS(ZP_HOST_HANDLE)
#undef ZP_HOST_HANDLE

/* Prints what was done as a line of JSON. 0: equal; 1: a difference, told on stderr; 3: no device.
 */
int zp_kernel_check(int64_t rounds, uint64_t seed, FILE *out);

#endif
