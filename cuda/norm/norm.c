/* norm.h on a device. */
#include "norm.h"

#include "queue.h"

int32_t zp_norm_squares(void *stream, int32_t dtype, const zp_memory_run *run,
                        const zp_memory_run *table, int32_t n, int64_t *words)
{
  return norm_queue_squares(stream, dtype, run, table, n, words);
}

int32_t zp_norm_root(void *stream, int64_t *words, void *norm, int32_t bytes)
{
  return norm_queue_root(stream, words, norm, bytes);
}

int32_t zp_norm_fingerprint(void *stream, const void *x, int64_t bytes, uint64_t at, int64_t *sum)
{
  return norm_queue_fingerprint(stream, x, bytes, at, sum);
}

const char *zp_norm_error(int32_t error)
{
  return error < 0 ? "invalid argument" : cudaGetErrorString((cudaError_t)error);
}
