/* What a planted fault does, where that is more than leaving something out. */
#include "engine_internal.h"

int zp_cuda_left_out(zp_cuda *e, int32_t site)
{
  const zp_cuda_fault *f = e->opt.fault;
  if (f->site != site || (f->rank >= 0 && f->rank != e->opt.rank)) return 0;
  if (++e->left_out != f->nth && f->nth != 0) return 0;
  if (f->hits) ++*f->hits;
  return 1;
}

int zp_cuda_plant_producers(zp_cuda *e, zp_cuda_flat *s, const zp_op *op, int32_t *n)
{
  const int one =
      zp_cuda_planted(e, ZP_PLANT_ONE_PRODUCER) || zp_cuda_planted(e, ZP_PLANT_ONE_EVENT);
  if (zp_cuda_planted(e, ZP_PLANT_PRODUCERS_KEPT)) s->producers = *n;
  if (zp_cuda_planted(e, ZP_PLANT_FIRST_BATCH) && op->mb > 0) *n = 0;
  if (one && *n > 1) *n = 1;
  if (zp_cuda_planted(e, ZP_PLANT_COMPUTE_ONLY) && *n > 0) {
    ZP_CUDA(e, cudaEventRecord(s->copied[0], e->compute));
    *n = 1;
  }
  return 0;
}

/* As a caching allocator would: the memory is compute's again as soon as the host has no use for
 * it, and compute fills it with something else. */
int zp_cuda_plant_reduced(zp_cuda *e, const zp_op *op)
{
  const zp_range whole = zp_whole_range(&e->lay.flat[op->flat], op->bucket);
  if (!zp_cuda_planted(e, ZP_PLANT_EARLY_FREE) || whole.count == 0) return 0;
  if (e->cfg->stage == 2)
    ZP_CUDA(e, cudaMemsetAsync(zp_cuda_slot(e, op), 0x7f, (size_t)(whole.count * zp_cuda_size(e)),
                               e->compute));
  else
    ZP_CUDA(e, cudaMemsetAsync(zp_cuda_sum(e, e->flat[op->flat].window, whole.at), 0x7f,
                               (size_t)(whole.count * zp_sum_bytes(e->cfg->reduce)), e->compute));
  return 0;
}

int zp_cuda_plant_recorded(zp_cuda *e, const zp_op *op)
{
  if (!zp_cuda_planted(e, ZP_PLANT_UNSETTLED)) return 0;
  return zp_cuda_settle(e, zp_cuda_comm(e, op), "a communication whose event came before it");
}
