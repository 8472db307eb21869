/* The lock and the watchdog on POSIX threads, as on a device: simdev's hosts share one thread,
 * so that simulations bring threads of their own. What the watchdog checks at is played here.
 * spec: LEDG-7 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "../../../cuda/engine/comm/host_wait.h"
#include "../../../cuda/engine/device/clock.h"
#include "../../../cuda/engine/parts.h"
#include "../../../cuda/engine/teardown.h"
#include "../../../ref/base/clock.h"

/* ---- What lock.c and watchdog.c call
 * ---------------------------------------------------------- */

static struct {
  int checks, running, alarmed, devices; /* under the engine's lock */
  int torn_down;
  uint64_t limit;
  zp_cuda_mark mark;
} world;

static const uint64_t second = 1000000000u;

uint64_t zp_cuda_now(const zp_cuda_rank *r)
{
  (void)r;
  return (uint64_t)zp_clock_ns();
}

uint64_t zp_cuda_time_limit(const zp_cuda_rank *r)
{
  (void)r;
  return world.limit;
}

int zp_cuda_has_failed(const zp_cuda_rank *r)
{
  return r->failure.first.status != ZP_OK;
}

int zp_cuda_fail(zp_cuda_rank *r, int32_t status, const char *format, ...)
{
  (void)format;
  if (!zp_cuda_has_failed(r)) r->failure.first.status = status;
  return -1;
}

int zp_cuda_check_alarm(zp_cuda_rank *r, int any)
{
  (void)any;
  return zp_cuda_has_failed(r) ? -1 : 0;
}

int zp_cuda_check_async_errors(const zp_cuda_comms *c, const char *what)
{
  (void)what;
  world.checks++;
  return world.alarmed ? zp_cuda_fail(c->r, ZP_E_DEVICE, "alarm") : 0;
}

const zp_cuda_mark *zp_cuda_progress_device(zp_cuda_progress *p)
{
  (void)p;
  return world.running ? &world.mark : NULL;
}

int zp_cuda_check(zp_cuda_rank *r, cudaError_t result, const char *call)
{
  return result == cudaSuccess ? 0 : zp_cuda_fail(r, ZP_E_DEVICE, "%s", call);
}

void zp_cuda_tear_down(zp_cuda *e)
{
  world.torn_down += zp_cuda_has_failed(&e->rank);
}

cudaError_t cudaSetDevice(int device)
{
  world.devices = 100 + device;
  return cudaSuccess;
}

/* ---- Helpers --------------------------------------------------------------------------------- */

static void open_engine(zp_cuda *e, uint64_t limit)
{
  memset(e, 0, sizeof *e);
  memset(&world, 0, sizeof world);
  world.limit = limit;
  e->rank.opt.device = 3;
  e->comms.r = &e->rank;
  cr_assert(eq(int, zp_cuda_lock_open(&e->rank.lock, NULL), 0));
}

static void rest_ms(long ms)
{
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* The watchdog's error; 0: it found nothing in ten seconds. */
static int32_t found(zp_cuda *e)
{
  int32_t status = 0;
  for (int i = 0; i < 1000 && !status; i++) {
    rest_ms(10);
    zp_cuda_lock_take(&e->rank.lock);
    status = e->rank.failure.first.status;
    zp_cuda_lock_release(&e->rank.lock);
  }
  return status;
}

/* ---- The lock -------------------------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 20000 };

typedef struct shared {
  zp_cuda e;
  int64_t count;
  int inside, together, naps, slept;
} shared;

static void *count(void *arg)
{
  shared *s = arg;
  for (int i = 0; i < TURNS; i++) {
    zp_cuda_lock_take(&s->e.rank.lock);
    if (s->inside++) s->together = 1;
    s->inside--;
    s->count++;
    zp_cuda_lock_release(&s->e.rank.lock);
  }
  return NULL;
}

Test(pthreads, one_thread_at_a_time_has_the_lock)
{
  static shared s;
  pthread_t t[THREADS];
  open_engine(&s.e, second);
  for (int i = 0; i < THREADS; i++) cr_assert(not(pthread_create(&t[i], NULL, count, &s)));
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  cr_assert(eq(i64, s.count, THREADS * TURNS));
  cr_assert(eq(int, s.together, 0));
  zp_cuda_lock_close(&s.e.rank.lock);
}

static void *sleep_long(void *arg)
{
  shared *s = arg;
  zp_cuda_lock_take(&s->e.rank.lock);
  s->naps = 1;
  s->e.rank.lock.threads.sleep(s->e.rank.lock.threads.ctx, 600 * second);
  s->slept = 1;
  zp_cuda_lock_release(&s->e.rank.lock);
  return NULL;
}

Test(pthreads, sleep_releases_the_lock_and_ends_when_woken, .timeout = 60)
{
  static shared s;
  pthread_t t;
  int naps = 0;
  open_engine(&s.e, second);
  cr_assert(not(pthread_create(&t, NULL, sleep_long, &s)));
  while (!naps) { /* a thread that sleeps has no lock; otherwise this would wait ten minutes */
    zp_cuda_lock_take(&s.e.rank.lock);
    naps = s.naps;
    if (naps) {
      cr_assert(eq(int, s.slept, 0));
      s.e.rank.lock.threads.wake(s.e.rank.lock.threads.ctx);
    }
    zp_cuda_lock_release(&s.e.rank.lock);
  }
  pthread_join(t, NULL);
  cr_assert(eq(int, s.slept, 1));
  zp_cuda_lock_close(&s.e.rank.lock);
}

