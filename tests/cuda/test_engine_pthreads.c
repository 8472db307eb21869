/* The lock and the watchdog on POSIX threads, as on a device: simdev's hosts share one thread, so that
 * simulations bring threads of their own. What the watchdog looks at is played here. spec: LEDG-7 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "../../cuda/engine/engine_internal.h"

/* ---- What threads.c calls -------------------------------------------------------------------- */

static struct {
  int looks, running, alarmed, devices; /* under the engine's lock */
  uint64_t patience;
  zp_cuda_mark mark;
} world;

static const uint64_t second = 1000000000u;

uint64_t zp_cuda_now(const zp_cuda *e)
{
  struct timespec t;
  (void)e;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

uint64_t zp_cuda_patience(const zp_cuda *e)
{
  (void)e;
  return world.patience;
}

int zp_cuda_fail(zp_cuda *e, int32_t status, const char *format, ...)
{
  (void)format;
  if (e->err.status == 0) e->err.status = status;
  return -1;
}

int zp_cuda_heed(zp_cuda *e, int any)
{
  (void)any;
  return e->err.status ? -1 : 0;
}

int zp_cuda_look(zp_cuda *e, const char *what)
{
  (void)what;
  world.looks++;
  return world.alarmed ? zp_cuda_fail(e, ZP_CUDA_E_CUDA, "alarm") : 0;
}

const zp_cuda_mark *zp_cuda_position(zp_cuda *e)
{
  (void)e;
  return world.running ? &world.mark : NULL;
}

int zp_cuda_check(zp_cuda *e, cudaError_t result, const char *call)
{
  return result == cudaSuccess ? 0 : zp_cuda_fail(e, ZP_CUDA_E_CUDA, "%s", call);
}

cudaError_t cudaSetDevice(int device)
{
  world.devices = 100 + device;
  return cudaSuccess;
}

/* ---- Helpers --------------------------------------------------------------------------------- */

static void open_engine(zp_cuda *e, uint64_t patience)
{
  memset(e, 0, sizeof *e);
  memset(&world, 0, sizeof world);
  world.patience = patience;
  e->opt.device = 3;
  cr_assert(eq(int, zp_cuda_open_threads(e), 0));
}

static void rest_ms(long ms)
{
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* Until the watchdog has found something; 0: it has not, in ten seconds. */
static int32_t found(zp_cuda *e)
{
  int32_t status = 0;
  for (int i = 0; i < 1000 && !status; i++) {
    rest_ms(10);
    zp_cuda_enter(e);
    status = e->err.status;
    zp_cuda_leave(e);
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
    zp_cuda_enter(&s->e);
    if (s->inside++) s->together = 1;
    s->inside--;
    s->count++;
    zp_cuda_leave(&s->e);
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
  zp_cuda_close_threads(&s.e);
}

static void *sleep_long(void *arg)
{
  shared *s = arg;
  zp_cuda_enter(&s->e);
  s->naps = 1;
  s->e.threads.sleep(s->e.threads.ctx, 600 * second);
  s->slept = 1;
  zp_cuda_leave(&s->e);
  return NULL;
}

Test(pthreads, sleep_gives_up_the_lock_and_ends_when_woken, .timeout = 60)
{
  static shared s;
  pthread_t t;
  int naps = 0;
  open_engine(&s.e, second);
  cr_assert(not(pthread_create(&t, NULL, sleep_long, &s)));
  while (!naps) { /* who sleeps has no lock: else this would wait ten minutes */
    zp_cuda_enter(&s.e);
    naps = s.naps;
    if (naps) {
      cr_assert(eq(int, s.slept, 0));
      s.e.threads.wake(s.e.threads.ctx);
    }
    zp_cuda_leave(&s.e);
  }
  pthread_join(t, NULL);
  cr_assert(eq(int, s.slept, 1));
  zp_cuda_close_threads(&s.e);
}

/* Nanoseconds that do not fit the second that has begun carry over. */
Test(pthreads, sleep_lasts_as_long_as_it_was_told)
{
  static const uint64_t ns[] = {1, 1000000, 30000000, 999999999, 1000000001};
  zp_cuda e;
  open_engine(&e, second);
  for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
    const uint64_t begin = zp_cuda_now(&e);
    zp_cuda_enter(&e);
    e.threads.sleep(e.threads.ctx, ns[i]);
    zp_cuda_leave(&e);
    cr_assert(ge(u64, zp_cuda_now(&e) - begin, ns[i]));
    cr_assert(lt(u64, zp_cuda_now(&e) - begin, ns[i] + 20 * second));
  }
  zp_cuda_close_threads(&e);
}

/* ---- The watchdog ---------------------------------------------------------------------------- */

Test(pthreads, the_watchdog_finds_an_alarm_while_the_host_is_elsewhere, .timeout = 60)
{
  zp_cuda e;
  open_engine(&e, 600 * second);
  cr_assert(eq(int, zp_cuda_start_watchdog(&e), 0));
  zp_cuda_enter(&e);
  world.alarmed = 1;
  zp_cuda_leave(&e);
  cr_assert(eq(int, found(&e), ZP_CUDA_E_CUDA));
  cr_assert(eq(int, world.devices, 103)); /* a thread of its own works on the engine's device */
  zp_cuda_end_watchdog(&e);
  zp_cuda_close_threads(&e);
}

Test(pthreads, the_watchdog_finds_what_does_not_end_before_the_deadline, .timeout = 60)
{
  zp_cuda e;
  open_engine(&e, second / 20);
  world.running = 1;
  cr_assert(eq(int, zp_cuda_start_watchdog(&e), 0));
  cr_assert(eq(int, found(&e), ZP_CUDA_E_PEER));
  zp_cuda_end_watchdog(&e);
  zp_cuda_close_threads(&e);
}

Test(pthreads, the_watchdog_lets_be_what_goes_on_or_has_nothing_to_do, .timeout = 60)
{
  zp_cuda e;
  int looks = 0;
  open_engine(&e, 5 * second);
  cr_assert(eq(int, zp_cuda_start_watchdog(&e), 0));
  for (int i = 0; i < 20 || looks < 3; i++) {
    rest_ms(10);
    zp_cuda_enter(&e);
    world.running = i % 3 > 0;
    e.marks.ended++;
    looks = world.looks;
    cr_assert(eq(int, e.err.status, 0));
    zp_cuda_leave(&e);
  }
  zp_cuda_end_watchdog(&e); /* does not wait for the next look, nor for ever */
  cr_assert(eq(int, e.err.status, 0));
  cr_assert(eq(int, e.watched, 0));
  zp_cuda_close_threads(&e);
}

static uint64_t no_clock(void)
{
  return 0;
}

Test(pthreads, a_clock_of_one_s_own_has_no_watchdog)
{
  zp_cuda e;
  open_engine(&e, second);
  e.opt.now_ns = no_clock;
  cr_assert(eq(int, zp_cuda_start_watchdog(&e), 0));
  cr_assert(eq(int, e.watched, 0));
  zp_cuda_end_watchdog(&e);
  zp_cuda_close_threads(&e);
}
