/* spec: STRM-1, STRM-2 */
#include "buckets.h"

#include <stdlib.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/engine/bucket_slots.h"
#include "../../../ref/engine/window.h"
#include "../device/launch.h"
#include "../device/needed_records.h"

int zp_cuda_buckets_open(zp_cuda_buckets *b, zp_cuda_rank *r)
{
  b->r = r;
  const size_t slots = (size_t)r->plan.slots + 1;
  b->flat = calloc((size_t)r->plan.lay.n_flats + 1, sizeof *b->flat);
  b->slot = calloc(slots, sizeof *b->slot);
  b->free = calloc(slots, sizeof *b->free);
  b->read = calloc(slots, sizeof *b->read);
  return b->flat && b->slot && b->free && b->read
             ? 0
             : zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for the buckets");
}

int zp_cuda_buckets_open_flat(zp_cuda_buckets *b, int32_t k)
{
  for (int32_t i = 0; i < ZP_CUDA_PRODUCERS; i++)
    ZP_TRY(zp_cuda_create_event(b->r, &b->flat[k].copied[i]));
  return 0;
}

int zp_cuda_buckets_open_slots(zp_cuda_buckets *b, zp_cuda_allocations *a)
{
  const zp_cuda_plan *p = &b->r->plan;
  const int64_t planned = zp_slot_bytes(p->cfg, &p->lay, p->block.fp32_gradients);
  for (int32_t i = 0; i < p->slots; i++) {
    ZP_TRY(zp_cuda_allocate_more(a, &a->bytes.planned.slots, &b->slot[i], planned,
                                 zp_cuda_slot_bytes(b->r)));
    ZP_TRY(zp_cuda_create_event(b->r, &b->free[i]));
  }
  return 0;
}

void zp_cuda_buckets_close(zp_cuda_buckets *b)
{
  for (int32_t k = 0; b->flat && k < b->r->plan.lay.n_flats; k++)
    for (int32_t i = 0; i < ZP_CUDA_PRODUCERS; i++) zp_cuda_destroy_event(b->flat[k].copied[i]);
  for (int32_t i = 0; b->free && i < b->r->plan.slots; i++) zp_cuda_destroy_event(b->free[i]);
  free(b->flat);
  free(b->slot);
  free(b->free);
  free(b->read);
}

void zp_cuda_buckets_begin_step(zp_cuda_buckets *b)
{
  for (int32_t i = 0; i < b->r->plan.slots; i++) b->read[i] = 0;
  b->reductions = 0;
  zp_cuda_waits_forget(&b->waits);
  b->after_forward = 0;
}

/* A stream that stays listed would be waited for by later buckets, too, until the list is full. */
int zp_cuda_buckets_end_step(const zp_cuda_buckets *b)
{
  for (int32_t k = 0; k < b->r->plan.lay.n_flats; k++)
    if (b->flat[k].producers > 0)
      return zp_cuda_fail(b->r, ZP_E_INTERNAL,
                          "flat group %d: at the end of a step %d streams are listed for a bucket, "
                          "expected 0: a reduction empties the list (STRM-1)",
                          k, b->flat[k].producers);
  return 0;
}

int64_t zp_cuda_slot_bytes(const zp_cuda_rank *r)
{
  const zp_cuda_plan *p = &r->plan;
  return zp_slot_bytes(p->cfg, &p->lay, r->opt.native || p->block.fp32_gradients);
}

int32_t zp_cuda_slot_dtype(const zp_cuda_rank *r, int32_t k)
{
  return r->opt.native ? ZP_F32 : zp_cuda_gradient_dtype(&r->plan, k);
}

char *zp_cuda_slot(const zp_cuda_buckets *b, const zp_op *op, int64_t at)
{
  return (char *)b->slot[op->slot] + at * zp_dtype_bytes(zp_cuda_slot_dtype(b->r, op->flat));
}

/* The step before is ordered before the compute stream's callbacks, hence before the gradient. */
int zp_cuda_wait_for_slot(zp_cuda_buckets *b, const zp_op *op, cudaStream_t stream)
{
  const int64_t n = b->read[op->slot];
  if (stream == b->r->reduce || n == 0 || !zp_cuda_waits_need(&b->waits, stream, n)) return 0;
  return zp_cuda_wait(b->r, ZP_SYNC_FREE_WAIT, stream, b->free[op->slot]);
}

int zp_cuda_add_producer(zp_cuda_buckets *b, const zp_op *op, cudaStream_t stream)
{
  zp_cuda_bucket *s = &b->flat[op->flat];
  int32_t i = 0;
  while (i < s->producers && s->producer[i] != stream) i++;
  if (i == ZP_CUDA_PRODUCERS)
    return zp_cuda_fail(b->r, ZP_E_REFUSED, "more than %d streams fill one bucket",
                        ZP_CUDA_PRODUCERS);
  if (i == s->producers) s->producer[s->producers++] = stream;
  return zp_cuda_record(b->r, ZP_SYNC_COPIED_RECORD, s->copied[i], stream);
}

/* Without producers only the reduction stream can have filled the bucket. */
int zp_cuda_wait_for_producers(zp_cuda_buckets *b, const zp_op *op)
{
  const zp_config *cfg = b->r->plan.cfg;
  zp_cuda_bucket *s = &b->flat[op->flat];
  const int32_t n = s->producers;
  s->producers = 0;
  /* gradients follow all that compute had queued before their backward */
  if (n > 0 && (cfg->stage < 2 || op->mb == cfg->micro_batches - 1)) b->after_forward = 1;
  for (int32_t i = 0; i < n; i++)
    ZP_TRY(zp_cuda_wait(b->r, ZP_SYNC_COPIED_WAIT, b->r->reduce, s->copied[i]));
  return 0;
}

int zp_cuda_release_slot(zp_cuda_buckets *b, const zp_op *op)
{
  b->read[op->slot] = ++b->reductions;
  if (!zp_cuda_record_is_needed(&b->r->plan, &b->r->progress.host)) return 0;
  return zp_cuda_record(b->r, ZP_SYNC_FREE_RECORD, b->free[op->slot], b->r->reduce);
}

int zp_cuda_buckets_invariant(const zp_cuda_buckets *b, zp_error *err)
{
  ZP_INVARIANT(err, -1, b->reductions >= 0);
  for (int32_t k = 0; k < b->r->plan.lay.n_flats; k++) {
    const zp_cuda_bucket *s = &b->flat[k];
    ZP_INVARIANT(err, -1, s->producers >= 0 && s->producers <= ZP_CUDA_PRODUCERS);
  }
  for (int32_t i = 0; i < b->r->plan.slots; i++) {
    ZP_INVARIANT(err, -1, b->slot[i] && b->read[i] <= b->reductions);
    ZP_INVARIANT(err, -1, i == 0 || b->read[i] == 0 || b->read[i] != b->read[i - 1]);
  }
  return zp_cuda_waits_invariant(&b->waits, err);
}
