/* spec: STEP-1, PART-5, TIE-2 */
#include "buffers.h"

#include <stdlib.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/engine/partial.h"
#include "../../../ref/engine/window.h"

int zp_cuda_buffers_open(zp_cuda_buffers *b, zp_cuda_rank *r)
{
  b->r = r;
  b->flat = calloc((size_t)r->plan.lay.n_flats + 1, sizeof *b->flat);
  b->param = calloc((size_t)r->plan.lay.n_params + 1, sizeof *b->param);
  return b->flat && b->param ? 0 : zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for the buffers");
}

/* Masters, moments, and what travels to and from them. */
static int open_pinned(zp_cuda_buffers *b, zp_cuda_allocations *a, int32_t k, int64_t extent)
{
  const int64_t size = zp_cuda_value_bytes(&b->r->plan, k);
  zp_cuda_flat *s = &b->flat[k];
  ZP_TRY(zp_cuda_allocate_pinned(a, &s->gradient_host, extent, 4));
  ZP_TRY(zp_cuda_allocate_pinned(a, &s->param_host, extent, size));
  ZP_TRY(zp_cuda_allocate_pinned(a, &s->master, extent, 4));
  ZP_TRY(zp_cuda_allocate_pinned(a, &s->moment1, extent, 4));
  return zp_cuda_allocate_pinned(a, &s->moment2, extent, 4);
}

int zp_cuda_buffers_open_flat(zp_cuda_buffers *b, zp_cuda_allocations *a, int32_t k)
{
  const zp_cuda_plan *p = &b->r->plan;
  const zp_flat *f = &p->lay.flat[k];
  const int64_t extent = zp_extent(f, p->cfg->stage);
  const int64_t sum = zp_cuda_sum_bytes(p, k);
  zp_memory *use = &a->bytes.planned;
  zp_cuda_flat *s = &b->flat[k];
  if (p->cfg->stage < 2)
    ZP_TRY(zp_cuda_allocate_zeros(a, &use->window, &s->window, zp_padded(f), sum));
  else ZP_TRY(zp_cuda_allocate_zeros(a, &use->reduced, &s->reduced, extent, sum));
  if (f->use != 0) return 0;
  if (zp_has_views(p->cfg, &p->lay, k))
    ZP_TRY(zp_cuda_allocate_zeros(a, &use->params, &s->params, zp_padded(f),
                                  zp_cuda_value_bytes(p, k)));
  if (p->cfg->reduce == ZP_EXACT && p->cfg->stage < 2)
    ZP_TRY(zp_cuda_allocate_zeros(a, &use->mean, &s->mean, extent, 4));
  if (b->r->opt.offload) return open_pinned(b, a, k, extent);
  ZP_TRY(zp_cuda_allocate_zeros(a, &use->state, &s->master, extent, 4));
  ZP_TRY(zp_cuda_allocate_zeros(a, &use->state, &s->moment1, extent, 4));
  return zp_cuda_allocate_zeros(a, &use->state, &s->moment2, extent, 4);
}

int zp_cuda_buffers_open_param(zp_cuda_buffers *b, zp_cuda_allocations *a, int32_t i)
{
  const zp_cuda_plan *p = &b->r->plan;
  const int32_t holder = zp_storage_of(p->cfg, &p->lay, i);
  if (holder != i) { /* which comes later in the list */
    b->param[i] = b->param[holder];
    return 0;
  }
  const zp_spot *spot = &p->lay.spot[i];
  if (spot->flat >= 0 && b->flat[spot->flat].params) {
    b->param[i] = (char *)b->flat[spot->flat].params + spot->start * zp_cuda_entry_bytes(p, i);
    return 0;
  }
  const int64_t numel = p->cfg->params[p->lay.first_param + i].numel;
  const int64_t padded = zp_cuda_flat_size(p, i), size = zp_cuda_entry_bytes(p, i);
  zp_memory *use = &a->bytes.planned;
  if (padded == numel) return zp_cuda_allocate(a, &use->params, &b->param[i], numel, size);
  return zp_cuda_allocate_zeros(a, &use->params, &b->param[i], padded, size);
}

