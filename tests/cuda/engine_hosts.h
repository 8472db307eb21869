/* What a rank has beside its first host, for engine_case.h: announcing hosts, the engine's watchdog
 * with its lock, and a way to tell the other ranks of a failure. */
#ifndef ZP_TESTS_ENGINE_HOSTS_H
#define ZP_TESTS_ENGINE_HOSTS_H

/* Another host of the rank, announcing what its stream makes. */
static inline int announcer(void *arg, int32_t k)
{
  helpers *h = arg;
  for (int32_t turn = 0; turn < TURNS_MAX; turn++) {
    if (simdev_await(&h->begins[turn]) || __atomic_load_n(&h->over, __ATOMIC_ACQUIRE) ||
        k >= h->w->streams)
      return 0;
    h->w->failed[k] = announce_share(h->w, k);
    simdev_signal(&h->ended[turn][k]);
  }
  return 0;
}

static inline int announcer_1(void *arg, int rank)
{
  (void)rank;
  return announcer(arg, 1);
}

static inline int announcer_2(void *arg, int rank)
{
  (void)rank;
  return announcer(arg, 2);
}

static inline int watchdog(void *arg, int rank)
{
  helpers *h = arg;
  (void)rank;
  if (simdev_await(&h->watch_begins) || !h->watch) return 0;
  h->watch(h->watch_arg);
  simdev_signal(&h->watch_ended);
  return 0;
}

static inline int start_watchdog(void *ctx, void (*fn)(void *), void *arg)
{
  helpers *h = ctx;
  h->watch = fn;
  h->watch_arg = arg;
  simdev_signal(&h->watch_begins);
  return 0;
}

static inline void join_watchdog(void *ctx)
{
  simdev_await(&((helpers *)ctx)->watch_ended);
}

static inline void lock_rank(void *ctx)
{
  helpers *h = ctx;
  if (!h->j->no_lock) simdev_lock(&h->lock);
}

static inline void unlock_rank(void *ctx)
{
  helpers *h = ctx;
  if (!h->j->no_lock) simdev_unlock(&h->lock);
}

static inline int nap(void *ctx, uint64_t ns)
{
  helpers *h = ctx;
  (void)ns;
  unlock_rank(ctx);
  simdev_pause();
  return h->j->no_lock ? 0 : simdev_lock(&h->lock);
}

static inline void wake_watchdog(void *ctx)
{
  (void)ctx;
}

/* All further hosts of the rank are let go. */
static inline void end_helpers(helpers *h)
{
  __atomic_store_n(&h->over, 1, __ATOMIC_RELEASE);
  if (h->turns < TURNS_MAX) simdev_signal(&h->begins[h->turns]);
  if (!h->watch) simdev_signal(&h->watch_begins);
}

/* Between processes this would be a socket. Hosts do not give way here. */
static inline void tell_all(void *ctx, const zp_cuda_alarm *alarm)
{
  job *j = ((worker *)ctx)->j;
  if (__atomic_load_n(&j->alarmed, __ATOMIC_ACQUIRE)) return;
  j->alarm = *alarm;
  j->alarm_ns = simdev_clock_ns();
  __atomic_store_n(&j->alarmed, 1, __ATOMIC_RELEASE);
}

static inline int hear_any(void *ctx, zp_cuda_alarm *alarm)
{
  const worker *w = ctx;
  if (!__atomic_load_n(&w->j->alarmed, __ATOMIC_ACQUIRE) || w->j->alarm.rank == w->rank) return 0;
  *alarm = w->j->alarm;
  return 1;
}

#endif
