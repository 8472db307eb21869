/* The order of communications on the device.
 *
 * Two communications on two streams may begin in another order on another rank's device, and wait
 * for each other for ever where a device runs one at a time. So each begins after the one before it
 * in the program, which has the same order on all ranks (PIPE-5): NCCL sees to it where it was told
 * to in time, else an event does. spec: STRM-5 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

static const char variable[] = "NCCL_LAUNCH_ORDER_IMPLICIT";

static int is_one(const char *value)
{
  return value && strcmp(value, "1") == 0;
}

/* 1: the process was started with the variable, so that NCCL has read it, whenever that was. What
 * the environment says now may have been set after NCCL had looked. */
static int started_with_it(void)
{
  const char want[] = "NCCL_LAUNCH_ORDER_IMPLICIT=1";
  size_t at = 0; /* bytes of the current entry that are as wanted; beyond all: it differs */
  int c, found = 0;
  FILE *f = fopen("/proc/self/environ", "r");
  if (!f) return 0;
  while (!found && (c = getc(f)) != EOF) {
    if (c == 0) at = 0;
    else at = at < sizeof want && c == want[at] ? at + 1 : sizeof want;
    if (at == sizeof want - 1) {
      c = getc(f); /* the entry's end, too */
      found = c == 0 || c == EOF;
      at = sizeof want;
    }
  }
  fclose(f);
  return found;
}

/* 1: NCCL has read, or is going to read, the variable as 1. */
static int is_told(zp_cuda *e)
{
  const char *now = getenv(variable);
  if (zp_cuda_planted(e, ZP_PLANT_ORDER_LATE)) {
    ncclUniqueId unused;
    ncclGetUniqueId(&unused);
    return setenv(variable, "1", 1) == 0;
  }
  if (now && !is_one(now)) return 0; /* somebody does not want it */
  if (!e->opt.first_nccl) return now && started_with_it();
  return now || setenv(variable, "1", 1) == 0;
}

/* Before the engine's first call of NCCL, which may be the process's first. */
int zp_cuda_open_order(zp_cuda *e)
{
  int version = 0, told;
  if (e->cfg->pp == 1) return 0; /* one stage communicates on one stream */
  told = is_told(e);
  ZP_NCCL(e, ncclGetVersion(&version));
  e->chained = !told || version < NCCL_VERSION(2, 26, 0);
  return 0;
}

int zp_cuda_comm_begin(zp_cuda *e, cudaStream_t stream)
{
  if (!e->chained || !e->last || e->last == stream) return 0;
  return zp_cuda_wait(e, ZP_SITE_ORDER_WAIT, stream, e->communicated);
}

int zp_cuda_comm_end(zp_cuda *e, ncclComm_t comm, cudaStream_t stream)
{
  if (!zp_cuda_planted(e, ZP_PLANT_UNSETTLED) || stream != e->p2p)
    ZP_TRY(zp_cuda_settle(e, comm, "the launch of a communication"));
  ZP_TRY(zp_cuda_mark_comm(e, stream));
  e->last = stream;
  return e->chained ? zp_cuda_record(e, ZP_SITE_ORDER_RECORD, e->communicated, stream) : 0;
}
