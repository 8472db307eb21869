#define _POSIX_C_SOURCE 200809L
#include "lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../../../ref/base/clock.h"
#include "../../../ref/base/invariant.h"

struct zp_cuda_posix {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  pthread_t thread;
  void (*fn)(void *);
  void *arg;
};

static void *begin(void *ctx)
{
  zp_cuda_posix *l = ctx;
  l->fn(l->arg);
  return NULL;
}

static int start(void *ctx, void (*fn)(void *), void *arg)
{
  zp_cuda_posix *l = ctx;
  l->fn = fn;
  l->arg = arg;
  return pthread_create(&l->thread, NULL, begin, l);
}

static void join(void *ctx)
{
  pthread_join(((zp_cuda_posix *)ctx)->thread, NULL);
}

static void lock(void *ctx)
{
  pthread_mutex_lock(&((zp_cuda_posix *)ctx)->mutex);
}

static void unlock(void *ctx)
{
  pthread_mutex_unlock(&((zp_cuda_posix *)ctx)->mutex);
}

static int sleep_until_woken(void *ctx, uint64_t ns)
{
  zp_cuda_posix *l = ctx;
  const uint64_t until = (uint64_t)zp_clock_ns() + ns;
  const struct timespec t = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
  pthread_cond_timedwait(&l->cond, &l->mutex, &t);
  return 0;
}

static void wake(void *ctx)
{
  pthread_cond_signal(&((zp_cuda_posix *)ctx)->cond);
}

int zp_cuda_lock_open(zp_cuda_lock *l, const zp_cuda_threads *threads)
{
  pthread_condattr_t attr;
  zp_cuda_posix *p;
  if (threads) {
    l->threads = *threads;
    return 0;
  }
  p = calloc(1, sizeof *p);
  if (!p) return -1;
  pthread_mutex_init(&p->mutex, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* zp_clock_ns's */
  pthread_cond_init(&p->cond, &attr);
  pthread_condattr_destroy(&attr);
  l->posix = p;
  l->threads = (zp_cuda_threads){p, start, join, lock, unlock, sleep_until_woken, wake};
  return 0;
}

void zp_cuda_lock_close(zp_cuda_lock *l)
{
  if (!l->posix) return;
  pthread_cond_destroy(&l->posix->cond);
  pthread_mutex_destroy(&l->posix->mutex);
  free(l->posix);
}

void zp_cuda_lock_take(const zp_cuda_lock *l)
{
  l->threads.lock(l->threads.ctx);
}

void zp_cuda_lock_release(const zp_cuda_lock *l)
{
  l->threads.unlock(l->threads.ctx);
}

int zp_cuda_lock_invariant(const zp_cuda_lock *l, zp_error *err)
{
  ZP_INVARIANT(err, -1, l->threads.lock && l->threads.unlock);
  ZP_INVARIANT(err, -1, !l->posix || l->threads.ctx == l->posix);
  return 0;
}
