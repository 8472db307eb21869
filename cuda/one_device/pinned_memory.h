/* Device memory that the host can access, and kernels that run on the host, for cases on a real
 * device. */
#ifndef ZP_ONE_DEVICE_PINNED_MEMORY_H
#define ZP_ONE_DEVICE_PINNED_MEMORY_H
#include <cuda_runtime_api.h>

#include "../simdev/kernel.h"

/* To be called before the first allocation. 0, or a CUDA error. */
int zp_pinned_open(size_t bytes);
/* For zp_launch_body. */
int zp_pinned_launch(const simdev_kernel *kernel, const void *params, cudaStream_t stream);

#endif
