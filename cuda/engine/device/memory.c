/* spec: STEP-1, LIM-0 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/engine/window.h"
#include "../../host_optimizer/pages.h"

static int make_room(zp_cuda_allocations *a)
{
  const int32_t cap = 2 * a->cap_device + 64;
  void **more;
  if (a->n_device < a->cap_device) return 0;
  more = realloc(a->device, (size_t)cap * sizeof *more);
  if (!more) return zp_cuda_fail(a->r, ZP_E_MEMORY, "no host memory");
  a->device = more;
  a->cap_device = cap;
  return 0;
}

int zp_cuda_allocate(zp_cuda_allocations *a, int64_t *use, void *to, int64_t count, int64_t bytes)
{
  void *p = NULL;
  ZP_TRY(make_room(a));
  if (zp_arena_next(0, count, bytes) < 0)
    return zp_cuda_fail(a->r, ZP_E_MEMORY, "an array is too large for any device");
  ZP_CUDA(a->r, cudaMalloc(&p, count * bytes > 0 ? (size_t)(count * bytes) : 1));
  a->device[a->n_device++] = p;
  *use += count * bytes;
  memcpy(to, &p, sizeof p);
  return 0;
}

int zp_cuda_allocate_zeros(zp_cuda_allocations *a, int64_t *use, void *to, int64_t count,
                           int64_t bytes)
{
  ZP_TRY(zp_cuda_allocate(a, use, to, count, bytes));
  if (count * bytes == 0) return 0;
  ZP_CUDA(a->r,
          cudaMemsetAsync(a->device[a->n_device - 1], 0, (size_t)(count * bytes), a->r->reduce));
  return 0;
}

int zp_cuda_allocate_more(zp_cuda_allocations *a, int64_t *use, void *to, int64_t planned,
                          int64_t needed)
{
  const int64_t more = needed > planned ? needed - planned : 0;
  ZP_TRY(zp_cuda_allocate(a, use, to, planned + more, 1));
  *use -= more;
  a->bytes.sums += more;
  return 0;
}

/* Large pages, which CUDA pins as they are. NULL: the array is small, the system has none, or CUDA
 * does not pin them; then CUDA allocates, and chooses the pages. */
static void *allocate_pages(zp_cuda_pinned *to, size_t bytes)
{
  if (bytes < ZP_LARGE_PAGE || !(to->p = zp_host_pages(bytes, 1))) return NULL;
  if (cudaHostRegister(to->p, bytes, cudaHostRegisterDefault) == cudaSuccess) {
    to->pages = bytes;
    return to->p;
  }
  (void)cudaGetLastError(); /* not the program's */
  zp_host_pages_back(to->p, bytes);
  return to->p = NULL;
}

int zp_cuda_allocate_pinned(zp_cuda_allocations *a, void *to, int64_t count, int64_t bytes)
{
  zp_cuda_pinned *more, *mine;
  if (zp_arena_next(0, count, bytes) < 0)
    return zp_cuda_fail(a->r, ZP_E_MEMORY, "an array is too large for any host");
  more = realloc(a->pinned, (size_t)(a->n_pinned + 1) * sizeof *more);
  if (!more) return zp_cuda_fail(a->r, ZP_E_MEMORY, "no memory for the list of pinned arrays");
  a->pinned = more;
  mine = &more[a->n_pinned];
  memset(mine, 0, sizeof *mine);
  if (!allocate_pages(mine, (size_t)(count * bytes))) {
    ZP_CUDA(a->r, cudaMallocHost(&mine->p, count * bytes > 0 ? (size_t)(count * bytes) : 1));
    memset(mine->p, 0, (size_t)(count * bytes));
  }
  a->n_pinned++;
  memcpy(to, &mine->p, sizeof mine->p);
  a->bytes.host += count * bytes;
  return 0;
}

int zp_cuda_create_stream(zp_cuda_rank *r, cudaStream_t *stream, int has_communication)
{
  int least = 0, greatest = 0;
  ZP_CUDA(r, cudaDeviceGetStreamPriorityRange(&least, &greatest));
  ZP_CUDA(r, cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking,
                                          has_communication ? greatest : least));
  return 0;
}

int zp_cuda_create_event(zp_cuda_rank *r, cudaEvent_t *event)
{
  ZP_CUDA(r, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  return 0;
}

void zp_cuda_destroy_stream(cudaStream_t stream)
{
  if (stream) cudaStreamDestroy(stream);
}

void zp_cuda_destroy_event(cudaEvent_t event)
{
  if (event) cudaEventDestroy(event);
}

void zp_cuda_free_pinned(zp_cuda_allocations *a)
{
  for (int32_t i = 0; i < a->n_pinned; i++) {
    const zp_cuda_pinned *mine = &a->pinned[i];
    if (mine->pages == 0) cudaFreeHost(mine->p);
    else if (cudaHostUnregister(mine->p) == cudaSuccess) zp_host_pages_back(mine->p, mine->pages);
  }
  a->n_pinned = 0;
}

void zp_cuda_free_device(zp_cuda_allocations *a)
{
  for (int32_t i = 0; i < a->n_device; i++) cudaFree(a->device[i]);
  a->n_device = 0;
}

void zp_cuda_allocations_close(zp_cuda_allocations *a)
{
  free(a->device);
  free(a->pinned);
}

int zp_cuda_allocations_invariant(const zp_cuda_allocations *a, zp_error *err)
{
  ZP_INVARIANT(err, -1, a->n_device >= 0 && a->n_device <= a->cap_device);
  ZP_INVARIANT(err, -1, a->n_pinned >= 0);
  ZP_INVARIANT(err, -1, a->bytes.staging >= 0 && a->bytes.messages >= 0 && a->bytes.host >= 0);
  return 0;
}
