/* Counts what a program queues on the device: kernels, copies and memsets. It is linked with
 * --wrap for each function of the list, on a device and on simdev; NCCL's own launches are not
 * counted. */
#ifndef ZP_GPU_LAUNCHES_H
#define ZP_GPU_LAUNCHES_H
#include <stdint.h>

/* Of all threads, so far. */
int64_t zp_gpu_launches(void);

#endif