/* ---- Scratch --------------------------------------------------------------------------------- */

/* recv also holds the sums of one bucket of all members of a tied key's group, of tp, or of the
 * replicas. */
static int64_t members_bytes(const zp_cuda_plan *p)
{
  int64_t most = 0;
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_flat *f = &p->lay.flat[k];
    const int64_t stages = f->tied < 0 ? 0 : zp_block_group_size(&p->block, ZP_GROUP_TIED, f->tied);
    const int64_t shares = p->cfg->sequence_parallel ? p->cfg->tp : 0;
    const int64_t bytes = (stages > shares ? stages : shares) * zp_widest(f) * 4;
    const int64_t shards =
        f->numel > 0 && p->block.replicas > 1 ? p->block.replicas * zp_part(f, 0) * 4 : 0;
    if (bytes > most) most = bytes;
    if (shards > most) most = shards;
  }
  return most;
}

int zp_cuda_buffers_open_scratch(zp_cuda_buffers *b, zp_cuda_allocations *a)
{
  const zp_cuda_plan *p = &b->r->plan;
  const zp_scratch scratch = zp_scratch_need(p->cfg, &p->lay);
  const int64_t partial = zp_partial_bytes(p->cfg, &p->lay);
  int64_t *use = &a->bytes.planned.scratch;
  if (partial > 0) ZP_TRY(zp_cuda_allocate(a, use, &b->partial, partial, 1));
  ZP_TRY(zp_cuda_allocate(a, use, &b->send, scratch.send, 1));
  return zp_cuda_allocate_more(
      a, use, &b->recv, scratch.recv - zp_device_spare_limbs(&p->block, &p->lay), members_bytes(p));
}

void zp_cuda_buffers_close(zp_cuda_buffers *b)
{
  free(b->flat);
  free(b->param);
}

float *zp_cuda_state_array(const zp_cuda_buffers *b, int32_t k, int32_t what)
{
  const zp_cuda_flat *s = &b->flat[k];
  if (what == ZP_WHAT_MASTER) return s->master;
  return what == ZP_WHAT_MOMENT1 ? s->moment1 : s->moment2;
}

void *zp_cuda_sums_of(const zp_cuda_buffers *b, int32_t k, zp_range r)
{
  const zp_cuda_plan *p = &b->r->plan;
  const zp_cuda_flat *s = &b->flat[k];
  return p->cfg->stage == 2 ? zp_cuda_sum(p, k, s->reduced, r.at)
                            : zp_cuda_sum(p, k, s->window, r.flat);
}

zp_cuda_gradient zp_cuda_gradient_of(const zp_cuda_buffers *b, int32_t k, zp_range r)
{
  const zp_cuda_flat *s = &b->flat[k];
  if (s->mean) return (zp_cuda_gradient){s->mean + r.at, 0};
  const int exact = b->r->plan.cfg->reduce == ZP_EXACT;
  return (zp_cuda_gradient){zp_cuda_sums_of(b, k, r), exact ? 0 : zp_cuda_divisor(&b->r->plan)};
}

int zp_cuda_buffers_invariant(const zp_cuda_buffers *b, zp_error *err)
{
  const zp_cuda_plan *p = &b->r->plan;
  ZP_INVARIANT(err, -1, b->send && b->recv);
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_cuda_flat *s = &b->flat[k];
    ZP_INVARIANT(err, -1, !s->window == (p->cfg->stage == 2));
    ZP_INVARIANT(err, -1, !s->reduced == (p->cfg->stage < 2));
    ZP_INVARIANT(err, -1, !s->master == (p->lay.flat[k].use != 0));
    ZP_INVARIANT(err, -1, !s->master == !(s->moment1 && s->moment2));
    ZP_INVARIANT(err, -1,
                 !s->mean == !(s->master && p->cfg->reduce == ZP_EXACT && p->cfg->stage < 2));
    ZP_INVARIANT(err, -1, !s->gradient_host == !(s->master && b->r->opt.offload));
  }
  return 0;
}
