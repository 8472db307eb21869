/* spec: STRM-5 */
#define _POSIX_C_SOURCE 200809L
#include "order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/launch.h"
#include "../device/memory.h"
#include "host_wait.h"

static const char variable[] = "NCCL_LAUNCH_ORDER_IMPLICIT";

static int is_one(const char *value)
{
  return value && strcmp(value, "1") == 0;
}

/* 1: the process was started with the variable, so that NCCL has read it, whenever that was. The
 * environment's present value may have been set after NCCL read it. */
static int started_with_it(void)
{
  const char want[] = "NCCL_LAUNCH_ORDER_IMPLICIT=1";
  size_t at = 0; /* bytes of the current entry that match; beyond all: it differs */
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
static int nccl_keeps_order(const zp_cuda_rank *r)
{
  const char *now = getenv(variable);
  if (now && !is_one(now)) return 0; /* the user does not want it */
  if (!r->opt.first_nccl) return now && started_with_it();
  return now || setenv(variable, "1", 1) == 0;
}

int zp_cuda_order_open(zp_cuda_order *o)
{
  int version = 0, kept;
  ZP_TRY(zp_cuda_create_event(o->r, &o->communicated));
  /* one stage communicates on one stream, unless gathers have their own */
  if (o->r->plan.cfg->pp == 1 && !o->r->opt.partial_gather) return 0;
  kept = nccl_keeps_order(o->r);
  ZP_NCCL(o->r, ncclGetVersion(&version));
  o->by_events = !kept || version < NCCL_VERSION(2, 26, 0);
  return 0;
}

void zp_cuda_order_close(const zp_cuda_order *o)
{
  zp_cuda_destroy_event(o->communicated);
}

int zp_cuda_order_begin(const zp_cuda_order *o, cudaStream_t stream)
{
  if (!o->by_events || !o->last || o->last == stream) return 0;
  return zp_cuda_wait(o->r, ZP_SYNC_ORDER_WAIT, stream, o->communicated);
}

/* The position of the device in the program, for error messages. */
static int mark(zp_cuda_rank *r, cudaStream_t stream)
{
  const int32_t lane = zp_cuda_progress_lane(&r->progress, stream);
  CUresult result;
  if (lane < 0)
    return zp_cuda_fail(r, ZP_E_REFUSED, "communication on more than %d streams", ZP_CUDA_LANES);
  result = zp_cuda_progress_mark(&r->progress, lane);
  if (result == CUDA_SUCCESS) return 0;
  return zp_cuda_fail(r, ZP_E_DEVICE, "CUDA driver error %d from cuStreamWriteValue32",
                      (int)result);
}

int zp_cuda_order_end(zp_cuda_order *o, ncclComm_t comm, cudaStream_t stream)
{
  zp_cuda_action a = {.kind = ZP_CUDA_ENQUEUE, .comm = comm, .stream = stream};
  if (!zp_cuda_intercepted(o->r, &a))
    ZP_TRY(zp_cuda_wait_until_complete(o->r, comm, "the launch of a communication"));
  ZP_TRY(mark(o->r, stream));
  o->last = stream;
  return o->by_events ? zp_cuda_record(o->r, ZP_SYNC_ORDER_RECORD, o->communicated, stream) : 0;
}
