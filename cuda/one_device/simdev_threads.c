/* The functions of simdev.h for hosts that are POSIX threads of one process on a device.
 * Streams are the device's; no accesses are recorded and no order is chosen. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../ref/base/clock.h"
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

/* over: a host has returned an error; waits end. key: [room] a hash table of the keys that were
 * signalled. */
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

/* Waits for a key are spread over these by its hash, so that a signal wakes few other hosts. */
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

/* The slot of a key in the table, or the free one for it. */
static const void **slot_of(simdev *s, const void *key)
{
  int64_t at = hash_of(key) % s->room;
  while (s->key[at] && s->key[at] != key) at = (at + 1) % s->room;
  return &s->key[at];
}

/* Doubles the table. 0, or -1: no memory. */
static int more_keys(simdev *s)
{
  const void **old = s->key;
  const int64_t n = s->room, room = n > 0 ? 2 * n : KEYS;
  const void **key = calloc((size_t)room, sizeof *key);
  if (!key) return -1;
  s->key = key;
  s->room = room;
  for (int64_t i = 0; i < n; i++)
    if (old[i]) *slot_of(s, old[i]) = old[i];
  free(old);
  return 0;
}

simdev *simdev_open(int32_t ranks, int32_t devices, const simdev_options *options, const char **why)
{
  (void)options;
  if (why) *why = "simdev_threads: expected one process and one device";
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

/* Allocations of ranks that share a process are not counted apart. */
int64_t simdev_created(const simdev *s, int32_t rank)
{
  (void)s, (void)rank;
  return 0;
}

uint64_t simdev_clock_ns(void)
{
  return (uint64_t)zp_clock_ns();
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
  const void **slot = slot_of(running, key);
  if (!*slot) {
    running->keys++;
    *slot = key;
    pthread_cond_broadcast(cond_of(key));
  }
  pthread_mutex_unlock(&mutex);
}

int simdev_await(const void *key)
{
  pthread_cond_t *own = cond_of(key);
  int there;
  pthread_mutex_lock(&mutex);
  while (!(there = *slot_of(running, key) == key) && !running->over) pthread_cond_wait(own, &mutex);
  pthread_mutex_unlock(&mutex);
  return there ? 0 : -1;
}

/* For short sections. Keys may share a lock. */
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
