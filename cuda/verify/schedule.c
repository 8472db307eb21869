#include "schedule.h"

uint64_t zp_random_next(uint64_t *state)
{
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

zp_schedule zp_schedule_of(uint64_t n)
{
  static const simdev_order orders[8] = {SIMDEV_RANDOM, SIMDEV_LAZY,   SIMDEV_PCT,  SIMDEV_RANDOM,
                                         SIMDEV_PCT,    SIMDEV_RANDOM, SIMDEV_LAZY, SIMDEV_FIFO};
  uint64_t state = n;
  zp_schedule s = {.seed = n};
  s.announce = zp_random_next(&state);
  s.order = orders[zp_random_next(&state) % 8];
  /* mostly several producers; one is tested, too */
  s.producers = (int32_t)(zp_random_next(&state) % 8);
  s.producers = s.producers == 0 ? 1 : 2 + s.producers % 2;
  s.in_order = zp_random_next(&state) % 3 == 0;
  s.get_each = (int32_t)(zp_random_next(&state) % 2);
  s.launch_order = 1 + (zp_random_next(&state) % 4 == 0);
  return s;
}
