/* The arrays of the stage's flat groups and entries. spec: STEP-1, PART-5 */
#ifndef ZP_CUDA_BUFFERS_H
#define ZP_CUDA_BUFFERS_H

#include "../../../ref/engine/window.h"
#include "../device/memory.h"

/* The arrays of one flat group. What is offloaded is pinned host memory. */
typedef struct zp_cuda_flat {
  /* stages 0, 1: (padded) sums of this rank's micro-batches; what the rank holds of them becomes
   * sums over the ranks, in place */
  void *window;
  void *reduced; /* stage 2: (extent) sums over the ranks; `exact`: packed. SUM-8 */
  /* (extent); NULL for a further use of a tied key, which the holder updates. mean: stages 0 and 1,
   * `exact` only */
  float *mean, *master, *moment1, *moment2;
  void *params; /* (padded) all parameters; NULL: entries have their own */
  /* offload: (extent) in pinned memory: copies of what the update reads, and the rounded masters */
  float *gradient_host;
  void *param_host;
} zp_cuda_flat;

typedef struct zp_cuda_buffers {
  zp_cuda_rank *r;
  zp_cuda_flat *flat; /* [lay.n_flats] */
  void **param;       /* [lay.n_params] storage; a further use of a key has the holder's */
  void *send, *recv;  /* scratch of the reduction stream */
  void *partial;      /* with sequence parallelism: a bucket's sums over tp, packed */
} zp_cuda_buffers;

/* The lists; then the arrays of each flat group, of each entry from the last to the first, and the
 * scratch. */
int zp_cuda_buffers_open(zp_cuda_buffers *b, zp_cuda_rank *r);
int zp_cuda_buffers_open_flat(zp_cuda_buffers *b, zp_cuda_allocations *a, int32_t k);
int zp_cuda_buffers_open_param(zp_cuda_buffers *b, zp_cuda_allocations *a, int32_t i);
int zp_cuda_buffers_open_scratch(zp_cuda_buffers *b, zp_cuda_allocations *a);
void zp_cuda_buffers_close(zp_cuda_buffers *b); /* the lists alone */

/* The master, first or second moment (ZP_WHAT_…) of flat group k. */
float *zp_cuda_state_array(const zp_cuda_buffers *b, int32_t k, int32_t what);

/* The sums (fp32, limbs, or packed) of range r of flat group k, which the rank holds; packed: r is
 * all that it holds of a bucket. */
void *zp_cuda_sums_of(const zp_cuda_buffers *b, int32_t k, zp_range r);

/* What the update of range r of flat group k reads: with `exact` the means, divisor = 0; else fp32
 * sums, which it divides by `divisor`, D·M. Means that took the place of packed sums begin where
 * those do: r as for zp_cuda_sums_of. RED-4 */
typedef struct zp_cuda_gradient {
  const float *data; /* (r.count) */
  int64_t divisor;
} zp_cuda_gradient;
zp_cuda_gradient zp_cuda_gradient_of(const zp_cuda_buffers *b, int32_t k, zp_range r);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_buffers_invariant(const zp_cuda_buffers *b, zp_error *err);

#endif
