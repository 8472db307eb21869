/* Kernels as the runtime knows them. */
#ifndef ZP_SIMDEV_KERNELS_H
#define ZP_SIMDEV_KERNELS_H
#include "base.h"

typedef struct sd_shared_limit {
  const void *func;
  size_t bytes;
  struct sd_shared_limit *next;
} sd_shared_limit;

/* A kernel whose code a device of the rank has loaded. */
typedef struct sd_loaded {
  const void *func;
  int32_t device;
  struct sd_loaded *next;
} sd_loaded;

typedef struct sd_kernels {
  sd_shared_limit *shared_limits;
  int64_t late_loads;      /* first launches of kernels that were not loaded */
  const char *late_kernel; /* the first of them, or NULL */
} sd_kernels;

/* cuda_function.c */
size_t sd_shared_max(const simdev *s, const void *func); /* bytes of dynamic shared memory */
/* At a launch: loads the kernel unless that was done. */
cudaError_t sd_load_late(sd_host *h, const simdev_kernel *kernel);

#endif
