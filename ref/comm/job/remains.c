/* Finds and ends what is left of a job: processes by a mark in their environment. */
#define _GNU_SOURCE
#include "remains.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "proc.h"

enum { MANY = 4096 }; /* processes that are ended at a time */

typedef struct search {
  const char *name, *value;
  int32_t n;
  pid_t pid[MANY];
  char environment[ZP_PROC_ENVIRONMENT];
} search;

int zp_remains_adopt(void)
{
  return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void look_at(void *ctx, const char *pid)
{
  search *s = ctx;
  const long id = strtol(pid, NULL, 10);
  if (id == (long)getpid() || s->n == MANY) return;
  if (zp_proc_parent(pid) != (long)getpid()) {
    const size_t n = zp_proc_environment(pid, s->environment);
    const char *value = zp_proc_value(s->environment, n, s->name);
    if (value == NULL || strcmp(value, s->value) != 0) return;
  }
  s->pid[s->n++] = (pid_t)id;
}

/* Reaps what has ended: a zombie is in /proc until then. */
static void reap(void)
{
  int status;
  while (waitpid(-1, &status, WNOHANG) > 0) {
  }
}

/* Ends a process, and waits for that until the time `until`. 0: it has ended. Its number cannot
 * become another process's meanwhile, as the descriptor refers to the process. */
static int end_one(const search *s, pid_t pid, double until)
{
  struct pollfd at = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
  char text[24];
  search now = {.name = s->name, .value = s->value};
  if (at.fd < 0) return errno == ESRCH ? 0 : -1;
  snprintf(text, sizeof text, "%ld", (long)pid);
  look_at(&now, text); /* is it still the one that was found? */
  int gone = now.n == 0;
  if (!gone && syscall(SYS_pidfd_send_signal, at.fd, SIGKILL, NULL, 0) != 0) gone = errno == ESRCH;
  for (double left; !gone && (left = until - zp_clock_s()) > 0;)
    gone = poll(&at, 1, (int)(left * 1e3) + 1) > 0;
  close(at.fd);
  return gone ? 0 : -1;
}

int zp_remains_end(const char *name, const char *value, double seconds_max, int32_t *ended,
                   char *left, int cap)
{
  const double until = zp_clock_s() + seconds_max;
  search *s = calloc(1, sizeof *s);
  int failed = s == NULL;
  int used = snprintf(left, (size_t)cap, "%s", failed ? "no memory to look for processes" : "");
  *ended = 0;
  while (!failed) {
    reap();
    *s = (search){.name = name, .value = value};
    failed = zp_proc_each(look_at, s) != 0;
    if (failed) snprintf(left, (size_t)cap, "/proc cannot be read: %s", strerror(errno));
    if (s->n == 0) break;
    for (int32_t i = 0; i < s->n; i++) {
      *ended += 1;
      if (end_one(s, s->pid[i], until) == 0) continue;
      failed = 1;
      if (used < cap)
        used += snprintf(left + used, (size_t)(cap - used), "%sprocess %ld", used > 0 ? ", " : "",
                         (long)s->pid[i]);
    }
  }
  free(s);
  return failed ? -1 : 0;
}
