/* A kernel in C, which simdev runs in place of nvcc's code on a device. */
#ifndef ZP_SIMDEV_KERNEL_H
#define ZP_SIMDEV_KERNEL_H
#include <stddef.h>

/* Coordinates of one thread; x, y, z. */
typedef struct simdev_thread {
  unsigned gridDim[3], blockDim[3], blockIdx[3], threadIdx[3];
} simdev_thread;

/* body executes one phase of one thread; phases are separated by barriers of the block. params: the
 * kernel's only argument, of params_bytes. shared: the block's shared memory, not initialized. */
typedef struct simdev_kernel {
  const char *name;
  size_t params_bytes;
  int phases;
  void (*body)(const void *params, simdev_thread t, void *shared, int phase);
} simdev_kernel;

/* A kernel with barriers inside a loop: kernel.phases is SIMDEV_LOOP, and phases_of returns the
 * number of phases of the block of thread t, which may be 0. The handle is the address of `kernel`,
 * as for other kernels. */
enum { SIMDEV_LOOP = -1 };
typedef struct simdev_loop_kernel {
  simdev_kernel kernel;
  int (*phases_of)(const void *params, simdev_thread t);
} simdev_loop_kernel;

/* The number of phases of the block of thread t. */
static inline int simdev_phases(const simdev_kernel *k, const void *params, simdev_thread t)
{
  if (k->phases != SIMDEV_LOOP) return k->phases;
  return ((const simdev_loop_kernel *)(const void *)k)->phases_of(params, t);
}

#endif
