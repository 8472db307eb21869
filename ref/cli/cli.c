#define _GNU_SOURCE
#include "cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../base/error.h"
#include "../comm/job/job.h"

int zp_cli_speaks(void)
{
  zp_error err = {0};
  zp_job job;
  return zp_job_read(&job, &err) != 0 || job.rank == 0 || job.local_rank == 0;
}

/* mpirun ends a job when its first process fails: that one shall be one that speaks. */
static void let_others_speak(int status, void *unused)
{
  const struct timespec most = {1, 0};
  (void)unused;
  if (status == ZP_EXIT_REFUSED) nanosleep(&most, NULL);
}

/* argp and getopt print to standard error, and exit, by themselves. */
int zp_cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
  const int nowhere = zp_cli_speaks() ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int own = nowhere < 0 ? -1 : dup(STDERR_FILENO);
  argp_err_exit_status = ZP_EXIT_REFUSED;
  if (!zp_cli_speaks()) on_exit(let_others_speak, NULL);
  if (own >= 0) dup2(nowhere, STDERR_FILENO);
  const int code = argp_parse(argp, argc, argv, 0, NULL, input) == 0 ? 0 : ZP_EXIT_REFUSED;
  if (own >= 0) dup2(own, STDERR_FILENO);
  if (own >= 0) close(own);
  if (nowhere >= 0) close(nowhere);
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
