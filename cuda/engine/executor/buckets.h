/* The open bucket of each flat group: the streams that have filled it, and, at stage 2, the slots
 * that the rank's buckets use in turn. At most one bucket of a flat group is being filled at a
 * time: the program adds entries in backward order, and reduces a bucket before anything goes into
 * the next. spec: STRM-1, STRM-2 */
#ifndef ZP_CUDA_BUCKETS_H
#define ZP_CUDA_BUCKETS_H

#include "../device/memory.h"
#include "waits.h"

/* Streams that may fill one bucket. Each costs an event a flat group. */
enum { ZP_CUDA_PRODUCERS = 16 };

typedef struct zp_cuda_bucket {
  /* streams that have filled the open bucket, and what each had queued after its last copy */
  int32_t producers;
  cudaStream_t producer[ZP_CUDA_PRODUCERS];
  cudaEvent_t copied[ZP_CUDA_PRODUCERS];
} zp_cuda_bucket;

typedef struct zp_cuda_buckets {
  zp_cuda_rank *r;
  zp_cuda_bucket *flat; /* [lay.n_flats] */
  /* [plan.slots] contributions; the reduction that read them has ended;
   * which of the step's reductions that was, from 1; 0: none yet */
  void **slot;
  cudaEvent_t *free;
  int64_t *read;
  int64_t reductions;    /* of slots, in this step */
  zp_cuda_waits waits;   /* for reductions of this step */
  int32_t after_forward; /* 1: reduce is ordered after the step's last forward */
} zp_cuda_buckets;

/* The lists; then each flat group's events; and the slots. */
int zp_cuda_buckets_open(zp_cuda_buckets *b, zp_cuda_rank *r);
int zp_cuda_buckets_open_flat(zp_cuda_buckets *b, int32_t k);
int zp_cuda_buckets_open_slots(zp_cuda_buckets *b, zp_cuda_allocations *a);
void zp_cuda_buckets_close(zp_cuda_buckets *b);

void zp_cuda_buckets_begin_step(zp_cuda_buckets *b);
/* 0; ZP_E_INTERNAL if a bucket is not closed, although all are reduced. STRM-1 */
int zp_cuda_buckets_end_step(const zp_cuda_buckets *b);

/* Bytes of a slot, which the buckets of all flat groups use in turn. */
int64_t zp_cuda_slot_bytes(const zp_cuda_rank *r);
/* The dtype of the contributions of flat group k in a slot: `native` sums travel as fp32, so that
 * gradients are widened on their way into the slot. RED-7 */
int32_t zp_cuda_slot_dtype(const zp_cuda_rank *r, int32_t k);
/* A stage-2 op's slot, from element `at` on. */
char *zp_cuda_slot(const zp_cuda_buckets *b, const zp_op *op, int64_t at);

/* Before a stream writes into op's slot: the reduction of earlier contents has read it. */
int zp_cuda_wait_for_slot(zp_cuda_buckets *b, const zp_op *op, cudaStream_t stream);
/* op's bucket will be reduced after what the stream has queued so far. */
int zp_cuda_add_producer(zp_cuda_buckets *b, const zp_op *op, cudaStream_t stream);
/* reduce waits for every stream that filled op's bucket, which is then closed. */
int zp_cuda_wait_for_producers(zp_cuda_buckets *b, const zp_op *op);
/* The reduction that op has queued is the last that reads its slot. */
int zp_cuda_release_slot(zp_cuda_buckets *b, const zp_op *op);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_buckets_invariant(const zp_cuda_buckets *b, zp_error *err);

#endif
