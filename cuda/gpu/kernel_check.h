/* The engine's kernels on a device and the same source on the host. */
#ifndef ZP_GPU_KERNEL_CHECK_H
#define ZP_GPU_KERNEL_CHECK_H
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "../kernels/kernels.h"
#include "../simdev/kernel.h"

/* The C compiler's kernels, renamed, as nvcc's have the same names. */
#define ZP_HOST_HANDLE(name) extern const simdev_kernel *const zp_host_kernel_##name;
ZP_KERNELS(ZP_HOST_HANDLE)
#undef ZP_HOST_HANDLE

/* Prints a line of JSON. 0: equal; 1: a difference, printed on stderr; 3: no device. */
int zp_kernel_check(int64_t rounds, uint64_t seed, FILE *out);

#endif
