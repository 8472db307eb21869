/* Allocating, copying, setting. */
#include "state.h"

/* ---- Allocating ------------------------------------------------------------------------------ */

/* Documents do not say which calls synchronize with the device. The call has had its effect
 * already: what still uses memory that is freed is found in these runs, too. */
static cudaError_t finish_memory_call(sd_host *h, cudaError_t e)
{
  if (!e && sd_now->choice.idle_memory) e = sd_host_wait_for_idle(h);
  return sd_error(h, e);
}

static cudaError_t allocate(const char *name, const void *pc, sd_memory_kind kind, void **p,
                            size_t bytes)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, name, pc);
  if (e) return e;
  if (!p) return sd_error(h, cudaErrorInvalidValue);
  return finish_memory_call(h, sd_memory_allocate(h, kind, bytes, p));
}

static cudaError_t release(const char *name, const void *pc, sd_memory_kind kind, void *p)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, name, pc);
  if (e) return e;
  return finish_memory_call(h, sd_memory_release(h, kind, p));
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
  return allocate("cudaMalloc", SD_PC, SD_DEVICE, p, bytes);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
  return allocate("cudaMallocHost", SD_PC, SD_PINNED, p, bytes);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned int flags)
{
  (void)flags; /* mapped or portable: unified addressing makes it both */
  return allocate("cudaHostAlloc", SD_PC, SD_PINNED, p, bytes);
}

/* The flags only ask for what unified addressing gives. */
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned int flags)
{
  sd_host *h;
  const cudaError_t e = sd_call_enter(&h, "cudaHostRegister", SD_PC);
  (void)flags;
  return e ? e : finish_memory_call(h, sd_memory_register(h, p, bytes));
}

cudaError_t cudaHostUnregister(void *p)
{
  sd_host *h;
  const cudaError_t e = sd_call_enter(&h, "cudaHostUnregister", SD_PC);
  return e ? e : finish_memory_call(h, sd_memory_unregister(h, p));
}

cudaError_t cudaFree(void *p)
{
  return release("cudaFree", SD_PC, SD_DEVICE, p);
}

cudaError_t cudaFreeHost(void *p)
{
  return release("cudaFreeHost", SD_PC, SD_PINNED, p);
}

static cudaError_t allocate_async(const void *pc, void **p, size_t bytes, cudaStream_t stream)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaMallocAsync", pc);
  if (e) return e;
  if (!p) return sd_error(h, cudaErrorInvalidValue);
  if (!sd_stream_of(h, stream)) return sd_error(h, cudaErrorInvalidResourceHandle);
  return sd_error(h, sd_memory_allocate(h, SD_DEVICE, bytes, p));
}

cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream)
{
  return allocate_async(SD_PC, p, bytes, stream);
}

static cudaError_t release_async(const void *pc, void *p, cudaStream_t stream)
{
  sd_host *h;
  sd_stream *st;
  sd_item *item;
  const sd_alloc *a = sd_now ? sd_memory_find(sd_now, p) : NULL;
  cudaError_t e = sd_call_enter(&h, "cudaFreeAsync", pc);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  if (!p) return cudaSuccess;
  if (!a || a->at != p || a->kind != SD_DEVICE || a->freed || a->rank != h->agent.rank) {
    sd_note(sd_now, SIMDEV_E_ACCESS, 0, h->agent.rank,
            "rank %d, call %d (cudaFreeAsync): %p is not live device memory of this rank",
            h->agent.rank, h->call, p);
    return sd_error(h, cudaErrorInvalidValue);
  }
  item = sd_item_make(st, SIMDEV_FREE, "cudaFreeAsync", h->call, pc);
  if (!item) return sd_error(h, cudaErrorMemoryAllocation);
  item->u.free = p;
  sd_item_issue(sd_now, item);
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
  return release_async(SD_PC, p, stream);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p)
{
  simdev *s = sd_now;
  const sd_alloc *a;
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaPointerGetAttributes", SD_PC);
  if (e) return e;
  if (!attributes) return sd_error(h, cudaErrorInvalidValue);
  a = sd_memory_find(s, p);
  if (a && (a->freed || a->rank != h->agent.rank || (const char *)p >= a->at + a->bytes)) a = NULL;
  attributes->type = !a                     ? cudaMemoryTypeUnregistered
                     : a->kind == SD_DEVICE ? cudaMemoryTypeDevice
                                            : cudaMemoryTypeHost;
  attributes->device = a ? a->device : -2; /* cudaInvalidDeviceId */
  attributes->devicePointer = a ? (void *)(uintptr_t)p : NULL;
  attributes->hostPointer = a && a->kind == SD_DEVICE ? NULL : (void *)(uintptr_t)p;
  return cudaSuccess;
}

