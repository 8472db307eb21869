/* A kernel as the C compiler sees it: what simdev runs where nvcc's code would run on a device. */
#ifndef ZP_SIMDEV_KERNEL_H
#define ZP_SIMDEV_KERNEL_H
#include <stddef.h>

/* Coordinates of one thread; x, y, z. */
typedef struct simdev_thread {
  unsigned gridDim[3], blockDim[3], blockIdx[3], threadIdx[3];
} simdev_thread;

/* body does one thread's work of one phase; a phase is what lies between two barriers of the block.
 * params: the kernel's only argument, params_bytes of it. shared: of the block, not initialised. */
typedef struct simdev_kernel {
  const char *name;
  size_t params_bytes;
  int phases;
  void (*body)(const void *params, simdev_thread t, void *shared, int phase);
} simdev_kernel;

#endif
