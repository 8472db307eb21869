/* Communicators: made, asked, given up. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
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

static const zp_loopback_hosts posix = {lock_mutex, unlock_mutex, yield};
static const zp_loopback_hosts *hosts = &posix;
static lb_shared *all;
static uint64_t ids;

void zp_loopback_use(const zp_loopback_hosts *h)
{
  hosts = h;
}

void lb_lock(void)
{
  hosts->lock(&all);
}

void lb_unlock(void)
{
  hosts->unlock(&all);
}

void lb_pause(void)
{
  hosts->pause();
}

/* ---- Errors ---------------------------------------------------------------------------------- */

ncclResult_t lb_fail(lb_shared *s, ncclResult_t error, const char *format, ...)
{
  va_list args;
  if (s->error != ncclSuccess) return s->error;
  s->error = error;
  va_start(args, format);
  vsnprintf(s->why, sizeof s->why, format, args);
  va_end(args);
  return error;
}

int lb_cuda(lb_shared *s, cudaError_t error, const char *call)
{
  if (error == cudaSuccess) return 0;
  lb_fail(s, ncclUnhandledCudaError, "loopback: %s failed with error %d", call, (int)error);
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
  case ncclUnhandledCudaError: return "a call of CUDA failed";
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

lb_shared *lb_shared_of(int32_t n, uint64_t id)
{
  lb_shared *s = calloc(1, sizeof *s);
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

ncclComm_t lb_member(lb_shared *s, int32_t rank, int32_t blocking)
{
  ncclComm_t c = calloc(1, sizeof *c);
  struct cudaFuncAttributes loaded;
  if (!c) return NULL;
  c->s = s;
  c->rank = rank;
  c->blocking = blocking;
  if (cudaFuncGetAttributes(&loaded, zp_kernel_loopback) ||
      cudaEventCreateWithFlags(&c->ready, cudaEventDisableTiming) ||
      cudaEventCreateWithFlags(&c->done, cudaEventDisableTiming) ||
      cudaEventCreateWithFlags(&c->ended, cudaEventDisableTiming)) {
    close_events(c);
    free(c);
    return NULL;
  }
  s->member[rank] = c;
  s->came++;
  return c;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
  uint64_t mine;
  lb_lock();
  mine = ++ids;
  lb_unlock();
  memset(id, 0, sizeof *id);
  memcpy(id, &mine, sizeof mine);
  return ncclSuccess;
}

static ncclResult_t join(ncclComm_t *comm, int n, uint64_t id, int rank, int blocking)
{
  lb_shared *s = all;
  if (n < 1 || n > ZP_LOOPBACK_RANKS || rank < 0 || rank >= n || id == 0)
    return ncclInvalidArgument;
  while (s && s->id != id) s = s->next;
  if (!s) s = lb_shared_of(n, id);
  if (!s) return ncclSystemError;
  if (s->n != n || s->member[rank])
    return lb_fail(s, ncclInvalidUsage, "loopback: rank %d of %d joins a communicator of %d%s",
                   rank, n, s->n, s->n == n ? " that has this rank already" : "");
  *comm = lb_member(s, rank, blocking);
  return *comm ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId unique, int rank,
                                    ncclConfig_t *config)
{
  uint64_t id;
  ncclResult_t r;
  memcpy(&id, &unique, sizeof id);
  if (lb_group_depth() > 0) return ncclInvalidUsage; /* ranks are threads, and need no group */
  lb_lock();
  r = join(comm, n, id, rank, config ? config->blocking != 0 : 1);
  lb_unlock();
  return r == ncclSuccess ? lb_answer(*comm) : r;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
  return ncclCommInitRankConfig(comm, n, id, rank, NULL);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* With the lock held. */
ncclResult_t lb_state(ncclComm_t c)
{
  if (c->s->error != ncclSuccess) return c->s->error;
  if (c->s->came < c->s->n || c->pending > 0) return ncclInProgress;
  if (c->ending && c->used) {
    const cudaError_t e = cudaEventQuery(c->ended);
    if (e == cudaErrorNotReady) return ncclInProgress;
    if (lb_cuda(c->s, e, "cudaEventQuery")) return c->s->error;
  }
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
  lb_lock();
  *state = lb_state(comm);
  lb_unlock();
  return ncclSuccess;
}

ncclResult_t lb_answer(ncclComm_t c)
{
  ncclResult_t r;
  for (;; lb_pause()) {
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
  lb_shared *s = c->s, **at = &all;
  s->member[c->rank] = NULL;
  close_events(c);
  free(c);
  if (++s->left < s->came) return;
  if (s->came < s->n && s->error == ncclSuccess) return;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  free(s);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
  lb_lock();
  comm->ending = 1;
  lb_unlock();
  return lb_answer(comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
  ncclResult_t state = ncclInProgress;
  lb_lock();
  comm->ending = 1;
  lb_unlock();
  while (state == ncclInProgress) {
    ncclCommGetAsyncError(comm, &state);
    if (state == ncclInProgress) lb_pause();
  }
  lb_lock();
  leave(comm);
  lb_unlock();
  return ncclSuccess;
}

/* What is queued ends by itself: it waits for nothing that is not queued. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  lb_lock();
  lb_fail(comm->s, ncclRemoteError, "loopback: member %d has aborted", comm->rank);
  leave(comm);
  lb_unlock();
  return ncclSuccess;
}
