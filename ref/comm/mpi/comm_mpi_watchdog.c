#define _GNU_SOURCE
#include "comm_mpi_watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../job/roster.h"
#include "comm_mpi_siblings.h"

enum { WATCHDOG_EXIT = 3 /* the environment failed */ };
#define STALL_S 7.0 /* a tick of 50 ms takes as long only if this process was stopped */
#define NOTE_S 2.0  /* all ranks have usually started MPI by then */

/* Names ranks that MPI waits for, and continues: a shell may still start this program. */
static void note_strangers(watchdog *d)
{
  char who[1024];
  d->note = 0;
  if (zp_mpi_find_strangers(who, sizeof who) > 0)
    dprintf(STDERR_FILENO,
            "zeroproof: %s: still waiting: %s; all ranks must run the same program (STEP-10)\n",
            d->what, who);
}

static void report(const watchdog *d, int stopped)
{
  char text[ZP_MPI_WATCHED + 256], stalled[96] = "";
  int32_t culprit = stopped ? ZP_ROSTER_STOPPED : ZP_ROSTER_NO_CULPRIT;
  if (d->stalled > 0) {
    culprit = d->rank;
    snprintf(stalled, sizeof stalled, "this process did not run for %.0f s: it was stopped; ",
             d->stalled);
  }
  snprintf(text, sizeof text, "%s: %s%s (LEDG-7)", d->what, stalled,
           stopped ? STOPPED_TEXT : "no answer before the deadline");
  dprintf(STDERR_FILENO, "zeroproof: %s\n", text);
  zp_roster_report(ZP_ROSTER_LEAVES, text, culprit);
}

/* While such a call lasts, only the watchdog polls for SIGTERM. */
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
    const double before = zp_clock_s();
    const int stopped = sigtimedwait(&stop, NULL, &tick) == SIGTERM;
    const double took = zp_clock_s() - before;
    pthread_mutex_lock(&d->lock);
    if (took > STALL_S) d->stalled = took;
    if (d->armed && (stopped || zp_clock_s() > d->limit)) {
      report(d, stopped);
      _exit(WATCHDOG_EXIT);
    }
    if (d->armed && d->note > 0 && zp_clock_s() > d->note) note_strangers(d);
    if (stopped) kill(getpid(), SIGTERM); /* not for the watchdog: back to the polling thread */
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

void zp_mpi_watchdog_arm(watchdog *d, int armed, double seconds_max, int32_t rank, const char *what,
                         int starting)
{
  pthread_mutex_lock(&d->lock);
  d->limit = zp_clock_s() + seconds_max;
  d->note = starting ? zp_clock_s() + NOTE_S : 0;
  d->armed = armed;
  d->rank = rank;
  d->stalled = 0;
  snprintf(d->what, sizeof d->what, "rank %d%s%s: %s", rank, d->host[0] ? " on " : "", d->host,
           what);
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
