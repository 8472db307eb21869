/* Device memory that the host reaches, and bodies on the host: trials on a real device. */
#ifndef ZP_LOOPBACK_NEAR_H
#define ZP_LOOPBACK_NEAR_H
#include <cuda_runtime_api.h>

#include "../simdev/kernel.h"

/* Before the first allocation. 0, or an error of CUDA's. */
int zp_near_open(size_t bytes);
/* What has not been given back. */
int zp_near_pieces(void);
/* For zp_trial_queue. */
int zp_near_queue(const simdev_kernel *kernel, const void *params, cudaStream_t stream);

#endif
