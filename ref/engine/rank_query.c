#include "rank_query.h"

#include "../num/packed.h"
#include "count.h"

int zp_next_piece(const zp_rank *r, int32_t k, zp_range p, int32_t *i, zp_piece *g)
{
  do {
    *g = zp_piece_next(&r->block.cfg, &r->lay, k, p, *i);
    *i = g->i;
    if (g->count == 0) return 0;
    g->count = zp_block_own(&r->block, g->param, g->offset, g->count);
  } while (g->count == 0);
  return 1;
}

int32_t zp_copy_tp(const zp_rank *r, int32_t j)
{
  return r->cfg->params[j].sharded ? r->at.tp : 0;
}

int32_t zp_copy_ep(const zp_rank *r, int32_t j)
{
  return r->cfg->params[j].expert ? r->at.dp % r->cfg->ep : 0;
}

zp_range zp_rank_range(const zp_rank *r, int32_t k, int64_t b)
{
  return zp_local_range(&r->block.cfg, &r->lay, r->block.at, k, b);
}

zp_range zp_rank_owned(const zp_rank *r, int32_t k, int64_t b)
{
  return zp_owned_range(&r->block.cfg, &r->lay, r->block.at, k, b);
}

int32_t zp_gradients_of(const zp_rank *r, int32_t k)
{
  return zp_block_gradients(&r->block, r->lay.flat[k].fp32);
}

void *zp_sums_of(const zp_rank *r, int32_t k, int64_t b)
{
  const zp_flat_state *s = &r->flat[k];
  const zp_range p = zp_rank_range(r, k, b);
  const int64_t bytes = zp_kept_sum_bytes(r->cfg->stage, r->cfg->reduce, zp_gradients_of(r, k));
  return r->cfg->stage == 2 ? (char *)s->reduced + p.at * bytes
                            : (char *)s->window + p.flat * bytes;
}

zp_packed zp_packed_of(const zp_rank *r, int32_t k, int64_t b)
{
  const int64_t n = zp_rank_range(r, k, b).count;
  uint32_t *low = zp_sums_of(r, k, b);
  if (zp_gradients_of(r, k) == ZP_F16) return (zp_packed){low, NULL, n};
  return (zp_packed){low, (int64_t *)(void *)(low + ZP_PACKED_WORDS * n), n};
}

void zp_packed_get(zp_packed p, int64_t i, int64_t limb[ZP_LIMBS])
{
  if (p.top == NULL) zp_val_unpack_f16(limb, p.low, p.n, i);
  else zp_val_unpack(limb, p.low, p.top, p.n, i);
}

float *zp_state_of(const zp_rank *r, int32_t k, int32_t what)
{
  const zp_flat_state *s = &r->flat[k];
  if (what == ZP_WHAT_MASTER) return s->master;
  return what == ZP_WHAT_MOMENT1 ? s->moment1 : s->moment2;
}

float *zp_held_of(const zp_rank *r, int32_t k, int64_t b, int32_t what)
{
  const zp_flat_state *s = &r->flat[k];
  const int64_t at = zp_rank_range(r, k, b).at;
  if (what != ZP_WHAT_GRADIENT) return zp_state_of(r, k, what) + at;
  return s->mean ? s->mean + at : zp_sums_of(r, k, b);
}
