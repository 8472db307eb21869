/* What the host of a device and a host of simdev do differently. */
#ifndef ZP_GPU_HOST_H
#define ZP_GPU_HOST_H
#include <stdint.h>

/* 1: simdev, where times have no meaning. */
int zp_gpu_is_simulated(void);
/* For loops that wait. */
void zp_gpu_pause(void);
/* simdev's clock, or the system's. */
uint64_t zp_gpu_now_ns(void);

#endif
