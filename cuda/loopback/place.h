/* Where a program has its ranks, all of one process, on one device: as hosts of simdev's, or,
 * compiled with ZP_ON_THREADS, as POSIX threads with their memory where host and device reach it
 * (near.h). */
#ifndef ZP_LOOPBACK_PLACE_H
#define ZP_LOOPBACK_PLACE_H
#include "../trial/trial_internal.h"
#include "loopback.h"
#ifdef ZP_ON_THREADS
#include "near.h"
#endif

/* 0, or the device has no such memory. */
static inline int zp_loopback_place_ranks(void)
{
#ifdef ZP_ON_THREADS
  zp_trial_ranks = ZP_TRIAL_THREADS;
  zp_trial_queue = zp_near_queue;
  return zp_near_open((size_t)2 << 30);
#else
  static const zp_loopback_hosts hosts = {simdev_lock, simdev_unlock, simdev_pause};
  zp_trial_ranks = ZP_TRIAL_HOSTS;
  zp_loopback_use(&hosts);
  return 0;
#endif
}

#endif
