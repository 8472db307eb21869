/* Which of another stream's events streams have waited for. That stream reaches its events in the
 * order of their numbers, so a wait for one covers those before it: waits that repeat another are
 * left out. spec: STRM-2, STRM-11 */
#ifndef ZP_CUDA_WAITS_H
#define ZP_CUDA_WAITS_H
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../../../ref/base/error.h"

/* Streams that are remembered; those of others wait each time. */
enum { ZP_CUDA_WAITERS = 64 };

/* Zeroed: no stream has waited. */
typedef struct zp_cuda_waits {
  int32_t n;
  cudaStream_t stream[ZP_CUDA_WAITERS];
  int64_t last[ZP_CUDA_WAITERS]; /* the number of the last event that it has waited for */
} zp_cuda_waits;

/* 1: the stream has to wait for event number `at`, which this remembers; 0: it has waited for it,
 * or for a later one. */
int zp_cuda_waits_need(zp_cuda_waits *w, cudaStream_t stream, int64_t at);

/* From here on numbers begin again. */
void zp_cuda_waits_forget(zp_cuda_waits *w);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_waits_invariant(const zp_cuda_waits *w, zp_error *err);

#endif