/* Nanoseconds that do not fit the second that has begun carry over. */
Test(pthreads, sleep_lasts_as_long_as_requested)
{
  static const uint64_t ns[] = {1, 1000000, 30000000, 999999999, 1000000001};
  zp_cuda e;
  open_engine(&e, second);
  for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
    const uint64_t begin = zp_cuda_now(&e.rank);
    zp_cuda_lock_take(&e.rank.lock);
    e.rank.lock.threads.sleep(e.rank.lock.threads.ctx, ns[i]);
    zp_cuda_lock_release(&e.rank.lock);
    cr_assert(ge(u64, zp_cuda_now(&e.rank) - begin, ns[i]));
    cr_assert(lt(u64, zp_cuda_now(&e.rank) - begin, ns[i] + 20 * second));
  }
  zp_cuda_lock_close(&e.rank.lock);
}

/* ---- The watchdog ---------------------------------------------------------------------------- */

Test(pthreads, the_watchdog_finds_an_alarm_between_calls, .timeout = 60)
{
  zp_cuda e;
  open_engine(&e, 600 * second);
  cr_assert(eq(int, zp_cuda_watchdog_start(&e), 0));
  zp_cuda_lock_take(&e.rank.lock);
  world.alarmed = 1;
  zp_cuda_lock_release(&e.rank.lock);
  cr_assert(eq(int, found(&e), ZP_E_DEVICE));
  cr_assert(eq(int, world.devices, 103)); /* a thread of its own works on the engine's device */
  zp_cuda_watchdog_stop(&e);
  cr_assert(eq(int, world.torn_down, 1));
  zp_cuda_lock_close(&e.rank.lock);
}

Test(pthreads, the_watchdog_finds_a_communication_that_misses_the_deadline, .timeout = 60)
{
  zp_cuda e;
  open_engine(&e, second / 20);
  world.running = 1;
  cr_assert(eq(int, zp_cuda_watchdog_start(&e), 0));
  cr_assert(eq(int, found(&e), ZP_E_PEER));
  zp_cuda_watchdog_stop(&e);
  cr_assert(eq(int, world.torn_down, 1));
  zp_cuda_lock_close(&e.rank.lock);
}

Test(pthreads, the_watchdog_ignores_progress_and_an_idle_device, .timeout = 60)
{
  zp_cuda e;
  int checks = 0;
  open_engine(&e, 5 * second);
  cr_assert(eq(int, zp_cuda_watchdog_start(&e), 0));
  for (int i = 0; i < 20 || checks < 3; i++) {
    rest_ms(10);
    zp_cuda_lock_take(&e.rank.lock);
    world.running = i % 3 > 0;
    e.rank.progress.ended++;
    checks = world.checks;
    cr_assert(eq(int, e.rank.failure.first.status, 0));
    zp_cuda_lock_release(&e.rank.lock);
  }
  zp_cuda_watchdog_stop(&e); /* does not wait for the next check */
  cr_assert(eq(int, e.rank.failure.first.status, 0));
  cr_assert(eq(int, e.watchdog.runs, 0));
  zp_cuda_lock_close(&e.rank.lock);
}

static uint64_t no_clock(void)
{
  return 0;
}

Test(pthreads, options_with_a_clock_and_without_threads_have_no_watchdog)
{
  zp_cuda e;
  open_engine(&e, second);
  e.rank.opt.now_ns = no_clock;
  cr_assert(eq(int, zp_cuda_watchdog_start(&e), 0));
  cr_assert(eq(int, e.watchdog.runs, 0));
  zp_cuda_watchdog_stop(&e);
  zp_cuda_lock_close(&e.rank.lock);
}
