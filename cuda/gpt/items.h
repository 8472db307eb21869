/* How threads share a kernel's items (elements, rows or columns): a thread takes items i, i + step,
 * i + 2·step, … */
#ifndef ZP_CUDA_ITEMS_H
#define ZP_CUDA_ITEMS_H
#include "../kernels/device.h"

/* The thread's first item. */
ZP_ON_DEVICE int64_t zp_item(simdev_thread t)
{
  return (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0];
}

ZP_ON_DEVICE int64_t zp_item_step(simdev_thread t)
{
  return (int64_t)t.gridDim[0] * t.blockDim[0];
}

#endif
