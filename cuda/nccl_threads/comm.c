/* Making, querying and ending communicators. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "kernel.h"

/* ---- Threads --------------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int lock_mutex(const void *key)
{
  (void)key;
  return pthread_mutex_lock(&mutex);
}

static void unlock_mutex(const void *key)
{
  (void)key;
  pthread_mutex_unlock(&mutex);
}

static void yield(void)
{
  sched_yield();
}

static const zp_nccl_threads_locking posix = {lock_mutex, unlock_mutex, yield};
static const zp_nccl_threads_locking *locking = &posix;
static zp_nt_shared *all;
static uint64_t ids;

void zp_nccl_threads_use(const zp_nccl_threads_locking *l)
{
  locking = l;
}

void zp_nt_lock(void)
{
  locking->lock(&all);
}

void zp_nt_unlock(void)
{
  locking->unlock(&all);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

ncclResult_t zp_nt_fail(zp_nt_shared *s, ncclResult_t error, const char *format, ...)
{
  va_list args;
  if (s->error != ncclSuccess) return s->error;
  s->error = error;
  va_start(args, format);
  vsnprintf(s->why, sizeof s->why, format, args);
  va_end(args);
  return error;
}

int zp_nt_check(zp_nt_shared *s, cudaError_t error, const char *call)
{
  if (error == cudaSuccess) return 0;
  zp_nt_fail(s, ncclUnhandledCudaError, "nccl_threads: %s failed with error %d", call, (int)error);
  return -1;
}

const char *ncclGetLastError(ncclComm_t comm)
{
  return comm ? comm->s->why : "";
}

const char *ncclGetErrorString(ncclResult_t result)
{
  switch (result) {
  case ncclSuccess: return "no error";
  case ncclInProgress: return "in progress";
  case ncclUnhandledCudaError: return "a CUDA call failed";
  case ncclInvalidArgument: return "invalid argument";
  case ncclInvalidUsage: return "invalid usage";
  case ncclRemoteError: return "a member is gone";
  default: return "error";
  }
}

ncclResult_t ncclGetVersion(int *version)
{
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

/* ---- Making ---------------------------------------------------------------------------------- */

zp_nt_shared *zp_nt_shared_make(int32_t n, uint64_t id)
{
  zp_nt_shared *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->n = n;
  s->id = id;
  s->next = all;
  all = s;
  return s;
}

static void close_events(ncclComm_t c)
{
  if (c->ready) cudaEventDestroy(c->ready);
  if (c->done) cudaEventDestroy(c->done);
  if (c->ended) cudaEventDestroy(c->ended);
}

ncclComm_t zp_nt_member_make(zp_nt_shared *s, int32_t rank, int32_t blocking)
{
  ncclComm_t c = calloc(1, sizeof *c);
  struct cudaFuncAttributes loaded;
  if (!c) return NULL;
  c->s = s;
  c->rank = rank;
  c->blocking = blocking;
  if (cudaFuncGetAttributes(&loaded, zp_kernel_nccl_threads) ||
      cudaEventCreateWithFlags(&c->ready, cudaEventDisableTiming) ||
      cudaEventCreateWithFlags(&c->done, cudaEventDisableTiming) ||
      cudaEventCreateWithFlags(&c->ended, cudaEventDisableTiming)) {
    close_events(c);
    free(c);
    return NULL;
  }
  s->member[rank] = c;
  s->joined++;
  return c;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
  uint64_t mine;
  zp_nt_lock();
  mine = ++ids;
  zp_nt_unlock();
  memset(id, 0, sizeof *id);
  memcpy(id, &mine, sizeof mine);
  return ncclSuccess;
}

static ncclResult_t join(ncclComm_t *comm, int n, uint64_t id, int rank, int blocking)
{
  zp_nt_shared *s = all;
  if (n < 1 || n > ZP_NCCL_THREADS_RANKS_MAX || rank < 0 || rank >= n || id == 0)
    return ncclInvalidArgument;
  while (s && s->id != id) s = s->next;
  if (!s) s = zp_nt_shared_make(n, id);
  if (!s) return ncclSystemError;
  if (s->n != n || s->member[rank])
    return zp_nt_fail(s, ncclInvalidUsage,
                      "nccl_threads: rank %d of %d joins a communicator of %d ranks%s", rank, n,
                      s->n, s->n == n ? " that already has this rank" : "");
  *comm = zp_nt_member_make(s, rank, blocking);
  return *comm ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId unique, int rank,
                                    ncclConfig_t *config)
{
  uint64_t id;
  ncclResult_t r;
  memcpy(&id, &unique, sizeof id);
  if (zp_nt_group_depth() > 0) return ncclInvalidUsage; /* ranks are threads, which need no group */
  zp_nt_lock();
  r = join(comm, n, id, rank, config ? config->blocking != 0 : 1);
  zp_nt_unlock();
  return r == ncclSuccess ? zp_nt_wait(*comm) : r;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
  return ncclCommInitRankConfig(comm, n, id, rank, NULL);
}

/* ---- Querying -------------------------------------------------------------------------------- */

ncclResult_t zp_nt_state(ncclComm_t c)
{
  if (c->s->error != ncclSuccess) return c->s->error;
  if (c->s->joined < c->s->n || c->pending > 0) return ncclInProgress;
  if (c->ending && c->used) {
    const cudaError_t e = cudaEventQuery(c->ended);
    if (e == cudaErrorNotReady) return ncclInProgress;
    if (zp_nt_check(c->s, e, "cudaEventQuery")) return c->s->error;
  }
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
  zp_nt_lock();
  *state = zp_nt_state(comm);
  zp_nt_unlock();
  return ncclSuccess;
}

ncclResult_t zp_nt_wait(ncclComm_t c)
{
  ncclResult_t r;
  for (;; locking->pause()) {
    ncclCommGetAsyncError(c, &r);
    if (r != ncclInProgress || !c->blocking) return r;
  }
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
  *count = comm->s->n;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
  *rank = comm->rank;
  return ncclSuccess;
}

/* ---- Ending ---------------------------------------------------------------------------------- */

static void leave(ncclComm_t c)
{
  zp_nt_shared *s = c->s, **at = &all;
  s->member[c->rank] = NULL;
  close_events(c);
  free(c);
  if (++s->left < s->joined) return;
  if (s->joined < s->n && s->error == ncclSuccess) return;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  free(s);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
  zp_nt_lock();
  comm->ending = 1;
  zp_nt_unlock();
  return zp_nt_wait(comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
  ncclResult_t state = ncclInProgress;
  zp_nt_lock();
  comm->ending = 1;
  zp_nt_unlock();
  while (state == ncclInProgress) {
    ncclCommGetAsyncError(comm, &state);
    if (state == ncclInProgress) locking->pause();
  }
  zp_nt_lock();
  leave(comm);
  zp_nt_unlock();
  return ncclSuccess;
}

/* Queued work ends without this member: all that it waits for is queued, too. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  zp_nt_lock();
  zp_nt_fail(comm->s, ncclRemoteError, "nccl_threads: member %d has aborted", comm->rank);
  leave(comm);
  zp_nt_unlock();
  return ncclSuccess;
}
