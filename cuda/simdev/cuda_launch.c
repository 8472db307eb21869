/* Kernels and host functions. */
#include "state.h"

enum { THREADS_MAX = 1024, GRID_YZ_MAX = 65535 };

static int bad_geometry(dim3 grid, dim3 block)
{
  return grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 ||
         block.z == 0 || grid.x > INT32_MAX || grid.y > GRID_YZ_MAX || grid.z > GRID_YZ_MAX ||
         block.x > THREADS_MAX || block.y > THREADS_MAX || block.z > 64 ||
         (uint64_t)block.x * block.y * block.z > THREADS_MAX;
}

/* For all blocks that run at a time. */
static int room_for_shared(simdev *s, sd_stream *st, const sd_kernel_item *k)
{
  const uint64_t blocks = (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
  const size_t bytes =
      sd_shared_of_block(k->shared) * (blocks < SD_BLOCKS ? (size_t)blocks : SD_BLOCKS);
  if (bytes <= st->shared_bytes) return 0;
  st->shared = sd_arena_alloc(&s->arena, bytes);
  st->shared_bytes = st->shared ? bytes : 0;
  return st->shared ? 0 : -1;
}

/* On a device, pointers to other ranks' memory would be illegal addresses. */
static void check_params(simdev *s, const sd_host *h, const sd_kernel_item *k)
{
  for (size_t i = 0; i + 8 <= k->kernel->params_bytes; i += 8) {
    const void *p = *(void *const *)((const char *)k->params + i);
    const sd_alloc *a = sd_memory_kind_of(s, p) == SD_PAGEABLE ? NULL : sd_memory_find(s, p);
    if (a && a->rank != h->agent.rank && !a->freed)
      sd_note(s, SIMDEV_E_ACCESS, 1, h->agent.rank,
              "rank %d, call %d (cudaLaunchKernel): kernel %s gets a pointer to memory of rank %d",
              h->agent.rank, h->call, k->kernel->name, a->rank);
  }
}

static sd_item *make_launch(sd_host *h, sd_stream *st, const simdev_kernel *kernel, void **args,
                            const void *pc)
{
  simdev *s = sd_now;
  sd_item *item = sd_item_make(st, SIMDEV_KERNEL, kernel->name, h->call, pc);
  if (!item) return NULL;
  item->u.kernel.kernel = kernel;
  if (kernel->params_bytes == 0) return item;
  item->u.kernel.params = sd_buffer_acquire(&s->arena, kernel->params_bytes);
  if (!item->u.kernel.params) return NULL;
  sd_race_enter(pc);
  sd_race_read(args[0], kernel->params_bytes);
  sd_race_leave();
  sd_copy_bytes(item->u.kernel.params, args[0], kernel->params_bytes);
  check_params(s, h, &item->u.kernel);
  return item;
}

static cudaError_t launch(const void *pc, const void *func, dim3 grid, dim3 block, void **args,
                          size_t shared, cudaStream_t stream)
{
  simdev *s = sd_now;
  const simdev_kernel *kernel = func;
  sd_host *h;
  sd_stream *st;
  sd_item *item;
  sd_kernel_item *k;
  cudaError_t e = sd_call_enter(&h, "cudaLaunchKernel", pc);
  if (e) return e;
  if (!kernel || !kernel->body || (kernel->phases < 1 && kernel->phases != SIMDEV_LOOP))
    return sd_error(h, cudaErrorInvalidDeviceFunction);
  if (bad_geometry(grid, block)) return sd_error(h, cudaErrorInvalidConfiguration);
  if (shared > sd_shared_max(s, func)) return sd_error(h, cudaErrorInvalidValue);
  if (kernel->params_bytes && (!args || !args[0])) return sd_error(h, cudaErrorInvalidValue);
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  if (st->device != h->device) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "rank %d, call %d (cudaLaunchKernel): the stream is device %d's, the current device "
            "is %d: cudaSetDevice first",
            h->agent.rank, h->call, st->device, h->device);
    return sd_error(h, cudaErrorInvalidResourceHandle);
  }
  e = sd_load_late(h, kernel);
  if (e) return sd_error(h, e);
  item = make_launch(h, st, kernel, args, pc);
  if (!item) return sd_error(h, cudaErrorMemoryAllocation);
  k = &item->u.kernel;
  k->shared = shared;
  k->grid[0] = grid.x, k->grid[1] = grid.y, k->grid[2] = grid.z;
  k->block[0] = block.x, k->block[1] = block.y, k->block[2] = block.z;
  if (room_for_shared(s, st, k)) return sd_error(h, cudaErrorMemoryAllocation);
  sd_item_issue(s, item);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
  return launch(SD_PC, func, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
                                  size_t shared, cudaStream_t stream)
{
  return launch(SD_PC, func, grid, block, args, shared, stream ? stream : cudaStreamPerThread);
}

static cudaError_t launch_host(const void *pc, cudaStream_t stream, cudaHostFn_t fn, void *arg)
{
  sd_host *h;
  sd_stream *st;
  sd_item *item;
  cudaError_t e = sd_call_enter(&h, "cudaLaunchHostFunc", pc);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  if (!fn) return sd_error(h, cudaErrorInvalidValue);
  item = sd_item_make(st, SIMDEV_HOST_FUNCTION, "cudaLaunchHostFunc", h->call, pc);
  if (!item) return sd_error(h, cudaErrorMemoryAllocation);
  item->u.host.fn = fn;
  item->u.host.arg = arg;
  sd_item_issue(sd_now, item);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg)
{
  return launch_host(SD_PC, stream, fn, arg);
}

cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t fn, void *arg)
{
  return launch_host(SD_PC, stream ? stream : cudaStreamPerThread, fn, arg);
}
