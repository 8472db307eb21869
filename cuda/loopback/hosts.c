/* What a trial asks of simdev for its hosts, for POSIX threads: on a device, ranks are threads of
 * one process, and streams are the device's. Nothing is recorded, and no order is chosen. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../simdev/simdev.h"

enum { HOSTS = 4 * 32, KEYS = 1 << 14, LOCKS = 256, TEXT = 128 };

typedef struct host {
  simdev *s;
  int (*fn)(void *arg, int rank);
  void *arg;
  int32_t rank;
  int result;
  pthread_t thread;
} host;

/* over: a host has returned an error, and nobody waits any more. */
struct simdev {
  host host[HOSTS];
  int32_t hosts, over;
  int64_t keys;
  const void *key[KEYS];
  simdev_report report;
  char text[TEXT];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static simdev *running;

/* serving: whose turn it is, of those who asked; next: the next one's number. Equal: not in use. */
typedef struct lock {
  const void *key;
  uint64_t next, serving;
  pthread_cond_t turn;
  int made;
} lock;
static lock locks[LOCKS];

simdev *simdev_open(int32_t ranks, int32_t devices, const simdev_options *options, const char **why)
{
  (void)options;
  if (why) *why = "one process, one device";
  return ranks == 1 && devices == 1 ? calloc(1, sizeof(simdev)) : NULL;
}

void simdev_close(simdev *s)
{
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
  }
  pthread_cond_broadcast(&cond);
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
    pthread_cond_broadcast(&cond);
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

static int is_signalled(const void *key)
{
  for (int64_t i = 0; i < running->keys; i++)
    if (running->key[i] == key) return 1;
  return 0;
}

void simdev_signal(const void *key)
{
  pthread_mutex_lock(&mutex);
  if (!is_signalled(key)) {
    if (running->keys == KEYS) abort(); /* a trial's turns are fewer */
    running->key[running->keys++] = key;
  }
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutex);
}

int simdev_await(const void *key)
{
  int there;
  pthread_mutex_lock(&mutex);
  while (!(there = is_signalled(key)) && !running->over) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
  return there ? 0 : -1;
}

/* In the order of asking: who polls under a lock would have it again before anybody else wakes. */
static lock *lock_of(const void *key)
{
  lock *unused = NULL;
  for (int32_t i = 0; i < LOCKS; i++) {
    if (locks[i].next != locks[i].serving && locks[i].key == key) return &locks[i];
    if (locks[i].next == locks[i].serving) unused = &locks[i];
  }
  if (!unused) abort(); /* one for each rank, and 24 ranks */
  unused->key = key;
  if (!unused->made && pthread_cond_init(&unused->turn, NULL) == 0) unused->made = 1;
  return unused;
}

int simdev_lock(const void *key)
{
  pthread_mutex_lock(&mutex);
  lock *l = lock_of(key);
  const uint64_t mine = l->next++;
  while (l->serving != mine) pthread_cond_wait(&l->turn, &mutex);
  pthread_mutex_unlock(&mutex);
  return 0;
}

void simdev_unlock(const void *key)
{
  pthread_mutex_lock(&mutex);
  lock *l = lock_of(key);
  l->serving++;
  pthread_cond_broadcast(&l->turn);
  pthread_mutex_unlock(&mutex);
}

void simdev_name_stream(cudaStream_t stream, const char *name)
{
  (void)stream, (void)name;
}

void simdev_tag(int64_t tag)
{
  (void)tag;
}
