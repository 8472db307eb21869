/* spec: LEDG-7, STEP-5 */
#include "host_wait.h"

#include "../device/clock.h"
#include "../device/launch.h"
#include "../device/trace.h"

int zp_cuda_check_alarm(zp_cuda_rank *r, int any)
{
  const zp_cuda_host_channel *channel = &r->opt.host_channel;
  zp_alarm a;
  /* an error that all ranks agreed on leaves the communicators intact */
  if (zp_cuda_has_failed(r)) return r->failure.agreed ? 0 : -1;
  if (!channel->receive || !channel->receive(channel->ctx, &a)) return 0;
  if (a.step > zp_cuda_host_step(&r->progress) && !any) return 0;
  if (a.step == ZP_CUDA_STEP_UNKNOWN) return zp_cuda_fail_received(r, a.step, 0, "%s", a.text);
  /* a rank that has given up waits for a third one, so its earlier steps may not end */
  return zp_cuda_fail_received(r, a.step, a.status != ZP_E_PEER, "rank %d %s: %s", a.rank,
                               a.status == ZP_E_PEER ? "has given up" : "has failed", a.text);
}

/* NCCL may be faster than the other rank's own report, which gets a second to arrive. */
static int fail_for_peer(zp_cuda_rank *r, ncclResult_t state, const char *what)
{
  const uint64_t second = 1000000000u, limit = zp_cuda_time_limit(r);
  const uint64_t until = zp_cuda_now(r) + (limit < second ? limit : second);
  while (r->opt.host_channel.receive && zp_cuda_now(r) < until) {
    ZP_TRY(zp_cuda_check_alarm(r, 1));
    zp_cuda_pause(r);
  }
  return zp_cuda_fail(r, ZP_E_PEER, "NCCL reports error %d at %s: another rank has failed",
                      (int)state, what);
}

int zp_cuda_check_nccl(zp_cuda_rank *r, ncclResult_t result, const char *call)
{
  if (result == ncclSuccess || result == ncclInProgress) return 0;
  if (result == ncclRemoteError) return fail_for_peer(r, result, call);
  return zp_cuda_fail(r, ZP_E_DEVICE, "NCCL error %d from %s", (int)result, call);
}

static int check_comm(zp_cuda_rank *r, ncclComm_t comm, const char *what)
{
  ncclResult_t state = ncclSuccess;
  if (!comm) return 0;
  ZP_NCCL(r, ncclCommGetAsyncError(comm, &state));
  return state == ncclSuccess || state == ncclInProgress ? 0 : fail_for_peer(r, state, what);
}

int zp_cuda_check_async_errors(const zp_cuda_comms *c, const char *what)
{
  ZP_TRY(zp_cuda_check_alarm(c->r, 0));
  for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) ZP_TRY(check_comm(c->r, c->group[g], what));
  for (int32_t k = 0; k < c->r->plan.cfg->tied_keys; k++)
    ZP_TRY(check_comm(c->r, c->tied[k], what));
  return 0;
}

/* Between two polls of a wait. */
static int pause_or_fail(zp_cuda_rank *r, uint64_t deadline, const char *what)
{
  const int late = zp_cuda_now(r) > deadline;
  ZP_TRY(zp_cuda_check_alarm(r, late));
  if (late)
    return zp_cuda_fail(r, ZP_E_PEER,
                        "no end of %s before the deadline: a rank is stuck, gone, or has failed",
                        what);
  zp_cuda_pause(r);
  return 0;
}

int zp_cuda_wait_until_complete(zp_cuda_rank *r, ncclComm_t comm, const char *what)
{
  const uint64_t deadline = zp_cuda_deadline(r);
  ncclResult_t state = ncclInProgress;
  for (;;) {
    ZP_NCCL(r, ncclCommGetAsyncError(comm, &state));
    if (state == ncclSuccess) return 0;
    if (state != ncclInProgress) return fail_for_peer(r, state, what);
    ZP_TRY(pause_or_fail(r, deadline, what));
  }
}

int zp_cuda_host_wait(const zp_cuda_comms *c, int32_t sync_point, cudaEvent_t event,
                      const char *what)
{
  const uint64_t deadline = zp_cuda_deadline(c->r);
  zp_cuda_action a = {.kind = ZP_CUDA_HOST_WAIT, .sync_point = sync_point, .event = event};
  if (zp_cuda_intercepted(c->r, &a)) return 0;
  for (int32_t waited = 0;; waited = 1) {
    const cudaError_t state = cudaEventQuery(a.event);
    if (state == cudaSuccess) {
      zp_cuda_synced(c->r, &a, waited);
      return 0;
    }
    if (state != cudaErrorNotReady) return zp_cuda_check(c->r, state, "cudaEventQuery");
    ZP_TRY(zp_cuda_check_async_errors(c, what));
    ZP_TRY(pause_or_fail(c->r, deadline, what));
  }
}
