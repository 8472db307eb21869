/* Attributes of kernels, and loading their code.
 *
 * CUDA loads a kernel's code when it is first used, and "loading a kernel might require context
 * synchronization": the first launch of a kernel that is not loaded may wait until the device is
 * idle. A program in which one kernel waits for another that is not loaded yet then deadlocks.
 * cudaFuncGetAttributes loads a kernel. */
#include "state.h"

enum { SHARED_DEFAULT = 48 << 10, SHARED_MAX = 227 << 10, THREADS_MAX = 1024 };

size_t sd_shared_max(const simdev *s, const void *func)
{
  for (const sd_shared_limit *l = s->kernels.shared_limits; l; l = l->next)
    if (l->func == func) return l->bytes;
  return SHARED_DEFAULT;
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attribute, int value)
{
  simdev *s = sd_now;
  sd_shared_limit *l;
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaFuncSetAttribute", SD_PC);
  if (e) return e;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    return sd_error(h, cudaErrorNotSupported);
  if (!func || value < 0 || value > SHARED_MAX) return sd_error(h, cudaErrorInvalidValue);
  l = sd_arena_alloc(&s->arena, sizeof *l);
  if (!l) return sd_error(h, cudaErrorMemoryAllocation);
  l->func = func;
  l->bytes = (size_t)value;
  l->next = s->kernels.shared_limits; /* the newest is found first */
  s->kernels.shared_limits = l;
  return cudaSuccess;
}

/* ---- Loading --------------------------------------------------------------------------------- */

static int is_loaded(const simdev *s, const sd_host *h, const void *func)
{
  const sd_loaded *l = s->rank[h->agent.rank].loaded;
  while (l && (l->func != func || l->device != h->device)) l = l->next;
  return l != NULL;
}

/* 0, or -1: no memory. */
static int load(simdev *s, const sd_host *h, const void *func)
{
  sd_rank *r = &s->rank[h->agent.rank];
  sd_loaded *l = sd_arena_alloc(&s->arena, sizeof *l);
  if (!l) return -1;
  l->func = func;
  l->device = h->device;
  l->next = r->loaded;
  r->loaded = l;
  return 0;
}

cudaError_t sd_load_late(sd_host *h, const simdev_kernel *kernel)
{
  simdev *s = sd_now;
  if (is_loaded(s, h, kernel)) return cudaSuccess;
  if (s->kernels.late_loads++ == 0) s->kernels.late_kernel = kernel->name;
  if (load(s, h, kernel)) return cudaErrorMemoryAllocation;
  return s->choice.lazy ? sd_host_wait_for_idle(h) : cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *func)
{
  simdev *s = sd_now;
  const simdev_kernel *kernel = func;
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaFuncGetAttributes", SD_PC);
  if (e) return e;
  if (!attributes) return sd_error(h, cudaErrorInvalidValue);
  if (!kernel || !kernel->body || (kernel->phases < 1 && kernel->phases != SIMDEV_LOOP))
    return sd_error(h, cudaErrorInvalidDeviceFunction);
  sd_set_bytes(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = THREADS_MAX;
  attributes->maxDynamicSharedSizeBytes = (int)sd_shared_max(s, func);
  attributes->binaryVersion = attributes->ptxVersion = 90; /* of an H200 */
  if (!is_loaded(s, h, func) && load(s, h, func)) return sd_error(h, cudaErrorMemoryAllocation);
  return cudaSuccess;
}
