#define _POSIX_C_SOURCE 200809L
#include "clock.h"

#include <time.h>

int64_t zp_clock_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double zp_clock_s(void)
{
  return 1e-9 * (double)zp_clock_ns();
}
