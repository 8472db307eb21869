/* spec: LEDG-7 */
#define _GNU_SOURCE
#include "comm_mpi_internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
  SPINS = 200, /* polls that only yield; later ones sleep, since ranks share cores */
  NAP_NS = 50000,
  WATCHDOG_EXIT = 3 /* the environment failed */
};
#define GRACE_S 0.5 /* for cards that may still come after a mismatch was seen */

double zp_mpi_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void zp_mpi_rest(int32_t *idle)
{
  const struct timespec nap = {0, NAP_NS};
  if ((*idle)++ < SPINS) sched_yield();
  else nanosleep(&nap, NULL);
}

/* ---- The watchdog of calls that block inside MPI. LEDG-7 ------------------------------------- */

/* While such a call lasts, nobody else polls for SIGTERM: the watchdog does. */
static void *watch(void *arg)
{
  const struct timespec tick = {0, 50000000};
  watchdog *d = arg;
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_mutex_lock(&d->lock);
  while (!d->quit) {
    if (!d->armed) {
      pthread_cond_wait(&d->changed, &d->lock);
      continue;
    }
    pthread_mutex_unlock(&d->lock);
    const int stopped = sigtimedwait(&stop, NULL, &tick) == SIGTERM;
    pthread_mutex_lock(&d->lock);
    if (d->armed && (stopped || zp_mpi_now() > d->limit)) {
      dprintf(STDERR_FILENO, "zeroproof: %s: %s (LEDG-7)\n", d->what,
              stopped ? STOPPED_TEXT : "no answer before the deadline");
      _exit(WATCHDOG_EXIT);
    }
    if (stopped) kill(getpid(), SIGTERM); /* not for the watchdog: back to who polls */
  }
  pthread_mutex_unlock(&d->lock);
  return NULL;
}

int zp_mpi_watchdog_start(watchdog *d)
{
  pthread_mutex_init(&d->lock, NULL);
  pthread_cond_init(&d->changed, NULL);
  return pthread_create(&d->thread, NULL, watch, d);
}

void zp_mpi_watchdog_arm(zp_mpi *m, int armed, const char *what)
{
  watchdog *d = &m->dog;
  /* How long MPI takes to start or to split is not ours to hurry: a busy machine is no dead peer. */
  const double patience_s = m->deadline_s > ZP_MPI_DEADLINE_S ? m->deadline_s : ZP_MPI_DEADLINE_S;
  pthread_mutex_lock(&d->lock);
  d->limit = zp_mpi_now() + patience_s;
  d->armed = armed;
  snprintf(d->what, sizeof d->what, "rank %d: %s", m->rank, what);
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->lock);
}

void zp_mpi_watchdog_end(watchdog *d)
{
  pthread_mutex_lock(&d->lock);
  d->quit = 1;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->lock);
  pthread_join(d->thread, NULL);
}
/* ---- Messages under way ---------------------------------------------------------------------- */

int zp_mpi_reserve(zp_mpi *m)
{
  if (m->n_req < m->cap_req) return 0;
  const size_t cap = (size_t)m->cap_req * 2;
  void *a = realloc(m->req, cap * sizeof *m->req);
  if (a) m->req = a;
  void *b = realloc(m->peer, cap * sizeof *m->peer);
  if (b) m->peer = b;
  void *c = realloc(m->finished, cap);
  if (c) m->finished = c;
  void *d = realloc(m->index, cap * sizeof *m->index);
  if (d) m->index = d;
  if (!a || !b || !c || !d) return -1;
  m->cap_req = (int32_t)cap;
  return 0;
}

void zp_mpi_clear(zp_mpi *m)
{
  m->n_req = m->pending = 0;
}

void zp_mpi_started(zp_mpi *m, int32_t peer)
{
  m->peer[m->n_req] = peer;
  m->finished[m->n_req] = 0;
  m->n_req++;
  m->pending++;
}

int zp_mpi_post(zp_mpi *m, const communicator *c, int sends, const void *data, int64_t bytes,
                int32_t who, int tag)
{
  char *at = (char *)(uintptr_t)data; /* MPI_Irecv writes, MPI_Isend does not */
  const int64_t most = tag == TAG_CARD ? bytes : m->piece;
  while (bytes > 0) {
    const int n = (int)(bytes < most ? bytes : most);
    if (zp_mpi_reserve(m)) return -1;
    MPI_Request *req = &m->req[m->n_req];
    if (sends ? MPI_Isend(at, n, MPI_BYTE, who, tag, c->comm, req)
              : MPI_Irecv(at, n, MPI_BYTE, who, tag, c->comm, req))
      return -1;
    zp_mpi_started(m, c->member[who]);
    at += n;
    bytes -= n;
  }
  return 0;
}

/* Polls once: how many requests completed, or -1. */
static int32_t poll_once(zp_mpi *m)
{
  int n = 0;
  const int rc = MPI_Testsome(m->n_req, m->req, &n, m->index, MPI_STATUSES_IGNORE);
  if (rc != MPI_SUCCESS) return -1;
  if (n == MPI_UNDEFINED) n = 0;
  for (int i = 0; i < n; i++) m->finished[m->index[i]] = 1;
  m->pending -= n;
  zp_mpi_listen(m);
  return n;
}

/* Did a member of c report a mismatch? Then its card is on its way here, too. */
static int told_of_mismatch(const zp_mpi *m, const communicator *c)
{
  const notice *cause = zp_mpi_cause_of(m);
  for (int32_t i = 0; i < c->size; i++)
    if (c->member[i] == cause->rank) return cause->status == ZP_E_MISMATCH;
  return 0;
}

ending zp_mpi_wait_all(zp_mpi *m, const communicator *c, int32_t only)
{
  const struct timespec at_once = {0, 0};
  double limit = zp_mpi_now() + m->deadline_s;
  int32_t idle = 0, hurry = 0;
  while (m->pending > 0) {
    const int32_t n = poll_once(m);
    if (n < 0) return BROKEN;
    if (m->pending == 0) return ENDED;
    if (n > 0 && !hurry) limit = zp_mpi_now() + m->deadline_s;
    if (m->n_heard > 0 && !hurry && !(c && told_of_mismatch(m, c))) return NOTICED;
    if (!hurry && c && (m->n_heard > 0 || (n > 0 && zp_mpi_mismatch_seen(m, c, only)))) {
      hurry = 1;
      limit = zp_mpi_now() + GRACE_S;
    }
    if (zp_mpi_now() > limit) return m->n_heard > 0 ? NOTICED : LATE;
    if (n == 0) zp_mpi_rest(&idle);
    else idle = 0;
    if (idle > SPINS && sigtimedwait(&m->stop, NULL, &at_once) == SIGTERM)
      return m->n_heard > 0 ? NOTICED : STOPPED;
  }
  return ENDED;
}

int zp_mpi_finish(zp_mpi *m, const place *at, int failed, zp_error *err)
{
  const ending end = failed ? BROKEN : zp_mpi_wait_all(m, NULL, -1);
  if (end != ENDED) return zp_mpi_fail_wait(m, at, end, err);
  zp_mpi_clear(m);
  return 0;
}
