#include <stdlib.h>

#include "state.h"

static int32_t process_of(int32_t rank)
{
  return zp_ranks_as == ZP_RANKS_PROCESSES ? rank : 0;
}

/* After a finding hosts return in this order: first those that use memory that the rank's first
 * host frees. */
static int open_simdev(zp_diff *t, simdev **s, int several)
{
  const int32_t processes = zp_ranks_as == ZP_RANKS_PROCESSES ? t->world : 1;
  int failed = 0;
  *s = simdev_open(processes, processes, NULL, NULL);
  for (int32_t r = 0; *s && several && r < t->world; r++) {
    zp_rank_hosts *h = &t->simulation.hosts[r];
    const int32_t p = process_of(r);
    failed |= simdev_host(*s, p, zp_rank_watchdog, h) ||
              simdev_host(*s, p, zp_rank_second_host, h) ||
              simdev_host(*s, p, zp_rank_third_host, h);
  }
  for (int32_t r = 0; *s && r < t->world; r++)
    failed |= simdev_host(*s, process_of(r), zp_diff_rank_main, &t->simulation.hosts[r]);
  return *s && !failed ? 0 : -1;
}

static int open_hosts(zp_diff *t, zp_rank_hosts *h)
{
  h->t = t;
  h->turns = t->steps * (int32_t)t->cfg->micro_batches;
  h->begins = calloc((size_t)h->turns + 1, 1);
  h->ended = calloc(((size_t)h->turns + 1) * ZP_DIFF_STREAMS, 1);
  return h->begins && h->ended ? 0 : -1;
}

int zp_simulation_open(zp_diff *t)
{
  t->simulation.hosts = calloc((size_t)t->world, sizeof *t->simulation.hosts);
  for (int32_t r = 0; t->simulation.hosts && r < t->world; r++)
    if (open_hosts(t, &t->simulation.hosts[r])) return -1;
  if (!t->simulation.hosts || open_simdev(t, &t->simulation.one, 0)) return -1;
  t->simulation.now = t->simulation.one;
  return 0;
}

int zp_simulation_begin(zp_diff *t)
{
  simdev **s = t->now.hosts ? &t->simulation.several : &t->simulation.one;
  for (int32_t r = 0; r < t->world; r++) {
    zp_rank_hosts *h = &t->simulation.hosts[r];
    h->watch = NULL;
    h->w = NULL;
    h->turn = h->over = 0;
  }
  t->alarms.posted = t->alarms.begun = 0;
  if (!*s && open_simdev(t, s, 1)) return -1;
  t->simulation.now = *s;
  return 0;
}

void zp_simulation_close(zp_diff *t)
{
  if (t->simulation.one) simdev_close(t->simulation.one);
  if (t->simulation.several) simdev_close(t->simulation.several);
  for (int32_t r = 0; t->simulation.hosts && r < t->world; r++) {
    free(t->simulation.hosts[r].begins);
    free(t->simulation.hosts[r].ended);
  }
  free(t->simulation.hosts);
}
