/* In the launcher: the list of ranks, and the command that starts them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/child.h"
#include "../../base/clock.h"
#include "roster_internal.h"

enum { NOT_STARTED = 3, SIGNALS = 0, OUTPUT = 1, LISTENER = 2, FIXED = 3 };
static const double hello_s = 10; /* far longer than a record takes */

/* ---- Listening ------------------------------------------------------------------------------- */

static void drop(zp_roster *r, int32_t i)
{
  close(r->poll[i].fd);
  r->n--;
  r->poll[i] = r->poll[r->n];
  r->connection[i] = r->connection[r->n];
}

/* Another user could connect on this host: over TCP the token distinguishes. */
static int is_of_user(const zp_roster *r, int fd)
{
  struct ucred peer;
  socklen_t n = sizeof peer;
  if (r->reach == ZP_ROSTER_HOSTS) return 1;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

/* A connection of another user is closed; so is one beyond two of each rank, and some. */
static void accept_one(zp_roster *r)
{
  const int fd = accept4(r->poll[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (r->n == r->cap || !is_of_user(r, fd)) {
    close(fd);
    return;
  }
  r->connection[r->n] = (zp_roster_connection){.limit = zp_clock_s() + hello_s};
  r->poll[r->n++] = (struct pollfd){fd, POLLIN, 0};
}

static void take_record(zp_roster *r, int fd, zp_roster_record *w)
{
  if (w->rank < 0 || w->rank >= r->world || w->pid <= 0) return;
  zp_roster_entry *e = &r->rank[w->rank];
  w->host[sizeof w->host - 1] = w->why[sizeof w->why - 1] = 0;
  e->lost = 0;
  if (w->what == ZP_ROSTER_JOINED) e->joined = 1;
  if (w->what == ZP_ROSTER_LEAVES) {
    e->leaves = 1;
    if (w->failed && !e->failed) e->culprit = w->culprit;
    e->failed |= w->failed != 0;
    if (e->why == NULL && w->failed) e->why = strdup(w->why);
  }
  if (w->what != ZP_ROSTER_HERE) return;
  free(e->why);
  *e = (zp_roster_entry){.pid = w->pid, .fd = fd};
  memcpy(e->host, w->host, sizeof e->host);
}

/* Takes what has arrived. 1: all for now, 0: the connection is to be closed. */
static int read_record(zp_roster *r, int32_t i)
{
  zp_roster_connection *c = &r->connection[i];
  char *to = (char *)&c->record;
  const ssize_t n = recv(r->poll[i].fd, to + c->n, sizeof c->record - c->n, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
  if (n <= 0) {
    for (int32_t k = 0; k < r->world; k++)
      if (r->rank[k].fd == r->poll[i].fd) {
        r->rank[k].fd = -1;
        r->rank[k].turn = r->turn;
        r->rank[k].lost = n < 0; /* by the keepalive: its host does not answer */
      }
    return 0;
  }
  c->n += (size_t)n;
  if (c->n < sizeof c->record) return 1;
  if (r->reach == ZP_ROSTER_HOSTS && memcmp(c->record.token, r->token, ZP_ROSTER_TOKEN) != 0)
    return 0;
  c->n = 0;
  c->limit = 0;
  take_record(r, r->poll[i].fd, &c->record);
  return c->record.what == ZP_ROSTER_HERE;
}

/* Connection i: a record, or its end. Returns 1 if it was removed. */
static int hear(zp_roster *r, int32_t i)
{
  const zp_roster_connection *c = &r->connection[i];
  if (read_record(r, i) && (c->limit <= 0 || zp_clock_s() < c->limit)) return 0;
  drop(r, i);
  return 1;
}

/* All that there is to accept and to read now. */
static void hear_all(zp_roster *r)
{
  int32_t before;
  do {
    before = r->n;
    accept_one(r);
  } while (r->n > before);
  for (int32_t i = FIXED; i < r->n;) i += !hear(r, i);
}

/* ---- Running --------------------------------------------------------------------------------- */

static pid_t start(zp_roster *r, char *const argv[], const sigset_t *mask)
{
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return -1;
  const pid_t child = zp_child_fork(SIGTERM);
  if (child != 0) {
    const int reason = errno;
    close(out[1]);
    if (child < 0) close(out[0]);
    else r->output.from = out[0];
    errno = reason;
    return child;
  }
  dup2(out[1], STDOUT_FILENO);
  sigprocmask(SIG_SETMASK, mask, NULL);
  execvp(argv[0], argv);
  fprintf(stderr, "zeroproof launch: cannot run %s: %s; install it (Debian: openmpi-bin).\n",
          argv[0], strerror(errno));
  _exit(NOT_STARTED);
}

/* Reads all pending signals; 1 if the command has ended. */
static int take_signals(const zp_roster *r, pid_t child, zp_roster_result *out)
{
  struct signalfd_siginfo s;
  while (read(r->poll[SIGNALS].fd, &s, sizeof s) == (ssize_t)sizeof s) {
    if (s.ssi_signo == SIGCHLD) continue;
    if (out->cancelled == 0) out->cancelled = (int)s.ssi_signo;
    /* a code above 0 is the kernel's: a terminal signals its whole foreground group, and mpirun
     * would take a second signal for the wish to leave without cleaning up */
    if (s.ssi_signo != SIGINT || s.ssi_code <= 0) kill(child, SIGTERM);
  }
  return waitpid(child, &out->status, WNOHANG) == child;
}

/* 1: ranks have reported, and all that did have ended, or left with an error: what is left of such
 * a one may be on a host that is cut off. */
static int all_ended(const zp_roster *r)
{
  int32_t ended = 0;
  for (int32_t k = 0; k < r->world; k++) {
    if (r->rank[k].fd >= 0 && !r->rank[k].failed) return 0;
    ended += r->rank[k].turn > 0 || r->rank[k].failed;
  }
  return ended > 0;
}

/* On several hosts: a rank has failed, so that mpirun has nothing to wait for. */
static int any_failed(const zp_roster *r)
{
  for (int32_t k = 0; r->reach == ZP_ROSTER_HOSTS && k < r->world; k++)
    if (r->rank[k].failed || r->rank[k].lost) return 1;
  return 0;
}

/* mpirun was ended: the daemons of other hosts notice it and end their ranks, which report. */
static void hear_rest(zp_roster *r, double seconds)
{
  const double limit = zp_clock_s() + seconds;
  while (r->rank != NULL && zp_clock_s() < limit && !all_ended(r)) {
    const double left = limit - zp_clock_s();
    if (poll(r->poll + LISTENER, (nfds_t)(r->n - LISTENER), (int)(left * 1e3) + 1) <= 0) continue;
    r->turn++;
    hear_all(r);
  }
}

static void attend(zp_roster *r, pid_t child, double patience_s, zp_roster_result *out)
{
  double limit = 0; /* 0: none */
  for (;;) {
    const double left = limit > 0 ? limit - zp_clock_s() : 0;
    if (limit > 0 && left <= 0) {
      kill(child, SIGKILL); /* its ranks end when they lose it */
      out->killed = 1;
      limit = 0;
    }
    /* poll ignores a listener of -1 */
    r->poll[OUTPUT] = zp_forward_poll(&r->output);
    const int ready = poll(r->poll, (nfds_t)r->n, limit > 0 ? (int)(left * 1e3) + 1 : -1);
    if (ready > 0 && r->poll[OUTPUT].revents != 0) zp_forward_some(&r->output);
    r->turn++;
    if (r->rank != NULL) hear_all(r);
    if (take_signals(r, child, out)) break;
    /* mpirun 4.1.4 sometimes waits forever for ranks that have ended while MPI started */
    const int due = out->cancelled != 0 || (r->rank != NULL && all_ended(r));
    if (due && limit <= 0 && !out->killed)
      limit = zp_clock_s() + (any_failed(r) ? patience_s / 3 : patience_s);
    if (!due) limit = 0;
  }
  r->turn++;
  for (int32_t i = 0; r->rank != NULL && i < 2; i++) hear_all(r); /* new ones, then their words */
  if (r->reach == ZP_ROSTER_HOSTS && WIFSIGNALED(out->status) && !out->killed)
    hear_rest(r, patience_s / 3);
}

/* Forwards what the command had written when it ended. A reader that does not read is waited for,
 * unless the job was cancelled. */
static void forward_rest(zp_roster *r, zp_roster_result *out)
{
  struct signalfd_siginfo s;
  for (;;) {
    r->poll[OUTPUT] = zp_forward_poll(&r->output);
    const int wait_ms = r->poll[OUTPUT].events == POLLIN ? 0 : out->cancelled != 0 ? 1000 : -1;
    if (poll(r->poll, OUTPUT + 1, wait_ms) <= 0) return;
    if (r->poll[OUTPUT].revents != 0) zp_forward_some(&r->output);
    while (read(r->poll[SIGNALS].fd, &s, sizeof s) == (ssize_t)sizeof s)
      if (s.ssi_signo != SIGCHLD && out->cancelled == 0) out->cancelled = (int)s.ssi_signo;
  }
}

static void conclude(const zp_roster *r, zp_roster_result *out)
{
  const int code = WIFEXITED(out->status) ? WEXITSTATUS(out->status) : -1;
  out->began = r->rank == NULL;
  for (int32_t k = 0; r->rank != NULL && k < r->world; k++) out->began |= r->rank[k].joined;
  if (r->rank == NULL || out->cancelled != 0 || code == 0) return;
  /* as a shell, mpirun returns 128 + the signal that ended the first rank */
  zp_roster_explain(r, code > 128 && code <= 128 + SIGRTMAX ? code - 128 : 0, out);
}

int zp_roster_run(char *const argv[], int32_t world, zp_roster_reach reach, const char *const *host,
                  double patience_s, zp_roster_result *out)
{
  zp_roster r = {
      .world = world, .n = FIXED, .cap = 2 * world + 16, .reach = reach, .output.from = -1};
  sigset_t old;
  pid_t child = -1;
  *out = (zp_roster_result){.lost = -1};
  const int signals = zp_child_signals(&old);
  r.poll = calloc((size_t)r.cap, sizeof *r.poll);
  r.connection = calloc((size_t)r.cap, sizeof *r.connection);
  r.rank = calloc((size_t)world, sizeof *r.rank);
  for (int32_t i = 0; r.rank != NULL && i < world; i++) {
    r.rank[i].fd = -1;
    if (host != NULL && host[i] != NULL)
      snprintf(r.rank[i].host, sizeof r.rank[i].host, "%s", host[i]);
  }
  const int listener = r.rank != NULL && r.connection != NULL ? zp_roster_listen(&r) : -1;
  if (listener < 0) {
    free(r.rank);
    r.rank = NULL;
  }
  if (signals >= 0 && r.poll != NULL) child = start(&r, argv, &old);
  const int code = errno;
  if (child > 0) {
    r.poll[SIGNALS] = (struct pollfd){signals, POLLIN, 0};
    r.poll[LISTENER] = (struct pollfd){listener, POLLIN, 0};
    attend(&r, child, patience_s, out);
    forward_rest(&r, out);
    out->output_error = r.output.error;
    conclude(&r, out);
    for (int32_t i = FIXED; i < r.n; i++) close(r.poll[i].fd);
  }
  if (r.output.from >= 0) close(r.output.from);
  if (listener >= 0) close(listener);
  if (signals >= 0) close(signals);
  for (int32_t i = 0; r.rank != NULL && i < world; i++) free(r.rank[i].why);
  free(r.poll);
  free(r.connection);
  free(r.rank);
  sigprocmask(SIG_SETMASK, &old, NULL);
  errno = code;
  return child > 0 ? 0 : -1;
}
