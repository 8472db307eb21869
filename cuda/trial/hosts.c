/* What a rank has beside its first host: hosts that announce what their own streams bring, the
 * engine's watchdog with its lock; and a way to tell the other ranks of a failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial_internal.h"

/* ---- Announcing ------------------------------------------------------------------------------ */

int zp_trial_turn(zp_trial_worker *w)
{
  zp_trial_hosts *h = w->hosts;
  char *ended = h->ended + (int64_t)h->turn * ZP_TRIAL_STREAMS;
  int failed;
  if (!w->t->now.hosts) return zp_trial_announce(w, 0);
  if (h->turn == h->turns) return __LINE__; /* more backwards than the program has */
  simdev_signal(&h->begins[h->turn++]);
  failed = zp_trial_announce(w, 0);
  for (int32_t k = 1; k < w->streams; k++)
    if (simdev_await(&ended[k]) || w->failed[k]) failed = __LINE__;
  return failed;
}

static int announcer(zp_trial_hosts *h, int32_t k)
{
  for (int32_t turn = 0; turn <= h->turns; turn++) {
    if (simdev_await(&h->begins[turn]) || __atomic_load_n(&h->over, __ATOMIC_ACQUIRE) ||
        k >= h->w->streams)
      return 0;
    h->w->failed[k] = zp_trial_announce(h->w, k);
    simdev_signal(&h->ended[(int64_t)turn * ZP_TRIAL_STREAMS + k]);
  }
  return 0;
}

static int second_host(void *arg, int rank)
{
  (void)rank;
  return announcer(arg, 1);
}

static int third_host(void *arg, int rank)
{
  (void)rank;
  return announcer(arg, 2);
}

/* ---- The watchdog ---------------------------------------------------------------------------- */

static int watchdog(void *arg, int rank)
{
  zp_trial_hosts *h = arg;
  (void)rank;
  if (simdev_await(&h->watch_begins) || !h->watch) return 0;
  h->watch(h->watch_arg);
  simdev_signal(&h->watch_ended);
  return 0;
}

static int start_watchdog(void *ctx, void (*fn)(void *), void *arg)
{
  zp_trial_hosts *h = ctx;
  h->watch = fn;
  h->watch_arg = arg;
  simdev_signal(&h->watch_begins);
  return 0;
}

static void join_watchdog(void *ctx)
{
  simdev_await(&((zp_trial_hosts *)ctx)->watch_ended);
}

static void lock_rank(void *ctx)
{
  zp_trial_hosts *h = ctx;
  if (!h->t->hooks.no_lock) simdev_lock(&h->lock);
}

static void unlock_rank(void *ctx)
{
  zp_trial_hosts *h = ctx;
  if (!h->t->hooks.no_lock) simdev_unlock(&h->lock);
}

