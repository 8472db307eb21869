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

/* A kernel that goes round a loop with barriers in it: kernel.phases is SIMDEV_LOOP, and phases_of
 * says how many phases a block has, none or more, t being any of its threads. A handle is the
 * address of `kernel`, as for others. */
enum { SIMDEV_LOOP = -1 };
typedef struct simdev_loop_kernel {
  simdev_kernel kernel;
  int (*phases_of)(const void *params, simdev_thread t);
} simdev_loop_kernel;

/* How many phases the block of thread t has. */
static inline int simdev_phases(const simdev_kernel *k, const void *params, simdev_thread t)
{
  if (k->phases != SIMDEV_LOOP) return k->phases;
  return ((const simdev_loop_kernel *)(const void *)k)->phases_of(params, t);
}

#endif
