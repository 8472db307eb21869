#include "../simdev/simdev.h"
#include "host.h"

int zp_gpu_is_simulated(void)
{
  return 1;
}

void zp_gpu_pause(void)
{
  simdev_pause();
}

uint64_t zp_gpu_now_ns(void)
{
  return simdev_clock_ns();
}
