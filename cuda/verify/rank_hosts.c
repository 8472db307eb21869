#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* ---- Announcing ------------------------------------------------------------------------------ */

int zp_announce_all(zp_diff_rank *w)
{
  zp_rank_hosts *h = w->hosts;
  char *ended = h->ended + (int64_t)h->turn * ZP_DIFF_STREAMS;
  int failed;
  if (!w->t->now.hosts) return zp_announce_share(w, 0);
  if (h->turn == h->turns) return __LINE__; /* more backwards than the program has */
  simdev_signal(&h->begins[h->turn++]);
  failed = zp_announce_share(w, 0);
  for (int32_t k = 1; k < w->streams; k++)
    if (simdev_await(&ended[k]) || w->announce.failed[k]) failed = __LINE__;
  return failed;
}

static int announcer(zp_rank_hosts *h, int32_t k)
{
  for (int32_t turn = 0; turn <= h->turns; turn++) {
    if (simdev_await(&h->begins[turn]) || __atomic_load_n(&h->over, __ATOMIC_ACQUIRE) ||
        k >= h->w->streams)
      return 0;
    h->w->announce.failed[k] = zp_announce_share(h->w, k);
    simdev_signal(&h->ended[(int64_t)turn * ZP_DIFF_STREAMS + k]);
  }
  return 0;
}

int zp_rank_second_host(void *arg, int rank)
{
  (void)rank;
  return announcer(arg, 1);
}

int zp_rank_third_host(void *arg, int rank)
{
  (void)rank;
  return announcer(arg, 2);
}

/* ---- The watchdog ---------------------------------------------------------------------------- */

int zp_rank_watchdog(void *arg, int rank)
{
  zp_rank_hosts *h = arg;
  (void)rank;
  if (simdev_await(&h->watch_begins) || !h->watch) return 0;
  h->watch(h->watch_arg);
  simdev_signal(&h->watch_ended);
  return 0;
}

static int start_watchdog(void *ctx, void (*fn)(void *), void *arg)
{
  zp_rank_hosts *h = ctx;
  h->watch = fn;
  h->watch_arg = arg;
  simdev_signal(&h->watch_begins);
  return 0;
}

static void join_watchdog(void *ctx)
{
  simdev_await(&((zp_rank_hosts *)ctx)->watch_ended);
}

static void lock_rank(void *ctx)
{
  zp_rank_hosts *h = ctx;
  if (!h->t->hooks.no_lock) simdev_lock(&h->lock);
}

static void unlock_rank(void *ctx)
{
  zp_rank_hosts *h = ctx;
  if (!h->t->hooks.no_lock) simdev_unlock(&h->lock);
}

static int nap(void *ctx, uint64_t ns)
{
  zp_rank_hosts *h = ctx;
  (void)ns;
  unlock_rank(ctx);
  simdev_pause();
  return h->t->hooks.no_lock ? 0 : simdev_lock(&h->lock);
}

static void wake_watchdog(void *ctx)
{
  (void)ctx;
}

/* ---- The alarm ------------------------------------------------------------------------------- */

/* Between processes this would be a socket. Only the first failure is posted; this does not
 * wait. */
static void post_alarm(void *ctx, const zp_alarm *alarm)
{
  zp_diff *t = ((zp_diff_rank *)ctx)->t;
  if (__atomic_exchange_n(&t->alarms.begun, 1, __ATOMIC_ACQ_REL)) return;
  t->alarms.first = *alarm;
  t->alarms.ns = simdev_clock_ns();
  __atomic_store_n(&t->alarms.posted, 1, __ATOMIC_RELEASE);
}

/* The alarm for a process that has ended (ref/comm/job/alarm.h). */
static int poll_end(const zp_diff_rank *w, zp_alarm *alarm)
{
  int32_t r = zp_ranks_as == ZP_RANKS_PROCESSES ? 0 : w->t->world;
  while (r < w->t->world && !simdev_gone(r)) r++;
  if (r == w->t->world) return 0;
  *alarm = (zp_alarm){r, ZP_E_PEER, ZP_CUDA_STEP_UNKNOWN, ""};
  snprintf(alarm->text, sizeof alarm->text, "rank %d: its process has ended without a report", r);
  return 1;
}

static int poll_alarm(void *ctx, zp_alarm *alarm)
{
  const zp_diff_rank *w = ctx;
  if (!__atomic_load_n(&w->t->alarms.posted, __ATOMIC_ACQUIRE)) return poll_end(w, alarm);
  if (w->t->alarms.first.rank == w->rank) return 0;
  *alarm = w->t->alarms.first;
  return 1;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void zp_rank_hosts_options(zp_diff_rank *w, zp_cuda_options *o)
{
  w->hosts = &w->t->simulation.hosts[w->rank];
  w->threads = (zp_cuda_threads){w->hosts, start_watchdog, join_watchdog, lock_rank, unlock_rank,
                                 nap,      wake_watchdog};
  if (w->t->now.hosts && zp_ranks_as == ZP_RANKS_THREADS) o->now_ns = NULL;
  else if (w->t->now.hosts) o->threads = &w->threads;
  if (w->t->now.alarm) o->host_channel = (zp_cuda_host_channel){w, post_alarm, poll_alarm};
}

void zp_rank_hosts_end(zp_rank_hosts *h)
{
  __atomic_store_n(&h->over, 1, __ATOMIC_RELEASE);
  simdev_signal(&h->begins[h->turn]);
  if (!h->watch) simdev_signal(&h->watch_begins);
}