static int nap(void *ctx, uint64_t ns)
{
  zp_trial_hosts *h = ctx;
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

/* Between processes this would be a socket. The first one's is told; nobody waits here. */
static void tell_all(void *ctx, const zp_cuda_alarm *alarm)
{
  zp_trial *t = ((zp_trial_worker *)ctx)->t;
  if (__atomic_exchange_n(&t->alarming, 1, __ATOMIC_ACQ_REL)) return;
  t->alarm = *alarm;
  t->alarm_ns = simdev_clock_ns();
  __atomic_store_n(&t->alarmed, 1, __ATOMIC_RELEASE);
}

/* Of a process that is gone: the line's own alarm (ref/engine/alarm.h). */
static int hear_end(const zp_trial_worker *w, zp_cuda_alarm *alarm)
{
  int32_t r = zp_trial_ranks == ZP_TRIAL_PROCESSES ? 0 : w->t->world;
  while (r < w->t->world && !simdev_gone(r)) r++;
  if (r == w->t->world) return 0;
  *alarm = (zp_cuda_alarm){r, ZP_CUDA_E_PEER, ZP_CUDA_STEP_UNKNOWN, ""};
  snprintf(alarm->text, sizeof alarm->text, "rank %d: its process has ended without a word", r);
  return 1;
}

static int hear_any(void *ctx, zp_cuda_alarm *alarm)
{
  const zp_trial_worker *w = ctx;
  if (!__atomic_load_n(&w->t->alarmed, __ATOMIC_ACQUIRE)) return hear_end(w, alarm);
  if (w->t->alarm.rank == w->rank) return 0;
  *alarm = w->t->alarm;
  return 1;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void zp_trial_hosts_of(zp_trial_worker *w, zp_cuda_options *o)
{
  w->hosts = &w->t->hosts[w->rank];
  w->threads = (zp_cuda_threads){w->hosts, start_watchdog, join_watchdog, lock_rank, unlock_rank,
                                 nap,      wake_watchdog};
  if (w->t->now.hosts && zp_trial_ranks == ZP_TRIAL_THREADS) o->now_ns = NULL;
  else if (w->t->now.hosts) o->threads = &w->threads;
  if (w->t->now.alarm) o->outside = (zp_cuda_outside){w, tell_all, hear_any};
}

void zp_trial_hosts_end(zp_trial_hosts *h)
{
  __atomic_store_n(&h->over, 1, __ATOMIC_RELEASE);
  simdev_signal(&h->begins[h->turn]);
  if (!h->watch) simdev_signal(&h->watch_begins);
}

zp_trial_place zp_trial_ranks;

static int32_t process_of(int32_t rank)
{
  return zp_trial_ranks == ZP_TRIAL_PROCESSES ? rank : 0;
}

/* A run with a finding has its hosts return one after the other: first those that use what the
 * rank's first host frees. */
static int open_simdev(zp_trial *t, simdev **s, int several)
{
  const int32_t processes = zp_trial_ranks == ZP_TRIAL_PROCESSES ? t->world : 1;
  int failed = 0;
  *s = simdev_open(processes, processes, NULL, NULL);
  for (int32_t r = 0; *s && several && r < t->world; r++) {
    zp_trial_hosts *h = &t->hosts[r];
    const int32_t p = process_of(r);
    failed |= simdev_host(*s, p, watchdog, h) || simdev_host(*s, p, second_host, h) ||
              simdev_host(*s, p, third_host, h);
  }
  for (int32_t r = 0; *s && r < t->world; r++)
    failed |= simdev_host(*s, process_of(r), zp_trial_process, &t->hosts[r]);
  return *s && !failed ? 0 : -1;
}

static int open_hosts(zp_trial *t, zp_trial_hosts *h)
{
  h->t = t;
  h->turns = t->steps * (int32_t)t->cfg->micro_batches;
  h->begins = calloc((size_t)h->turns + 1, 1);
  h->ended = calloc(((size_t)h->turns + 1) * ZP_TRIAL_STREAMS, 1);
  return h->begins && h->ended ? 0 : -1;
}

int zp_trial_hosts_open(zp_trial *t)
{
  t->hosts = calloc((size_t)t->world, sizeof *t->hosts);
  for (int32_t r = 0; t->hosts && r < t->world; r++)
    if (open_hosts(t, &t->hosts[r])) return -1;
  if (!t->hosts || open_simdev(t, &t->sims[0], 0)) return -1;
  t->sim = t->sims[0];
  return 0;
}

int zp_trial_hosts_begin(zp_trial *t)
{
  simdev **s = &t->sims[t->now.hosts != 0];
  for (int32_t r = 0; r < t->world; r++) {
    zp_trial_hosts *h = &t->hosts[r];
    h->watch = NULL;
    h->w = NULL;
    h->turn = h->over = 0;
  }
  t->alarmed = t->alarming = 0;
  if (!*s && open_simdev(t, s, 1)) return -1;
  t->sim = *s;
  return 0;
}

void zp_trial_hosts_close(zp_trial *t)
{
  for (int32_t i = 0; i < 2; i++)
    if (t->sims[i]) simdev_close(t->sims[i]);
  for (int32_t r = 0; t->hosts && r < t->world; r++) {
    free(t->hosts[r].begins);
    free(t->hosts[r].ended);
  }
  free(t->hosts);
}
