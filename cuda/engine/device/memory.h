/* Memory and events that opening allocates; a step allocates nothing. spec: STEP-1 */
#ifndef ZP_CUDA_ALLOCATIONS_H
#define ZP_CUDA_ALLOCATIONS_H

#include "rank.h"

/* A pinned array. pages: bytes of zp_host_pages that CUDA has registered; 0: it is CUDA's own. */
typedef struct zp_cuda_pinned {
  void *p;
  size_t pages;
} zp_cuda_pinned;

typedef struct zp_cuda_allocations {
  zp_cuda_rank *r;
  zp_cuda_memory bytes; /* allocated, by use */
  void **device;        /* [cap_device] the first n_device are allocated */
  int32_t n_device, cap_device;
  zp_cuda_pinned *pinned; /* [n_pinned] */
  int32_t n_pinned;
} zp_cuda_allocations;

/* Device memory for `count` elements, at least one byte. to: the address of a pointer; use: the
 * member of a->bytes that it adds to. */
int zp_cuda_allocate(zp_cuda_allocations *a, int64_t *use, void *to, int64_t count, int64_t bytes);
/* The same, zeroed on the reduction stream. */
int zp_cuda_allocate_zeros(zp_cuda_allocations *a, int64_t *use, void *to, int64_t count,
                           int64_t bytes);
/* Device memory for `needed` bytes, and for `planned` ones at least: those add to *use, what is
 * needed beyond them to a->bytes.sums. */
int zp_cuda_allocate_more(zp_cuda_allocations *a, int64_t *use, void *to, int64_t planned,
                          int64_t needed);
/* Pinned host memory, zeroed; adds to a->bytes.host. */
int zp_cuda_allocate_pinned(zp_cuda_allocations *a, void *to, int64_t count, int64_t bytes);
/* spec: STRM-10 */
int zp_cuda_create_stream(zp_cuda_rank *r, cudaStream_t *stream, int has_communication);
int zp_cuda_create_event(zp_cuda_rank *r, cudaEvent_t *event);

/* NULL streams and events are ignored. */
void zp_cuda_destroy_stream(cudaStream_t stream);
void zp_cuda_destroy_event(cudaEvent_t event);
void zp_cuda_free_pinned(zp_cuda_allocations *a);
void zp_cuda_free_device(zp_cuda_allocations *a);
/* The lists alone: what could not be freed is left to the end of the process. */
void zp_cuda_allocations_close(zp_cuda_allocations *a);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_allocations_invariant(const zp_cuda_allocations *a, zp_error *err);

#endif
