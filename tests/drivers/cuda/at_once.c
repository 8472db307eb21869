/* A device that does everything at once, in the calling thread, and NCCL between threads of one
 * process: what of both the engine calls where pp and tp are 1 and sums are exact. Unlike
 * simdev's, its calls may come from any thread, so that the engine runs with the threads and the
 * line that it makes for itself. Communication ends when all members have come, never if one has
 * aborted; who has not been answered polls ncclCommGetAsyncError, as the engine does. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/simdev/kernel.h"

/* ---- The device ------------------------------------------------------------------------------ */

static _Thread_local int device = -1; /* the thread has no context yet */

/* 1: the thread gets no context for the device that cudaGetDevice returns already. */
_Thread_local int at_once_lacks_context;

cudaError_t cudaSetDevice(int d)
{
  if (at_once_lacks_context && device < 0 && d == 0) return cudaSuccess;
  device = d;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
  *n = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *d)
{
  *d = device < 0 ? 0 : device;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *func)
{
  memset(a, 0, sizeof *a);
  return func ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaMalloc(void **p, size_t n)
{
  *p = aligned_alloc(256, (n + 255) / 256 * 256); /* as a GPU's memory is aligned */
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMallocHost(void **p, size_t n)
{
  return cudaMalloc(p, n);
}

cudaError_t cudaFree(void *p)
{
  free(p);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
  return cudaFree(p);
}

/* How many ranges are registered, and bytes of all that have been; 1: none are any more. */
int64_t at_once_registered, at_once_registered_bytes;
int at_once_registers_nothing;

cudaError_t cudaHostRegister(void *p, size_t n, unsigned flags)
{
  if ((uintptr_t)p % ((size_t)2 << 20) != 0 || flags != cudaHostRegisterDefault)
    return cudaErrorInvalidValue;
  if (at_once_registers_nothing) return cudaErrorNotSupported;
  __atomic_fetch_add(&at_once_registered, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&at_once_registered_bytes, (int64_t)n, __ATOMIC_RELAXED);
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p)
{
  __atomic_fetch_sub(&at_once_registered, 1, __ATOMIC_RELAXED);
  return p ? cudaSuccess : cudaErrorInvalidValue;
}

const char *cudaGetErrorString(cudaError_t error)
{
  (void)error;
  return "an error";
}

cudaError_t cudaGetLastError(void)
{
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
  (void)kind, (void)stream;
  memmove(to, from, n);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
  return cudaMemcpyAsync(to, from, n, kind, NULL);
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream)
{
  (void)stream;
  memset(p, value, n);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
  *least = *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
  (void)flags;
  return cudaMalloc((void **)s, 1);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
  (void)priority;
  return cudaStreamCreateWithFlags(s, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
  return cudaFree(s);
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
  (void)s;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *arg)
{
  (void)s;
  fn(arg);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
  (void)s;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
  (void)s, (void)e, (void)flags;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
  (void)flags;
  return cudaMalloc((void **)e, 1);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
  return cudaFree(e);
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
  (void)e, (void)s;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
  (void)e;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
  const simdev_kernel *k = func;
  void *memory = calloc(1, shared + 16);
  (void)stream;
  for (unsigned b = 0; b < grid.x; b++) {
    simdev_thread t = {{grid.x, 1, 1}, {block.x, 1, 1}, {b, 0, 0}, {0, 0, 0}};
    const int phases = simdev_phases(k, args[0], t);
    for (int phase = 0; phase < phases; phase++)
      for (t.threadIdx[0] = 0; t.threadIdx[0] < block.x; t.threadIdx[0]++)
        k->body(args[0], t, memory, phase);
  }
  free(memory);
  return cudaSuccess;
}

CUresult cuStreamWriteValue32(CUstream s, CUdeviceptr to, cuuint32_t value, unsigned flags)
{
  (void)s, (void)flags;
  if (device < 0) return CUDA_ERROR_INVALID_CONTEXT;
  __atomic_store_n((uint32_t *)(uintptr_t)to, value, __ATOMIC_RELEASE);
  return CUDA_SUCCESS;
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

enum { MEMBERS = 8, JOIN = 1, SPLIT, ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST };

typedef struct call {
  int kind; /* 0: none */
  const void *from;
  void *to;
  size_t count, size; /* size: of an element */
  int root;           /* or the colour */
} call;

typedef struct clique {
  ncclUniqueId id;
  int n, came, dead, users;
  ncclComm_t member[MEMBERS];
  struct clique *next;
} clique;

struct ncclComm {
  clique *of;
  int rank;
  call now;
  ncclResult_t state;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static clique *cliques;

static int64_t *sum_of(const clique *c, size_t n)
{
  int64_t *sum = calloc(n + 1, sizeof *sum);
  for (int m = 0; m < c->n; m++)
    for (size_t i = 0; i < n; i++) sum[i] += ((const int64_t *)c->member[m]->now.from)[i];
  return sum;
}

static void leave(ncclComm_t comm)
{
  clique **at = &cliques, *c = comm->of;
  c->member[comm->rank] = NULL;
  free(comm);
  if (--c->users > 0) return;
  while (*at != c) at = &(*at)->next;
  *at = c->next;
  free(c);
}

static clique *make_clique(int n)
{
  clique *c = calloc(1, sizeof *c);
  c->n = n;
  c->next = cliques;
  cliques = c;
  return c;
}

static ncclComm_t join(clique *c, int rank)
{
  ncclComm_t comm = calloc(1, sizeof *comm);
  *comm = (struct ncclComm){.of = c, .rank = rank, .state = ncclInProgress};
  c->member[rank] = comm;
  c->users++;
  return comm;
}

/* Members of a colour, in the order of their ranks, which are their keys. */
static void split(const clique *c)
{
  for (int m = 0; m < c->n; m++) {
    const int colour = c->member[m]->now.root;
    clique *child;
    int first = 0, n = 0;
    while (c->member[first]->now.root != colour) first++;
    if (first < m || colour == NCCL_SPLIT_NOCOLOR) continue;
    for (int k = m; k < c->n; k++) n += c->member[k]->now.root == colour;
    child = make_clique(n);
    for (int k = m, r = 0; k < c->n; k++) {
      if (c->member[k]->now.root != colour) continue;
      *(ncclComm_t *)c->member[k]->now.to = join(child, r);
      child->member[r++]->state = ncclSuccess;
    }
    child->came = n;
  }
}

static void deliver(const clique *c, int m, const int64_t *sum)
{
  const call *a = &c->member[m]->now;
  const size_t bytes = a->count * a->size;
  if (a->kind == ALL_REDUCE) memcpy(a->to, sum, bytes);
  if (a->kind == REDUCE_SCATTER) memcpy(a->to, sum + (size_t)m * a->count, bytes);
  if (a->kind == BROADCAST) memmove(a->to, c->member[a->root]->now.from, bytes);
  for (int k = 0; a->kind == ALL_GATHER && k < c->n; k++)
    memmove((char *)a->to + (size_t)k * bytes, c->member[k]->now.from, bytes);
}

/* When the last member has come. In-place gathers lie where they go. */
static void carry_out(clique *c)
{
  const call *a = &c->member[0]->now;
  int64_t *sum = NULL;
  for (int m = 0; m < c->n; m++)
    if (!c->member[m] || c->member[m]->now.kind == 0) return;
  if (a->kind == ALL_REDUCE) sum = sum_of(c, a->count);
  if (a->kind == REDUCE_SCATTER) sum = sum_of(c, a->count * (size_t)c->n);
  if (a->kind == SPLIT) split(c);
  for (int m = 0; m < c->n; m++) deliver(c, m, sum);
  free(sum);
  for (int m = 0; m < c->n; m++) {
    c->member[m]->now.kind = 0;
    c->member[m]->state = ncclSuccess;
  }
}

static ncclResult_t begin(ncclComm_t comm, call a)
{
  pthread_mutex_lock(&mutex);
  comm->now = a;
  comm->state = ncclInProgress;
  if (!comm->of->dead) carry_out(comm->of);
  pthread_mutex_unlock(&mutex);
  return ncclInProgress;
}

ncclResult_t ncclGetVersion(int *version)
{
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
  static int made;
  memset(id, 0, sizeof *id);
  pthread_mutex_lock(&mutex);
  ((char *)id)[0] = (char)++made;
  pthread_mutex_unlock(&mutex);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
  clique *c;
  if (n > MEMBERS || config->blocking) return ncclInvalidArgument;
  pthread_mutex_lock(&mutex);
  for (c = cliques; c && memcmp(&c->id, &id, sizeof id) != 0;) c = c->next;
  if (!c) c = make_clique(n);
  c->id = id;
  *comm = join(c, rank);
  (*comm)->now.kind = JOIN;
  if (++c->came == n) carry_out(c);
  pthread_mutex_unlock(&mutex);
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *to,
                           ncclConfig_t *config)
{
  (void)key, (void)config;
  *to = NULL;
  return begin(comm, (call){.kind = SPLIT, .to = to, .root = color});
}

static size_t size_of(ncclDataType_t t)
{
  return t == ncclInt64 ? 8 : t == ncclFloat32 ? 4 : 2;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t t, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
  (void)stream;
  if (t != ncclInt64 || op != ncclSum) return ncclInvalidArgument;
  return begin(comm, (call){ALL_REDUCE, from, to, n, 8, 0});
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t n, ncclDataType_t t,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
  (void)stream;
  if (t != ncclInt64 || op != ncclSum) return ncclInvalidArgument;
  return begin(comm, (call){REDUCE_SCATTER, from, to, n, 8, 0});
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t n, ncclDataType_t t, ncclComm_t comm,
                           cudaStream_t stream)
{
  (void)stream;
  return begin(comm, (call){ALL_GATHER, from, to, n, size_of(t), 0});
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t n, ncclDataType_t t, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
  (void)stream;
  return begin(comm, (call){BROADCAST, from, to, n, size_of(t), root});
}

ncclResult_t ncclSend(const void *from, size_t n, ncclDataType_t t, int to, ncclComm_t comm,
                      cudaStream_t stream)
{
  (void)from, (void)n, (void)t, (void)to, (void)comm, (void)stream;
  return ncclInvalidUsage; /* stages 0 and 1 with exact sums have none */
}

ncclResult_t ncclRecv(void *to, size_t n, ncclDataType_t t, int from, ncclComm_t comm,
                      cudaStream_t stream)
{
  return ncclSend(to, n, t, from, comm, stream);
}

ncclResult_t ncclGroupStart(void)
{
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
  pthread_mutex_lock(&mutex);
  *state = comm->state;
  pthread_mutex_unlock(&mutex);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
  (void)comm;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
  pthread_mutex_lock(&mutex);
  leave(comm);
  pthread_mutex_unlock(&mutex);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  pthread_mutex_lock(&mutex);
  comm->of->dead = 1;
  leave(comm);
  pthread_mutex_unlock(&mutex);
  return ncclSuccess;
}
