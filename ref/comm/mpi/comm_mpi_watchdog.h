/* The watchdog of calls that block inside MPI. Not installed. spec: LEDG-7 */
#ifndef ZP_COMM_MPI_WATCHDOG_H
#define ZP_COMM_MPI_WATCHDOG_H

#include <pthread.h>
#include <stdint.h>

enum { ZP_MPI_WATCHED = 672 };

#define STOPPED_TEXT                                                                               \
  "stopped by SIGTERM (mpirun sends it when another process has died or the job is cancelled)"

typedef struct watchdog {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  double limit, note; /* note: when it looks for other programs; 0: no more */
  double stalled;     /* seconds that this process did not run since it was armed, or 0 */
  int32_t rank;
  int armed, quit;
  char what[ZP_MPI_WATCHED];
  char host[33]; /* "" if the job runs on one host */
} watchdog;

/* 0, or non-zero: no thread. */
int zp_mpi_watchdog_start(watchdog *d);
/* Before a call that may block, with its name, for at most seconds_max; armed 0: it has returned.
 * starting: MPI itself starts: after 2 s, ranks of this host that do not run this program are
 * named. */
void zp_mpi_watchdog_arm(watchdog *d, int armed, double seconds_max, int32_t rank, const char *what,
                         int starting);
void zp_mpi_watchdog_end(watchdog *d);

#endif
