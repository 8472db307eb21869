/* The driver's API: cuStreamWriteValue32, by which a stream writes a word. */
#include <cuda.h>

#include "state.h"

static CUresult result_of(cudaError_t e)
{
  switch (e) {
  case cudaSuccess: return CUDA_SUCCESS;
  case cudaErrorInvalidValue: return CUDA_ERROR_INVALID_VALUE;
  case cudaErrorMemoryAllocation: return CUDA_ERROR_OUT_OF_MEMORY;
  case cudaErrorInvalidResourceHandle: return CUDA_ERROR_INVALID_HANDLE;
  case cudaErrorNotPermitted: return CUDA_ERROR_NOT_PERMITTED;
  case cudaErrorInitializationError: return CUDA_ERROR_NOT_INITIALIZED;
  default: return CUDA_ERROR_UNKNOWN;
  }
}

/* An atomic access for the race detector: hosts read such a word while it is written, and then by
 * an atomic access, too. It orders nothing else. */
static CUresult write_value(const void *pc, CUstream stream, CUdeviceptr to, cuuint32_t value)
{
  simdev *s = sd_now;
  void *p = (void *)(uintptr_t)to;
  sd_host *h;
  sd_stream *st;
  sd_item *item;
  cudaError_t e = sd_call_enter(&h, "cuStreamWriteValue32", pc);
  if (e) return h && h->injected ? (CUresult)e : result_of(e);
  if (!h->bound) {
    sd_note(
        s, SIMDEV_E_MISUSE, 0, h->agent.rank,
        "%s: the thread may have no context: call cudaSetDevice first (cudaGetDevice creates none)",
        sd_call_text(h));
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  st = sd_stream_of(h, (cudaStream_t)stream);
  if (!st) return CUDA_ERROR_INVALID_HANDLE;
  if (to % 4 != 0 || sd_memory_kind_of(s, p) == SD_PAGEABLE) {
    sd_note(s, SIMDEV_E_ACCESS, 0, h->agent.rank,
            "%s: %p is not a multiple of 4, or neither device nor pinned memory", sd_call_text(h),
            p);
    return CUDA_ERROR_INVALID_VALUE;
  }
  e = sd_memory_range(s, h->agent.rank, p, 4, "writes", NULL);
  if (e) return result_of(e);
  item = sd_item_make(st, SIMDEV_WORD, "cuStreamWriteValue32", h->call, pc);
  if (!item) return CUDA_ERROR_OUT_OF_MEMORY;
  item->u.copy.to = p;
  item->u.copy.bytes = 4;
  item->u.copy.value = (int32_t)value;
  sd_item_issue(s, item);
  return CUDA_SUCCESS;
}

/* cuda.h adds a version to the name. Only the flags CU_STREAM_WRITE_VALUE_DEFAULT are supported. */
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags)
{
  return flags ? CUDA_ERROR_INVALID_VALUE : write_value(SD_PC, stream, to, value);
}
