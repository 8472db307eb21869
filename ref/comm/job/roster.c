/* Each word travels on a connection of its own, which the process leaves open after HERE: the
 * kernel closes it when the process ends, however it ends. */
#define _GNU_SOURCE
#include "roster.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/child.h"
#include "../../base/clock.h"
#include "forward.h"

enum { NOT_STARTED = 3, SIGNALS = 0, OUTPUT = 1, LISTENER = 2, FIXED = 3, SHOWN = 8 };

/* What is known of a rank. turn: of the loop in which it ended; 0: not yet. */
typedef struct entry {
  pid_t pid; /* 0: it never reported */
  int64_t turn;
  int32_t joined, leaves, fd; /* fd: its connection since HERE, else -1 */
} entry;

typedef struct roster {
  entry *rank; /* [world]; NULL: no list is kept */
  int32_t world, n, cap;
  struct pollfd *poll; /* [cap]: SIGNALS, OUTPUT, LISTENER, then n - FIXED connections */
  int64_t turn;
  zp_forward output; /* the command's standard output */
} roster;

typedef struct word {
  int32_t rank, what;
} word;

static socklen_t address_of(const char *name, struct sockaddr_un *at)
{
  memset(at, 0, sizeof *at);
  at->sun_family = AF_UNIX; /* abstract: the 0 before the name */
  snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "%s", name);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at->sun_path + 1));
}

/* ---- In a rank ------------------------------------------------------------------------------- */

void zp_roster_report(zp_roster_word what)
{
  const char *name = getenv(ZP_ROSTER_VARIABLE), *rank = getenv("OMPI_COMM_WORLD_RANK");
  const struct timeval second = {1, 0};
  struct sockaddr_un at;
  word w = {rank != NULL ? atoi(rank) : -1, what};
  if (name == NULL || rank == NULL) return;
  const socklen_t length = address_of(name, &at);
  /* stays open in a program that this one becomes */
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | (what == ZP_ROSTER_HERE ? 0 : SOCK_CLOEXEC), 0);
  if (fd < 0) return;
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second); /* of connect, too */
  if (connect(fd, (struct sockaddr *)&at, length) == 0 &&
      send(fd, &w, sizeof w, MSG_NOSIGNAL) == (ssize_t)sizeof w && what == ZP_ROSTER_HERE)
    return; /* open until the process ends */
  close(fd);
}

/* ---- In the launcher ------------------------------------------------------------------------- */

