/* All ranks in one process on one device: as hosts of simdev, or, compiled with ZP_ON_THREADS, as
 * POSIX threads whose memory both host and device can access (pinned_memory.h). */
#ifndef ZP_ONE_DEVICE_RANKS_ON_DEVICE_H
#define ZP_ONE_DEVICE_RANKS_ON_DEVICE_H
#include "../nccl_threads/nccl_threads.h"
#include "../verify/simulation.h"
#ifdef ZP_ON_THREADS
#include "pinned_memory.h"
#endif

/* 0, or a CUDA error: the device has no such memory. */
static inline int zp_ranks_on_one_device(void)
{
#ifdef ZP_ON_THREADS
  zp_ranks_as = ZP_RANKS_THREADS;
  zp_launch_body = zp_pinned_launch;
  return zp_pinned_open((size_t)2 << 30);
#else
  static const zp_nccl_threads_locking locking = {simdev_lock, simdev_unlock, simdev_pause};
  zp_ranks_as = ZP_RANKS_HOSTS;
  zp_nccl_threads_use(&locking);
  return 0;
#endif
}

#endif
