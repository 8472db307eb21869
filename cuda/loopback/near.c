/* Trials on a real device: what the trial's model does on the host has to reach what kernels do on
 * the device. Linked with --wrap, the device memory of a trial is pinned memory of the host, which
 * kernels reach over the bus: one pool, given out in pieces, as CUDA takes long for each. The
 * model's bodies are host functions on their streams. Copies within the pool are kernels', as CUDA
 * itself waits for one from host memory to host memory. All else is as it is in training: streams,
 * events, kernels, NCCL's place. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/kernels.h"
#include "../simdev/kernel.h"
#include "near.h"

enum { PIECES = 1 << 14, ALIGN = 512 };

cudaError_t __wrap_cudaMalloc(void **p, size_t n);
cudaError_t __wrap_cudaFree(void *p);
cudaError_t __wrap_cudaMallocHost(void **p, size_t n);
cudaError_t __wrap_cudaFreeHost(void *p);
cudaError_t __wrap_cudaHostRegister(void *p, size_t n, unsigned flags);
cudaError_t __real_cudaMallocHost(void **p, size_t n);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);

typedef struct piece {
  size_t at, bytes;
} piece;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *pool;
static size_t room;
static piece taken[PIECES]; /* by address */
static int pieces;

int zp_near_open(size_t bytes)
{
  room = bytes;
  return (int)__real_cudaMallocHost((void **)&pool, bytes);
}

int zp_near_pieces(void)
{
  return pieces;
}

cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
  const size_t bytes = (n + ALIGN - 1) / ALIGN * ALIGN;
  size_t at = 0;
  int i = 0;
  cudaError_t e = cudaErrorMemoryAllocation;
  pthread_mutex_lock(&mutex);
  for (; i < pieces && taken[i].at - at < bytes; i++) at = taken[i].at + taken[i].bytes;
  if (pieces < PIECES && at + bytes <= room) {
    memmove(&taken[i + 1], &taken[i], (size_t)(pieces - i) * sizeof *taken);
    taken[i] = (piece){at, bytes};
    pieces++;
    *p = pool + at;
    e = cudaSuccess;
  }
  pthread_mutex_unlock(&mutex);
  if (e == cudaSuccess) memset(*p, 0xa5, bytes); /* device memory is not zero either */
  return e;
}

cudaError_t __wrap_cudaFree(void *p)
{
  cudaError_t e = p ? cudaErrorInvalidValue : cudaSuccess;
  int i = 0;
  pthread_mutex_lock(&mutex);
  while (p && i < pieces && pool + taken[i].at != (char *)p) i++;
  if (p && i < pieces) {
    pieces--;
    memmove(&taken[i], &taken[i + 1], (size_t)(pieces - i) * sizeof *taken);
    e = cudaSuccess;
  }
  pthread_mutex_unlock(&mutex);
  return e;
}

/* Pinned anyway. */
cudaError_t __wrap_cudaMallocHost(void **p, size_t n)
{
  return __wrap_cudaMalloc(p, n);
}

cudaError_t __wrap_cudaFreeHost(void *p)
{
  return __wrap_cudaFree(p);
}

/* What is outside the pool is not near. */
cudaError_t __wrap_cudaHostRegister(void *p, size_t n, unsigned flags)
{
  (void)p, (void)n, (void)flags;
  return cudaErrorNotSupported;
}

static int is_near(const void *p)
{
  return (const char *)p >= pool && (const char *)p < pool + room;
}

/* In the order of the stream, and the caller goes on, as from device to device. */
static cudaError_t copy_near(void *to, const void *from, size_t n, cudaStream_t stream)
{
  zp_scatter_params p;
  void *args[] = {&p};
  zp_launch l;
  memset(&p, 0, sizeof p);
  p.bytes = 2;
  p.runs.n = 1;
  p.runs.here[0] = (zp_memory_run){.in = from, .out = to, .count = (int64_t)n / p.bytes};
  p.runs.tiles = zp_runs_lay(p.runs.here, 1);
  l = zp_launch_runs(p.runs.here, 1);
  if (l.grid == 0) return cudaSuccess;
  return cudaLaunchKernel(zp_kernel_scatter, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args,
                          l.shared, stream);
}

/* The kinds say device where the pool is. */
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
  (void)kind;
  if (is_near(to) && is_near(from) && ((uintptr_t)to | (uintptr_t)from | n) % 2 == 0)
    return copy_near(to, from, n, stream);
  return __real_cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, stream);
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

typedef struct queued {
  const simdev_kernel *kernel;
  unsigned char params[];
} queued;

static void CUDART_CB run(void *arg)
{
  static const simdev_thread one = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
  queued *q = arg;
  q->kernel->body(q->params, one, NULL, 0);
  free(q);
}

int zp_near_queue(const simdev_kernel *kernel, const void *params, cudaStream_t stream)
{
  queued *q = malloc(sizeof *q + kernel->params_bytes);
  if (!q) return (int)cudaErrorMemoryAllocation;
  q->kernel = kernel;
  memcpy(q->params, params, kernel->params_bytes);
  return (int)cudaLaunchHostFunc(stream, run, q);
}
