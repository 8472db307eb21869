#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127 }; /* as a shell's */

pid_t zp_child_fork(int on_end)
{
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  /* the parent may have ended before prctl: then no signal comes */
  if (prctl(PR_SET_PDEATHSIG, on_end) != 0 || getppid() != parent) _exit(NOT_STARTED);
  return 0;
}

int zp_child_signals(sigset_t *before)
{
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGHUP);
  sigaddset(&mask, SIGINT);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, before);
  return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void start(char *const argv[], int in, int out)
{
  const int null = open("/dev/null", O_RDWR), nowhere = fcntl(null, F_DUPFD_CLOEXEC, 3);
  if (in < 0) in = nowhere;
  if (nowhere < 3 || in < 3 || out < 3 || dup2(in, 0) != 0 || dup2(out, 1) != 1 ||
      dup2(nowhere, 2) != 2)
    _exit(NOT_STARTED);
  execvp(argv[0], argv);
  _exit(NOT_STARTED);
}

/* Ends the group: this process, the program, and all that it has started. */
static void end_group(int number)
{
  (void)number;
  kill(0, SIGKILL);
}

/* The leader of a group of its own waits for the program, and ends the group with the parent. A
 * signal that only the program received would leave alive what the program has started. */
static void lead(char *const argv[], int in, const int end[2], unsigned seconds_max)
{
  const struct sigaction ends = {.sa_handler = end_group};
  sigset_t all;
  int status = 0;
  sigemptyset(&all);
  if (setpgid(0, 0) != 0 || sigaction(SIGTERM, &ends, NULL) != 0 ||
      sigaction(SIGALRM, &ends, NULL) != 0)
    _exit(NOT_STARTED);
  sigprocmask(SIG_SETMASK, &all, NULL);
  alarm(seconds_max);
  const pid_t program = fork();
  if (program == 0) start(argv, in, end[1]);
  close(end[0]);
  close(end[1]);
  while (program > 0 && waitpid(program, &status, 0) != program)
    if (errno != EINTR) _exit(NOT_STARTED);
  _exit(program > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : NOT_STARTED);
}

/* Both ends of a pipe, none of them in the place of a standard stream that is closed. */
static int make_pipe(int end[2])
{
  int low[2];
  if (pipe2(low, O_CLOEXEC) != 0) return -1;
  for (int i = 0; i < 2; i++) end[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
  for (int i = 0; i < 2; i++) close(low[i]);
  if (end[0] >= 0 && end[1] >= 0) return 0;
  for (int i = 0; i < 2; i++)
    if (end[i] >= 0) close(end[i]);
  return -1;
}

int zp_child_open(zp_child *c, char *const argv[], int in, unsigned seconds_max)
{
  int end[2];
  *c = (zp_child){NULL, -1};
  if (make_pipe(end) != 0) return -1;
  fflush(NULL);
  c->pid = zp_child_fork(SIGTERM);
  if (c->pid == 0) lead(argv, in, end, seconds_max);
  const int code = errno;
  close(end[1]);
  if (c->pid > 0) c->stream = fdopen(end[0], "r");
  if (c->stream != NULL) return 0;
  close(end[0]);
  errno = code;
  if (c->pid > 0) zp_child_close(c);
  return -1;
}

int zp_child_close(zp_child *c)
{
  int status = 0;
  if (c->stream != NULL) fclose(c->stream);
  c->stream = NULL;
  if (c->pid <= 0) return -1;
  while (waitpid(c->pid, &status, 0) != c->pid)
    if (errno != EINTR) return -1;
  c->pid = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int zp_child_read_line(zp_child *c, char *text, size_t cap)
{
  size_t n = 0;
  int ch, first = 1;
  while ((ch = getc(c->stream)) != EOF) { /* to the end: the program gets no broken pipe */
    if (ch == '\n' || ch == '\r') first = 0;
    if (first && n + 1 < cap) text[n++] = (char)ch;
  }
  if (cap > 0) text[n] = 0;
  return zp_child_close(c);
}
