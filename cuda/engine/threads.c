/* The lock, and the watchdog: who looks after the device while the host does something else.
 * spec: LEDG-7 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "engine_internal.h"

/* ---- POSIX threads --------------------------------------------------------------------------- */

struct zp_cuda_lock {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  pthread_t thread;
  void (*fn)(void *);
  void *arg;
};

static void *begin(void *ctx)
{
  zp_cuda_lock *l = ctx;
  l->fn(l->arg);
  return NULL;
}

static int start(void *ctx, void (*fn)(void *), void *arg)
{
  zp_cuda_lock *l = ctx;
  l->fn = fn;
  l->arg = arg;
  return pthread_create(&l->thread, NULL, begin, l);
}

static void join(void *ctx)
{
  pthread_join(((zp_cuda_lock *)ctx)->thread, NULL);
}

static void lock(void *ctx)
{
  pthread_mutex_lock(&((zp_cuda_lock *)ctx)->mutex);
}

static void unlock(void *ctx)
{
  pthread_mutex_unlock(&((zp_cuda_lock *)ctx)->mutex);
}

static int nap(void *ctx, uint64_t ns)
{
  zp_cuda_lock *l = ctx;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  ns += (uint64_t)t.tv_nsec;
  t.tv_sec += (time_t)(ns / 1000000000u);
  t.tv_nsec = (long)(ns % 1000000000u);
  pthread_cond_timedwait(&l->cond, &l->mutex, &t);
  return 0;
}

static void wake(void *ctx)
{
  pthread_cond_signal(&((zp_cuda_lock *)ctx)->cond);
}

int zp_cuda_open_threads(zp_cuda *e)
{
  pthread_condattr_t attr;
  zp_cuda_lock *l;
  if (e->opt.threads) {
    e->threads = *e->opt.threads;
    return 0;
  }
  l = calloc(1, sizeof *l);
  if (!l) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no host memory");
  pthread_mutex_init(&l->mutex, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&l->cond, &attr);
  pthread_condattr_destroy(&attr);
  e->own_lock = l;
  e->threads = (zp_cuda_threads){l, start, join, lock, unlock, nap, wake};
  return 0;
}

void zp_cuda_close_threads(zp_cuda *e)
{
  if (!e->own_lock) return;
  pthread_cond_destroy(&e->own_lock->cond);
  pthread_mutex_destroy(&e->own_lock->mutex);
  free(e->own_lock);
}

void zp_cuda_enter(const zp_cuda *e)
{
  e->threads.lock(e->threads.ctx);
}

void zp_cuda_leave(const zp_cuda *e)
{
  e->threads.unlock(e->threads.ctx);
}

/* ---- The watchdog ---------------------------------------------------------------------------- */

/* The deadline counts from when a communication ended last, or the first one was launched. */
static int watch_progress(zp_cuda *e)
{
  const uint64_t now = zp_cuda_now(e);
  const zp_cuda_mark *position = zp_cuda_position(e);
  if (!position || e->seen != e->marks.ended) {
    e->seen = e->marks.ended;
    e->seen_ns = now;
  }
  if (now - e->seen_ns <= zp_cuda_patience(e)) return 0;
  ZP_TRY(zp_cuda_heed(e, 1));
  return zp_cuda_fail(e, ZP_CUDA_E_PEER,
                      "a communication did not end before the deadline, as the watchdog found: a "
                      "rank is stuck, gone, or has failed");
}

static uint64_t pace(const zp_cuda *e)
{
  const uint64_t eighth = zp_cuda_patience(e) / 8, tenth_second = 100000000u;
  return eighth < tenth_second ? eighth : tenth_second;
}

static void watch(void *arg)
{
  zp_cuda *e = arg;
  uint64_t next = 0;
  zp_cuda_enter(e);
  if (zp_cuda_check(e, cudaSetDevice(e->opt.device), "cudaSetDevice")) e->closing = 1;
  while (!e->closing && !e->err.status) {
    const uint64_t now = zp_cuda_now(e);
    if (now >= next) {
      if (zp_cuda_look(e, "what is on the device") || watch_progress(e)) break;
      next = now + pace(e);
    }
    if (e->threads.sleep(e->threads.ctx, next > now ? next - now : 1)) break;
  }
  zp_cuda_leave(e);
}

int zp_cuda_start_watchdog(zp_cuda *e)
{
  if (!e->opt.threads && e->opt.now_ns) return 0;
  e->seen_ns = zp_cuda_now(e);
  if (e->threads.start(e->threads.ctx, watch, e))
    return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "the watchdog thread could not be started");
  e->watched = 1;
  return 0;
}

void zp_cuda_end_watchdog(zp_cuda *e)
{
  if (!e->watched) return;
  zp_cuda_enter(e);
  e->closing = 1;
  e->threads.wake(e->threads.ctx);
  zp_cuda_leave(e);
  e->threads.join(e->threads.ctx);
  e->watched = 0;
}
