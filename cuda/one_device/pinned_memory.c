/* Cases on a real device: the model of a case computes on the host and the engine's kernels on the
 * device, both on the same memory. Linked with --wrap, device memory is pinned memory of the host,
 * which kernels access over the bus: one pool, as CUDA takes long for each allocation. The model's
 * functions are host functions on their streams. Copies within the pool are kernels, because CUDA
 * blocks the host in a copy from host memory to host memory. Streams, events and kernels are as in
 * training. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/kernels.h"
#include "../simdev/kernel.h"
#include "pinned_memory.h"

enum { ALLOCATIONS_MAX = 1 << 14, ALIGN = 512 };

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

typedef struct allocation {
  size_t at, bytes;
} allocation;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *pool;
static size_t room;
static allocation list[ALLOCATIONS_MAX]; /* by address */
static int allocations;

int zp_pinned_open(size_t bytes)
{
  room = bytes;
  return (int)__real_cudaMallocHost((void **)&pool, bytes);
}

cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
  const size_t bytes = (n + ALIGN - 1) / ALIGN * ALIGN;
  size_t at = 0;
  int i = 0;
  cudaError_t e = cudaErrorMemoryAllocation;
  pthread_mutex_lock(&mutex);
  for (; i < allocations && list[i].at - at < bytes; i++) at = list[i].at + list[i].bytes;
  if (allocations < ALLOCATIONS_MAX && at + bytes <= room) {
    memmove(&list[i + 1], &list[i], (size_t)(allocations - i) * sizeof *list);
    list[i] = (allocation){at, bytes};
    allocations++;
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
  while (p && i < allocations && pool + list[i].at != (char *)p) i++;
  if (p && i < allocations) {
    allocations--;
    memmove(&list[i], &list[i + 1], (size_t)(allocations - i) * sizeof *list);
    e = cudaSuccess;
  }
  pthread_mutex_unlock(&mutex);
  return e;
}

/* The pool is pinned memory. */
cudaError_t __wrap_cudaMallocHost(void **p, size_t n)
{
  return __wrap_cudaMalloc(p, n);
}

cudaError_t __wrap_cudaFreeHost(void *p)
{
  return __wrap_cudaFree(p);
}

/* Only the pool can be accessed by both. */
cudaError_t __wrap_cudaHostRegister(void *p, size_t n, unsigned flags)
{
  (void)p, (void)n, (void)flags;
  return cudaErrorNotSupported;
}

static int is_pinned(const void *p)
{
  return (const char *)p >= pool && (const char *)p < pool + room;
}

/* Asynchronous and in the order of the stream, as a copy from device to device is. */
static cudaError_t copy_pinned(void *to, const void *from, size_t n, cudaStream_t stream)
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

/* Callers call the pool device memory. */
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
  (void)kind;
  if (is_pinned(to) && is_pinned(from) && ((uintptr_t)to | (uintptr_t)from | n) % 2 == 0)
    return copy_pinned(to, from, n, stream);
  return __real_cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, stream);
}

/* ---- Kernels of the model -------------------------------------------------------------------- */

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

int zp_pinned_launch(const simdev_kernel *kernel, const void *params, cudaStream_t stream)
{
  queued *q = malloc(sizeof *q + kernel->params_bytes);
  if (!q) return (int)cudaErrorMemoryAllocation;
  q->kernel = kernel;
  memcpy(q->params, params, kernel->params_bytes);
  return (int)cudaLaunchHostFunc(stream, run, q);
}
