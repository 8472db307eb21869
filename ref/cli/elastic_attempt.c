/* One attempt of `zeroproof elastic`: a job, from its start until none of its processes is left. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/child.h"
#include "../base/clock.h"
#include "../comm/job/forward.h"
#include "../comm/job/remains.h"
#include "commands.h"
#include "elastic.h"

/* A job that is cancelled, or has stalled, has PATIENCE_S to report and end; what is left of it is
 * ended by SIGKILL, and is gone within GONE_S unless the kernel holds it. */
enum { PATIENCE_S = 45, GONE_S = 120 };
enum { SIGNALS = 0, OUTPUT = 1 };

typedef struct running {
  pid_t child;
  int report; /* read end of a pipe */
  struct pollfd poll[2];
  zp_forward output;
  double said;  /* when the job last printed */
  double limit; /* until SIGKILL; 0: none */
} running;

/* In the child: becomes `zeroproof launch`. */
static void become_launch(const zp_attempt_args *args, int out, int report, const sigset_t *mask)
{
  int argc = 0;
  while (args->argv[argc] != NULL) argc++;
  sigprocmask(SIG_SETMASK, mask, NULL);
  if (args->log >= 0 && dup2(args->log, STDERR_FILENO) < 0) _exit(ZP_EXIT_ENVIRONMENT);
  if (dup2(out, STDOUT_FILENO) < 0 || setenv(ZP_ELASTIC_VARIABLE, args->mark, 1) != 0)
    _exit(ZP_EXIT_ENVIRONMENT);
  close(out);
  zp_launch_report_to(report);
  exit(zp_cmd_launch(argc, args->argv, args->engine));
}

static int start(running *r, const zp_attempt_args *args, const sigset_t *mask)
{
  int out[2], report[2];
  if (pipe2(out, O_CLOEXEC) != 0) return -1;
  if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0) {
    close(out[0]);
    close(out[1]);
    return -1;
  }
  fflush(stdout);
  r->child = zp_child_fork(SIGTERM);
  const int reason = errno;
  if (r->child == 0) {
    close(out[0]);
    close(report[0]);
    become_launch(args, out[1], report[1], mask);
  }
  close(out[1]);
  close(report[1]);
  r->output = (zp_forward){.from = out[0]};
  r->report = report[0];
  errno = reason;
  return r->child < 0 ? -1 : 0;
}

/* Asks the job to end. */
static void end_job(running *r)
{
  if (r->limit > 0) return;
  kill(r->child, SIGTERM);
  r->limit = zp_clock_s() + PATIENCE_S;
}

/* Reads all pending signals; 1 if the child has ended. */
static int take_signals(running *r, zp_attempt *out)
{
  struct signalfd_siginfo s;
  while (read(r->poll[SIGNALS].fd, &s, sizeof s) == (ssize_t)sizeof s) {
    if (s.ssi_signo == SIGCHLD) continue;
    if (out->cancelled == 0) out->cancelled = (int)s.ssi_signo;
    end_job(r);
  }
  return waitpid(r->child, &out->status, WNOHANG) == r->child;
}

static int wait_ms(const running *r, double stall_s)
{
  const double until = r->limit > 0 ? r->limit : stall_s > 0 ? r->said + stall_s : 0;
  const double left = until - zp_clock_s();
  if (until <= 0) return -1;
  return left <= 0 ? 0 : left > 3600 ? 3600000 : (int)(left * 1e3) + 1;
}

static void attend(running *r, double stall_s, zp_attempt *out)
{
  for (;;) {
    r->poll[OUTPUT] = zp_forward_poll(&r->output);
    const int ready = poll(r->poll, 2, wait_ms(r, stall_s));
    const double now = zp_clock_s();
    if (ready > 0 && r->poll[OUTPUT].revents != 0) {
      zp_forward_some(&r->output);
      r->said = now;
    }
    if (take_signals(r, out)) return;
    if (r->limit > 0 && now >= r->limit) {
      kill(r->child, SIGKILL);
      r->limit = now + PATIENCE_S;
    } else if (r->limit <= 0 && stall_s > 0 && now >= r->said + stall_s) {
      out->stalled = 1;
      end_job(r);
    }
  }
}

/* What is still in the pipe: no process that writes to it is left. */
static void forward_rest(running *r)
{
  for (;;) {
    struct pollfd at = zp_forward_poll(&r->output);
    if (at.fd < 0 || poll(&at, 1, at.events == POLLIN ? 0 : 10000) <= 0) return;
    zp_forward_some(&r->output);
  }
}

static void describe(const running *r, double stall_s, zp_attempt *out)
{
  zp_launch_report report;
  if (read(r->report, &report, sizeof report) == (ssize_t)sizeof report) {
    out->lost = report.lost;
    out->host_lost = report.host_lost;
    snprintf(out->host, sizeof out->host, "%s", report.host);
    snprintf(out->text, sizeof out->text, "%s", report.text);
  }
  if (out->stalled)
    snprintf(out->text, sizeof out->text, "it printed nothing for %g s (--stall)", stall_s);
  else if (*out->text == 0 && WIFSIGNALED(out->status))
    snprintf(out->text, sizeof out->text, "zeroproof launch was ended by signal %d (%s)",
             WTERMSIG(out->status), strsignal(WTERMSIG(out->status)));
}

int zp_attempt_run(const zp_attempt_args *args, zp_attempt *out)
{
  running r = {.report = -1, .output = {.from = -1}};
  sigset_t old;
  memset(out, 0, sizeof *out);
  out->lost = -1;
  const int signals = zp_child_signals(&old);
  const int failed = signals < 0 || start(&r, args, &old) != 0;
  const int reason = errno;
  if (!failed) {
    r.poll[SIGNALS] = (struct pollfd){signals, POLLIN, 0};
    r.said = zp_clock_s();
    attend(&r, args->stall_s, out);
    zp_remains_end(ZP_ELASTIC_VARIABLE, args->mark, GONE_S, &out->ended, out->left,
                   sizeof out->left);
    forward_rest(&r);
    out->output_error = r.output.error;
    describe(&r, args->stall_s, out);
  }
  if (r.output.from >= 0) close(r.output.from);
  if (r.report >= 0) close(r.report);
  if (signals >= 0) close(signals);
  sigprocmask(SIG_SETMASK, &old, NULL);
  errno = reason;
  return failed ? -1 : 0;
}