/* ---- Copying --------------------------------------------------------------------------------- */

/* When a copy returns to its host: at once; when the source is in staging memory; when the copy is
 * done and the host may rely on it; when it is done by chance. */
typedef enum { AT_ONCE, STAGED, DONE, DONE_BY_CHANCE } copy_mode;

/* The table of "API synchronization behavior" in the CUDA manual. Between device and pageable
 * memory an asynchronous copy "might be synchronous", on which the host may not rely. */
static copy_mode mode_of(simdev *s, sd_memory_kind to, sd_memory_kind from, int async)
{
  if (to != SD_DEVICE && from != SD_DEVICE) return DONE;
  if (async) {
    if (to != SD_PAGEABLE && from != SD_PAGEABLE) return AT_ONCE;
#ifndef SIMDEV_TSAN /* if it were staged, the host would read the source, and a race would not be
                     * seen */
    if (from == SD_PAGEABLE && sd_below(s, 3) == 0) return STAGED;
#endif
    return sd_below(s, 2) ? AT_ONCE : DONE_BY_CHANCE;
  }
  if (to == SD_DEVICE && from == SD_DEVICE) return AT_ONCE;
  return from == SD_PAGEABLE ? STAGED : DONE;
}

static int is_kind(enum cudaMemcpyKind kind, sd_memory_kind to, sd_memory_kind from)
{
  switch (kind) { /* a device can read and write pinned memory, too */
  case cudaMemcpyHostToHost: return to != SD_DEVICE && from != SD_DEVICE;
  case cudaMemcpyHostToDevice: return to == SD_DEVICE && from != SD_DEVICE;
  case cudaMemcpyDeviceToHost: return to != SD_DEVICE && from == SD_DEVICE;
  case cudaMemcpyDeviceToDevice: return to != SD_PAGEABLE && from != SD_PAGEABLE;
  case cudaMemcpyDefault: return 1;
  default: return 0;
  }
}

static cudaError_t stage(sd_host *h, sd_stream *st, sd_item *item, int async)
{
  simdev *s = sd_now;
  sd_copy_item *c = &item->u.copy;
  void *staging;
  cudaError_t e = async ? cudaSuccess : sd_stream_wait(h, st);
  if (e) return e;
  staging = sd_buffer_acquire(&s->arena, c->bytes);
  if (!staging) return cudaErrorMemoryAllocation;
  sd_race_enter(item->pc);
  sd_race_read(c->from, c->bytes);
  sd_race_leave();
  sd_copy_bytes(staging, c->from, c->bytes);
  c->from = staging;
  c->staged = 1;
  return cudaSuccess;
}

static cudaError_t finish_copy(sd_host *h, sd_item *item, copy_mode mode)
{
  simdev *s = sd_now;
  sd_item_issue(s, item);
  if (mode == AT_ONCE || mode == STAGED) return cudaSuccess;
  if (mode == DONE) sd_item_publish_end(s, item);
  if (sd_host_block_on(h, item)) return sd_wait_error(h);
  if (mode == DONE) sd_item_acquire(s, h, item);
  return s->rank[h->agent.rank].process.sticky;
}

