/* spec: STEP-3, STEP-5, LEDG-7 */
#include "teardown.h"

#include <stdio.h>

#include "device/clock.h"
#include "parts.h"

/* 1: queued work cannot run any more: the step that failed is the device's, not the host's. */
static int is_lost(const zp_cuda_rank *r)
{
  const cudaError_t state = r->reduce ? cudaStreamQuery(r->reduce) : cudaSuccess;
  return state != cudaSuccess && state != cudaErrorNotReady;
}

/* The steps before `first`. If the host is past the step after that, the event has been recorded
 * again, for a step that may never end; but then the host has waited for its earlier record. */
static void drain_earlier_steps(const zp_cuda *e, int64_t first)
{
  const zp_cuda_position *host = &e->rank.progress.host;
  if (host->ready && first >= 0 && host->step < first + ZP_CUDA_FLIGHT)
    zp_cuda_drain_event(&e->rank, zp_cuda_step_end(&e->steps, first - 1));
}

static void send_alarm(const zp_cuda_rank *r, int64_t first)
{
  zp_alarm alarm = {r->opt.rank, r->failure.first.status, first, ""};
  if (!r->opt.host_channel.send) return;
  snprintf(alarm.text, sizeof alarm.text, "%.*s", ZP_ALARM_TEXT - 1, r->failure.first.text);
  r->opt.host_channel.send(r->opt.host_channel.ctx, &alarm);
}

/* first: the step that failed, which no rank can end. All ranks have issued those before it. */
static void stop(zp_cuda *e, int64_t first, int drains)
{
  zp_cuda_progress *p = &e->rank.progress;
  int64_t device;
  if (drains) drain_earlier_steps(e, first);
  device = zp_cuda_device_step(p);
  zp_cuda_close_gate(p, device < first ? device : first);
  zp_cuda_comms_abort(&e->comms);
}

/* A rank that fails for another's fault waits for no step: its device may be behind the one that
 * failed there. The step whose hyperparameters differ is the last one that all ranks have issued:
 * ranks that waited for it sooner have issued no other. */
void zp_cuda_tear_down(zp_cuda *e)
{
  zp_cuda_rank *r = &e->rank;
  zp_cuda_failure *f = &r->failure;
  const int peer = f->first.status == ZP_E_PEER;
  int64_t first;
  if (!zp_cuda_has_failed(r) || f->agreed || f->torn_down) return;
  f->torn_down = 1;
  if (f->received) {
    first = f->step == ZP_CUDA_STEP_UNKNOWN ? zp_cuda_device_step(&r->progress) : f->step;
    stop(e, first, f->drains);
    return;
  }
  first = f->differs           ? f->step
          : peer || is_lost(r) ? zp_cuda_device_step(&r->progress)
                               : zp_cuda_host_step(&r->progress);
  send_alarm(r, first);
  stop(e, first, !peer);
}