/* Listens under a random name and puts it into the environment; -1: no list. */
static int listen_for(roster *r)
{
  struct sockaddr_un at;
  uint64_t random[2];
  char name[64];
  int fd;
  r->rank = calloc((size_t)r->world, sizeof *r->rank);
  for (int32_t i = 0; r->rank != NULL && i < r->world; i++) r->rank[i].fd = -1;
  if (r->rank == NULL || getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return -1;
  snprintf(name, sizeof name, "zeroproof-launch-%016llx%016llx", (unsigned long long)random[0],
           (unsigned long long)random[1]);
  const socklen_t length = address_of(name, &at);
  fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && bind(fd, (struct sockaddr *)&at, length) == 0 && listen(fd, SOMAXCONN) == 0 &&
      setenv(ZP_ROSTER_VARIABLE, name, 1) == 0)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* A connection of another user is closed; so is one beyond two of each rank, and some. */
static void accept_one(roster *r)
{
  struct ucred who;
  socklen_t n = sizeof who;
  const int fd = accept4(r->poll[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (r->n == r->cap || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0 ||
      who.uid != geteuid()) {
    close(fd);
    return;
  }
  r->poll[r->n++] = (struct pollfd){fd, POLLIN, 0};
}

static void take_word(roster *r, int fd, const word *w)
{
  struct ucred who;
  socklen_t n = sizeof who;
  if (w->rank < 0 || w->rank >= r->world) return;
  entry *e = &r->rank[w->rank];
  if (w->what == ZP_ROSTER_JOINED) e->joined = 1;
  if (w->what == ZP_ROSTER_LEAVES) e->leaves = 1;
  if (w->what != ZP_ROSTER_HERE || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0) return;
  *e = (entry){.pid = who.pid, .fd = fd};
}

/* Connection i, which is readable: a word, or its end. Returns 1 if it was removed. */
static int hear(roster *r, int32_t i)
{
  const int fd = r->poll[i].fd;
  word w;
  const ssize_t n = recv(fd, &w, sizeof w, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n == (ssize_t)sizeof w) {
    take_word(r, fd, &w);
    return 0;
  }
  for (int32_t k = 0; k < r->world; k++)
    if (r->rank[k].fd == fd) {
      r->rank[k].fd = -1;
      r->rank[k].turn = r->turn;
    }
  close(fd);
  r->poll[i] = r->poll[--r->n];
  return 1;
}

/* All that there is to accept and to read now. */
static void hear_all(roster *r)
{
  int32_t before;
  do {
    before = r->n;
    accept_one(r);
  } while (r->n > before);
  for (int32_t i = FIXED; i < r->n;) i += !hear(r, i);
}

/* ---- Which rank ------------------------------------------------------------------------------ */

/* The ranks that ended first without LEAVES, and those that never reported: one of them is the
 * rank that the signal ended. Each of the others reports why it leaves, or is ended by mpirun
 * seconds later. */
static void find_ended(const roster *r, int local, int number, zp_roster_result *out)
{
  int64_t first = INT64_MAX;
  int32_t n = 0, joined = 0;
  int used = 0;
  for (int32_t k = 0; k < r->world; k++) {
    const entry *e = &r->rank[k];
    if (e->turn > 0 && !e->leaves && e->turn < first) first = e->turn;
  }
  for (int32_t k = 0; k < r->world; k++) {
    const entry *e = &r->rank[k];
    char pid[32] = "it had not reported yet";
    if (e->pid == 0 ? !local || e->leaves : e->turn != first || e->leaves) continue;
    if (e->pid != 0) snprintf(pid, sizeof pid, "pid %ld", (long)e->pid);
    if (n == 0) out->lost = k;
    if (n++ < SHOWN)
      used += snprintf(out->ended + used, sizeof out->ended - (size_t)used, "%srank %d (%s)",
                       n > 1 ? " or " : "", (int)k, pid);
    joined += e->joined;
  }
  if (n > SHOWN)
    used += snprintf(out->ended + used, sizeof out->ended - (size_t)used, " or %d others",
                     (int)(n - SHOWN));
  if (n == 0)
    used = snprintf(out->ended, sizeof out->ended,
                    "a rank on another host, or one whose start "
                    "failed,");
  const char *when = joined > 0 || n == 0 ? "" : " before it joined MPI";
  if (number > 0)
    snprintf(out->ended + used, sizeof out->ended - (size_t)used, " was ended by signal %d (%s)%s",
             number, strsignal(number), when);
  else
    snprintf(out->ended + used, sizeof out->ended - (size_t)used,
             " has ended without a report%s, and mpirun did not notice", when);
}

/* ---- Running --------------------------------------------------------------------------------- */

static pid_t start(roster *r, char *const argv[], const sigset_t *mask)
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
static int take_signals(const roster *r, pid_t child, zp_roster_result *out)
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

/* 1: ranks have reported, and all that did have ended. */
static int all_ended(const roster *r)
{
  int32_t ended = 0;
  for (int32_t k = 0; k < r->world; k++) {
    if (r->rank[k].fd >= 0) return 0;
    ended += r->rank[k].turn > 0;
  }
  return ended > 0;
}

static void attend(roster *r, pid_t child, double patience_s, zp_roster_result *out)
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
    if (due && limit <= 0 && !out->killed) limit = zp_clock_s() + patience_s;
    if (!due) limit = 0;
  }
  r->turn++;
  for (int32_t i = 0; r->rank != NULL && i < 2; i++) hear_all(r); /* new ones, then their words */
}

/* Forwards what the command had written when it ended. A reader that does not read is waited for,
 * unless the job was cancelled. */
static void forward_rest(roster *r, zp_roster_result *out)
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

static void conclude(const roster *r, int local, zp_roster_result *out)
{
  const int code = WIFEXITED(out->status) ? WEXITSTATUS(out->status) : 0;
  out->began = r->rank == NULL;
  for (int32_t k = 0; r->rank != NULL && k < r->world; k++) out->began |= r->rank[k].joined;
  /* as a shell, mpirun returns 128 + the signal that ended the first rank */
  if (r->rank == NULL || out->cancelled != 0) return;
  if (code > 128 && code <= 128 + SIGRTMAX) find_ended(r, local, code - 128, out);
  else if (out->killed) find_ended(r, local, 0, out);
}

int zp_roster_run(char *const argv[], int32_t world, int local, double patience_s,
                  zp_roster_result *out)
{
  roster r = {.world = world, .n = FIXED, .cap = 2 * world + 16, .output.from = -1};
  sigset_t mask, old;
  pid_t child = -1;
  *out = (zp_roster_result){.lost = -1};
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGHUP);
  sigaddset(&mask, SIGINT);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, &old);
  const int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  const int listener = listen_for(&r);
  if (listener < 0) {
    free(r.rank);
    r.rank = NULL;
  }
  r.poll = calloc((size_t)r.cap, sizeof *r.poll);
  if (signals >= 0 && r.poll != NULL) child = start(&r, argv, &old);
  const int code = errno;
  if (child > 0) {
    r.poll[SIGNALS] = (struct pollfd){signals, POLLIN, 0};
    r.poll[LISTENER] = (struct pollfd){listener, POLLIN, 0};
    attend(&r, child, patience_s, out);
    forward_rest(&r, out);
    out->output_error = r.output.error;
    conclude(&r, local, out);
    for (int32_t i = FIXED; i < r.n; i++) close(r.poll[i].fd);
  }
  if (r.output.from >= 0) close(r.output.from);
  if (listener >= 0) close(listener);
  if (signals >= 0) close(signals);
  free(r.poll);
  free(r.rank);
  sigprocmask(SIG_SETMASK, &old, NULL);
  errno = code;
  return child > 0 ? 0 : -1;
}