static cudaError_t copy(const char *name, const void *pc, void *to, const void *from, size_t bytes,
                        enum cudaMemcpyKind kind, cudaStream_t stream, int async)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_stream *st;
  sd_item *item;
  copy_mode mode;
  cudaError_t e = sd_call_enter(&h, name, pc);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  if ((unsigned)kind > cudaMemcpyDefault) return sd_error(h, cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  if (!to || !from) return sd_error(h, cudaErrorInvalidValue);
  if (!is_kind(kind, sd_memory_kind_of(s, to), sd_memory_kind_of(s, from))) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "%s: the pointers do not match the direction of the copy; cudaMemcpyDefault detects it",
            sd_call_text(h));
    return sd_error(h, cudaErrorInvalidValue);
  }
  e = sd_memory_range(s, h->agent.rank, to, bytes, "writes", NULL);
  if (!e) e = sd_memory_range(s, h->agent.rank, from, bytes, "reads", NULL);
  if (e) return sd_error(h, e);
  item = sd_item_make(st, SIMDEV_COPY, name, h->call, pc);
  if (!item) return sd_error(h, cudaErrorMemoryAllocation);
  item->u.copy.to = to;
  item->u.copy.from = from;
  item->u.copy.bytes = bytes;
  mode = mode_of(s, sd_memory_kind_of(s, to), sd_memory_kind_of(s, from), async);
  if (mode == STAGED) e = stage(h, st, item, async);
  return sd_error(h, e ? e : finish_copy(h, item, mode));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  return copy("cudaMemcpy", SD_PC, to, from, bytes, kind, cudaStreamLegacy, 0);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
  return copy("cudaMemcpyAsync", SD_PC, to, from, bytes, kind, stream, 1);
}

/* ---- Setting --------------------------------------------------------------------------------- */

/* Asynchronous, except cudaMemset of pinned memory. */
static cudaError_t set(const char *name, const void *pc, void *p, int value, size_t bytes,
                       cudaStream_t stream, int async)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_stream *st;
  sd_item *item;
  cudaError_t e = sd_call_enter(&h, name, pc);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  if (bytes == 0) return cudaSuccess;
  if (sd_memory_kind_of(s, p) == SD_PAGEABLE) {
    sd_note(s, SIMDEV_E_ACCESS, 0, h->agent.rank, "%s: %p is pageable host memory", sd_call_text(h),
            p);
    return sd_error(h, cudaErrorInvalidValue);
  }
  e = sd_memory_range(s, h->agent.rank, p, bytes, "writes", NULL);
  if (e) return sd_error(h, e);
  item = sd_item_make(st, SIMDEV_SET, name, h->call, pc);
  if (!item) return sd_error(h, cudaErrorMemoryAllocation);
  item->u.copy.to = p;
  item->u.copy.bytes = bytes;
  item->u.copy.value = value;
  return sd_error(
      h, finish_copy(h, item, !async && sd_memory_kind_of(s, p) == SD_PINNED ? DONE : AT_ONCE));
}

cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
  return set("cudaMemset", SD_PC, p, value, bytes, cudaStreamLegacy, 0);
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
  return set("cudaMemsetAsync", SD_PC, p, value, bytes, stream, 1);
}

/* ---- Per-thread default stream --------------------------------------------------------------- */

static cudaStream_t own(cudaStream_t stream)
{
  return stream ? stream : cudaStreamPerThread;
}

cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  return copy("cudaMemcpy", SD_PC, to, from, bytes, kind, cudaStreamPerThread, 0);
}

cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
  return copy("cudaMemcpyAsync", SD_PC, to, from, bytes, kind, own(stream), 1);
}

cudaError_t cudaMemset_ptds(void *p, int value, size_t bytes)
{
  return set("cudaMemset", SD_PC, p, value, bytes, cudaStreamPerThread, 0);
}

cudaError_t cudaMemsetAsync_ptsz(void *p, int value, size_t bytes, cudaStream_t stream)
{
  return set("cudaMemsetAsync", SD_PC, p, value, bytes, own(stream), 1);
}

cudaError_t cudaMallocAsync_ptsz(void **p, size_t bytes, cudaStream_t stream)
{
  return allocate_async(SD_PC, p, bytes, own(stream));
}

cudaError_t cudaFreeAsync_ptsz(void *p, cudaStream_t stream)
{
  return release_async(SD_PC, p, own(stream));
}
