#include <sched.h>

#include "../../ref/base/clock.h"
#include "host.h"

int zp_gpu_is_simulated(void)
{
  return 0;
}

void zp_gpu_pause(void)
{
  sched_yield();
}

uint64_t zp_gpu_now_ns(void)
{
  return (uint64_t)zp_clock_ns();
}
