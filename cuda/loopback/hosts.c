/* What a trial asks of simdev for its hosts, for POSIX threads: on a device, ranks are threads of
 * one process, and streams are the device's. Nothing is recorded, and no order is chosen. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../simdev/simdev.h"

enum { HOSTS = 4 * 32, KEYS = 1 << 10, CONDS = 256, LOCKS = 16, TEXT = 128 };

typedef struct host {
  simdev *s;
  int (*fn)(void *arg, int rank);
  void *arg;
  int32_t rank;
  int result;
  pthread_t thread;
} host;

/* over: a host has returned an error, and nobody waits any more. key: [room] those that were
 * signalled, each at its hash or behind it. */
struct simdev {
  host host[HOSTS];
  int32_t hosts, over;
  int64_t keys, room;
  const void **key;
  simdev_report report;
  char text[TEXT];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static simdev *running;

/* Who waits for a key waits at one of these: a signal wakes few besides. */
static pthread_cond_t cond[CONDS];
static pthread_mutex_t lock[LOCKS];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void) /* glibc's cannot fail */
{
  for (int32_t i = 0; i < CONDS; i++) pthread_cond_init(&cond[i], NULL);
  for (int32_t i = 0; i < LOCKS; i++) pthread_mutex_init(&lock[i], NULL);
}

static void wake_all(void)
{
  for (int32_t i = 0; i < CONDS; i++) pthread_cond_broadcast(&cond[i]);
}

static uint32_t hash_of(const void *key)
{
  return (uint32_t)((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Where a key is, or would be. */
static const void **place_of(simdev *s, const void *key)
{
  int64_t at = hash_of(key) % s->room;
  while (s->key[at] && s->key[at] != key) at = (at + 1) % s->room;
  return &s->key[at];
}

/* Twice the room. 0, or -1 without memory. */
static int more_keys(simdev *s)
{
  const void **old = s->key;
  const int64_t n = s->room, room = n > 0 ? 2 * n : KEYS;
  const void **key = calloc((size_t)room, sizeof *key);
  if (!key) return -1;
  s->key = key;
  s->room = room;
  for (int64_t i = 0; i < n; i++)
    if (old[i]) *place_of(s, old[i]) = old[i];
  free(old);
  return 0;
}

simdev *simdev_open(int32_t ranks, int32_t devices, const simdev_options *options, const char **why)
{
  (void)options;
  if (why) *why = "one process, one device";
  pthread_once(&made, make);
  if (ranks != 1 || devices != 1) return NULL;
  simdev *s = calloc(1, sizeof *s);
  if (s && !more_keys(s)) return s;
  free(s);
  return NULL;
}

void simdev_close(simdev *s)
{
  free(s->key);
  free(s);
}

simdev_status simdev_host(simdev *s, int32_t rank, int (*fn)(void *arg, int rank), void *arg)
{
  if (s->hosts == HOSTS) return SIMDEV_E_INPUT;
  s->host[s->hosts++] = (host){.s = s, .fn = fn, .arg = arg, .rank = rank};
  return SIMDEV_OK;
}

simdev_status simdev_reset(simdev *s, const simdev_options *options)
{
  (void)options;
  s->keys = s->over = 0;
  memset(s->key, 0, (size_t)s->room * sizeof *s->key);
  memset(&s->report, 0, sizeof s->report);
  s->report.text = "";
  s->report.rank = -1;
  return SIMDEV_OK;
}

static void *begin(void *arg)
{
  host *h = arg;
  h->result = h->fn(h->arg, h->rank);
  pthread_mutex_lock(&mutex);
  if (h->result != 0 && !h->s->over) {
    h->s->over = 1;
    h->s->report.status = SIMDEV_E_HOST;
    snprintf(h->s->text, sizeof h->s->text, "a host returned %d", h->result);
    h->s->report.text = h->s->text;
    wake_all();
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

simdev_status simdev_run(simdev *s)
{
  int32_t started = 0;
  running = s;
  while (started < s->hosts &&
         pthread_create(&s->host[started].thread, NULL, begin, &s->host[started]) == 0)
    started++;
  if (started < s->hosts) {
    pthread_mutex_lock(&mutex);
    s->over = 1;
    s->report.status = SIMDEV_E_NO_MEMORY;
    s->report.text = "no more threads";
    wake_all();
    pthread_mutex_unlock(&mutex);
  }
  for (int32_t i = 0; i < started; i++) pthread_join(s->host[i].thread, NULL);
  running = NULL;
  return s->report.status;
}

const simdev_report *simdev_result(const simdev *s)
{
  return &s->report;
}

const simdev_record *simdev_records(const simdev *s, int64_t *n)
{
  (void)s;
  *n = 0;
  return NULL;
}

const simdev_edge *simdev_edges(const simdev *s, int64_t *n)
{
  (void)s;
  *n = 0;
  return NULL;
}

/* ---- For host functions ---------------------------------------------------------------------- */

uint64_t simdev_clock_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int simdev_gone(int32_t rank)
{
  (void)rank;
  return 0;
}

void simdev_pause(void)
{
  const struct timespec nap = {0, 20000};
  nanosleep(&nap, NULL);
}

static pthread_cond_t *cond_of(const void *key)
{
  return &cond[hash_of(key) % CONDS];
}

void simdev_signal(const void *key)
{
  pthread_mutex_lock(&mutex);
  if (2 * running->keys >= running->room && more_keys(running)) abort();
  const void **place = place_of(running, key);
  if (!*place) {
    running->keys++;
    *place = key;
    pthread_cond_broadcast(cond_of(key));
  }
  pthread_mutex_unlock(&mutex);
}

int simdev_await(const void *key)
{
  pthread_cond_t *own = cond_of(key);
  int there;
  pthread_mutex_lock(&mutex);
  while (!(there = *place_of(running, key) == key) && !running->over)
    pthread_cond_wait(own, &mutex);
  pthread_mutex_unlock(&mutex);
  return there ? 0 : -1;
}

/* For what is short: engines have their own locks here (ZP_TRIAL_THREADS). Keys may share one. */
int simdev_lock(const void *key)
{
  return pthread_mutex_lock(&lock[hash_of(key) % LOCKS]);
}

void simdev_unlock(const void *key)
{
  pthread_mutex_unlock(&lock[hash_of(key) % LOCKS]);
}

void simdev_name_stream(cudaStream_t stream, const char *name)
{
  (void)stream, (void)name;
}

void simdev_tag(int64_t tag)
{
  (void)tag;
}
