/* Communicators: made, waited for, aborted, ended. spec: LEDG-4, LEDG-7 */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine_internal.h"

/* ---- Waiting on the host --------------------------------------------------------------------- */

uint64_t zp_cuda_now(const zp_cuda *e)
{
  struct timespec t;
  if (e->opt.now_ns) return e->opt.now_ns();
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t zp_cuda_patience(const zp_cuda *e)
{
  const uint64_t ten_minutes = (uint64_t)600 * 1000000000u;
  return e->opt.deadline_ns ? e->opt.deadline_ns : ten_minutes;
}

static uint64_t deadline_of(const zp_cuda *e)
{
  return zp_cuda_now(e) + zp_cuda_patience(e);
}

static void take_breath(const zp_cuda *e)
{
  if (e->opt.pause) e->opt.pause();
  else sched_yield();
}

static int turn(zp_cuda *e, uint64_t deadline, const char *what)
{
  const int late = zp_cuda_now(e) > deadline;
  ZP_TRY(zp_cuda_heed(e, late));
  if (late)
    return zp_cuda_fail(e, ZP_CUDA_E_PEER,
                        "no end of %s before the deadline: a rank is stuck, gone, or has failed",
                        what);
  take_breath(e);
  return 0;
}

/* NCCL may be faster than what the other rank has told: that is given a second. */
int zp_cuda_peer_failed(zp_cuda *e, ncclResult_t state, const char *what)
{
  const uint64_t second = 1000000000u, patience = zp_cuda_patience(e);
  const uint64_t until = zp_cuda_now(e) + (patience < second ? patience : second);
  while (e->opt.outside.hear && zp_cuda_now(e) < until) {
    ZP_TRY(zp_cuda_heed(e, 1));
    take_breath(e);
  }
  return zp_cuda_fail(e, ZP_CUDA_E_PEER, "NCCL reports error %d at %s: another rank has failed",
                      (int)state, what);
}

int zp_cuda_settle(zp_cuda *e, ncclComm_t comm, const char *what)
{
  const uint64_t deadline = deadline_of(e);
  ncclResult_t state = ncclInProgress;
  for (;;) {
    ZP_NCCL(e, ncclCommGetAsyncError(comm, &state));
    if (state == ncclSuccess) return 0;
    if (state != ncclInProgress) return zp_cuda_peer_failed(e, state, what);
    ZP_TRY(turn(e, deadline, what));
  }
}

static int errors_of(zp_cuda *e, ncclComm_t comm, const char *what)
{
  ncclResult_t state = ncclSuccess;
  if (!comm) return 0;
  ZP_NCCL(e, ncclCommGetAsyncError(comm, &state));
  return state == ncclSuccess || state == ncclInProgress ? 0 : zp_cuda_peer_failed(e, state, what);
}

int zp_cuda_look(zp_cuda *e, const char *what)
{
  ZP_TRY(zp_cuda_heed(e, 0));
  for (int32_t g = 0; g < ZP_GROUPS; g++) ZP_TRY(errors_of(e, e->comm[g], what));
  for (int32_t k = 0; k < e->cfg->tied_keys; k++) ZP_TRY(errors_of(e, e->tied[k], what));
  return 0;
}

int zp_cuda_host_wait(zp_cuda *e, int32_t site, cudaEvent_t event, const char *what)
{
  const uint64_t deadline = deadline_of(e);
  if (e->opt.fault && zp_cuda_left_out(e, site)) return 0;
  for (int32_t waited = 0;; waited = 1) {
    const cudaError_t state = cudaEventQuery(event);
    if (state == cudaSuccess) {
      if (e->opt.synced) e->opt.synced(e->opt.issued_ctx, site, event, waited);
      return 0;
    }
    if (state != cudaErrorNotReady) return zp_cuda_check(e, state, "cudaEventQuery");
    ZP_TRY(zp_cuda_look(e, what));
    ZP_TRY(turn(e, deadline, what));
  }
}

int zp_cuda_let_end(zp_cuda *e, cudaEvent_t event)
{
  const uint64_t deadline = deadline_of(e);
  cudaError_t state = cudaErrorNotReady;
  while (zp_cuda_now(e) < deadline && (state = cudaEventQuery(event)) == cudaErrorNotReady)
    take_breath(e);
  return state == cudaSuccess;
}

int zp_cuda_let_rest(zp_cuda *e, cudaStream_t stream)
{
  const uint64_t deadline = deadline_of(e);
  cudaError_t state = cudaErrorNotReady;
  while (zp_cuda_now(e) < deadline && (state = cudaStreamQuery(stream)) == cudaErrorNotReady)
    take_breath(e);
  return state != cudaErrorNotReady; /* nothing runs in a context that is lost */
}

/* ---- Making ---------------------------------------------------------------------------------- */

int zp_cuda_world(zp_cuda *e)
{
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId id;
  memset(&id, 0, sizeof id);
  if (e->opt.rank == 0) ZP_NCCL(e, ncclGetUniqueId(&id));
  if (e->opt.exchange(e->opt.exchange_ctx, e->opt.rank, &id, sizeof id))
    return zp_cuda_fail(e, ZP_CUDA_E_PEER, "the id of the world's communicator was not exchanged");
  config.blocking = 0;
  config.commName = "world";
  ZP_NCCL(e, ncclCommInitRankConfig(&e->comm[ZP_GROUP_WORLD], zp_world(e->cfg), id, e->opt.rank,
                                    &config));
  return zp_cuda_settle(e, e->comm[ZP_GROUP_WORLD], "the making of the world's communicator");
}

/* Every rank splits, members or not: first the parent must have done its part, then the child is
 * there to be asked. */
int zp_cuda_create(zp_cuda *e, const zp_op *op)
{
  ncclComm_t *to = op->root == ZP_GROUP_TIED ? &e->tied[op->key] : &e->comm[op->root];
  const int32_t id = zp_group_id(e->cfg, op->root, op->key, e->at);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ZP_NCCL(e, ncclCommSplit(e->comm[ZP_GROUP_WORLD], id < 0 ? NCCL_SPLIT_NOCOLOR : id, e->opt.rank,
                           to, &config));
  ZP_TRY(zp_cuda_settle(e, e->comm[ZP_GROUP_WORLD], "the splitting of the world"));
  return *to ? zp_cuda_settle(e, *to, "the making of a communicator") : 0;
}

ncclComm_t zp_cuda_comm(const zp_cuda *e, const zp_op *op)
{
  return op->group == ZP_GROUP_TIED ? e->tied[op->key] : e->comm[op->group];
}

ncclDataType_t zp_cuda_dtype(int32_t dtype)
{
  switch (dtype) {
  case ZP_F32: return ncclFloat32;
  case ZP_BF16: return ncclBfloat16;
  case ZP_F16: return ncclFloat16;
  case ZP_I32: return ncclInt32;
  default: return ncclInt64;
  }
}

/* ---- Ending ---------------------------------------------------------------------------------- */

/* Children before the world. */
static ncclComm_t *nth(zp_cuda *e, int32_t i)
{
  return i < e->cfg->tied_keys ? &e->tied[i] : &e->comm[ZP_GROUPS - 1 - (i - e->cfg->tied_keys)];
}

void zp_cuda_abort(zp_cuda *e)
{
  for (int32_t i = 0; e->tied && i < e->cfg->tied_keys + ZP_GROUPS; i++) {
    ncclComm_t *comm = nth(e, i);
    if (*comm) ncclCommAbort(*comm);
    *comm = NULL;
  }
}

int zp_cuda_end_comms(zp_cuda *e)
{
  for (int32_t i = 0; i < e->cfg->tied_keys + ZP_GROUPS; i++) {
    ncclComm_t *comm = nth(e, i);
    if (!*comm) continue;
    ZP_NCCL(e, ncclCommFinalize(*comm));
    ZP_TRY(zp_cuda_settle(e, *comm, "the end of a communicator"));
    ZP_NCCL(e, ncclCommDestroy(*comm));
    *comm = NULL;
  }
  return 0;
}
