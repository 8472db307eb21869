/* spec: STRM-2, STRM-11 */
#include "waits.h"

#include "../../../ref/base/invariant.h"

int zp_cuda_waits_need(zp_cuda_waits *w, cudaStream_t stream, int64_t at)
{
  int32_t i = 0;
  while (i < w->n && w->stream[i] != stream) i++;
  if (i == ZP_CUDA_WAITERS) return 1;
  if (i < w->n && w->last[i] >= at) return 0;
  if (i == w->n) w->stream[w->n++] = stream;
  w->last[i] = at;
  return 1;
}

void zp_cuda_waits_forget(zp_cuda_waits *w)
{
  w->n = 0;
}

int zp_cuda_waits_invariant(const zp_cuda_waits *w, zp_error *err)
{
  ZP_INVARIANT(err, -1, w->n >= 0 && w->n <= ZP_CUDA_WAITERS);
  return 0;
}
