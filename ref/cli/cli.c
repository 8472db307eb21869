#define _GNU_SOURCE
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/error.h"
#include "../comm/job/local_ranks.h"
#include "../comm/job/roster.h"

/* How long a refusal is left to a process with the same arguments, which takes milliseconds for it,
 * on a busy machine longer; and to one that has ended or not begun. */
static const double same_s = 30, other_s = 5;

/* One of several processes of a job. */
static int read_job(zp_job *job)
{
  zp_error err = {0};
  return zp_job_read(job, &err) == 0 && job->world > 1;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

/* text: without "COMMAND: ". Each is one write, so that those of several processes do not mix. */
static void report(const char *command, const char *text)
{
  zp_job job;
  zp_roster_report(ZP_ROSTER_LEAVES, text, ZP_ROSTER_NO_CULPRIT); /* for the launcher's last line */
  if (!read_job(&job) || job.rank == 0) {
    fprintf(stderr, "%s: %s", command, text);
    return;
  }
  if (job.local_rank > 0) zp_local_ranks_await(&job, same_s, other_s);
  fprintf(stderr, "%s: rank %d: %s", command, (int)job.rank, text);
}

int zp_cli_refuse(const char *command, const char *format, ...)
{
  char *text = NULL, *line = NULL;
  va_list ap;
  va_start(ap, format);
  const int n = vasprintf(&text, format, ap);
  va_end(ap);
  if (n >= 0 && asprintf(&line, "%s\n", text) >= 0) report(command, line);
  else fprintf(stderr, "%s: no memory\n", command);
  if (n >= 0) free(text);
  free(line);
  return ZP_EXIT_REFUSED;
}

/* ---- Parsing --------------------------------------------------------------------------------- */

/* mpirun ends a job when its first process fails: that one shall be one that speaks. */
static void let_others_speak(int status, void *unused)
{
  const struct timespec most = {1, 0};
  (void)unused;
  if (status == ZP_EXIT_REFUSED) nanosleep(&most, NULL);
}

/* What argp and getopt print. */
typedef struct captured {
  const char *command;
  FILE *old; /* standard error; NULL: nothing is captured */
  char *text;
  size_t n;
} captured;

static void release(captured *c)
{
  const size_t command = strlen(c->command);
  FILE *stream = stderr;
  if (c->old == NULL) return;
  stderr = c->old;
  c->old = NULL;
  if (fclose(stream) != 0 || c->n == 0) return;
  const int named =
      strncmp(c->text, c->command, command) == 0 && strncmp(c->text + command, ": ", 2) == 0;
  report(c->command, c->text + (named ? command + 2 : 0));
  free(c->text);
}

static void release_at_exit(int status, void *c)
{
  (void)status;
  release(c);
}

/* argp and getopt print to standard error, and exit, by themselves. */
int zp_cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
  static captured c;
  zp_job job;
  argp_err_exit_status = ZP_EXIT_REFUSED;
  if (read_job(&job) && job.rank > 0) {
    if (job.local_rank > 0) on_exit(let_others_speak, NULL);
    c.command = argv[0];
    FILE *stream = open_memstream(&c.text, &c.n);
    if (stream != NULL) {
      c.old = stderr;
      stderr = stream;
      on_exit(release_at_exit, &c);
    }
  }
  const int code = argp_parse(argp, argc, argv, 0, NULL, input) == 0 ? 0 : ZP_EXIT_REFUSED;
  if (c.command != NULL) release(&c);
  return code;
}

int zp_exit_of(int32_t status)
{
  switch (status) {
  case ZP_OK: return ZP_EXIT_GOOD;
  case ZP_E_REFUSED: return ZP_EXIT_REFUSED;
  case ZP_E_MEMORY:
  case ZP_E_PEER:
  case ZP_E_DEVICE:
  case ZP_E_FILE: return ZP_EXIT_ENVIRONMENT;
  default: return ZP_EXIT_VERDICT;
  }
}
