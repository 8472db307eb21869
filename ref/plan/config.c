/* spec: LIM-0 … LIM-9 */
#include "config.h"

/* Records the first reason for a refusal. LIM-0 */
static int refuse(zp_refusal *why, int32_t field, int32_t index, int64_t value, int64_t lo,
                  int64_t hi)
{
  why->field = field;
  why->index = index;
  why->value = value;
  why->lo = lo;
  why->hi = hi;
  return -1;
}

/* 0 when lo <= value <= hi, else a refusal. LIM-0 */
static int within(zp_refusal *why, int32_t field, int32_t index, int64_t value, int64_t lo,
                  int64_t hi)
{
  if (value < lo || value > hi) return refuse(why, field, index, value, lo, hi);
  return 0;
}

/* LIM-1, LIM-2 */
static int check_topology(const zp_config *c, zp_refusal *why)
{
  const int64_t most = ZP_MAX_RANKS;
  if (within(why, ZP_FIELD_PP, -1, c->pp, 1, most)) return -1;
  if (within(why, ZP_FIELD_DP, -1, c->dp, 1, most)) return -1;
  if (within(why, ZP_FIELD_TP, -1, c->tp, 1, most)) return -1;
  if (within(why, ZP_FIELD_RANKS, -1, (int64_t)c->pp * c->dp * c->tp, 1, most)) return -1;
  if (within(why, ZP_FIELD_EP, -1, c->ep, 1, c->dp)) return -1;
  if (c->dp % c->ep != 0) return refuse(why, ZP_FIELD_EP, -1, c->ep, 1, c->dp);
  return 0;
}

/* LIM-3 … LIM-6 */
static int check_scalars(const zp_config *c, zp_refusal *why)
{
  if (within(why, ZP_FIELD_STAGE, -1, c->stage, 0, 2)) return -1;
  if (within(why, ZP_FIELD_REDUCE, -1, c->reduce, ZP_ORDERED, ZP_EXACT)) return -1;
  if (within(why, ZP_FIELD_PRECISION, -1, c->precision, ZP_F32, ZP_F16)) return -1;
  if (within(why, ZP_FIELD_DYNAMIC_SHAPES, -1, c->dynamic_shapes, 0, 1)) return -1;
  if (within(why, ZP_FIELD_OPTGROUPS, -1, c->optgroups, 1, ZP_MAX_GROUPS)) return -1;
  if (within(why, ZP_FIELD_TIED_KEYS, -1, c->tied_keys, 0, ZP_MAX_TIED)) return -1;
  if (within(why, ZP_FIELD_N_PARAMS, -1, c->n_params, 0, ZP_MAX_PARAMS)) return -1;
  if (within(why, ZP_FIELD_MICRO_BATCHES, -1, c->micro_batches, 1, ZP_MAX_MICRO_BATCHES)) return -1;
  if (within(why, ZP_FIELD_CONTRIBUTIONS, -1, c->dp * c->micro_batches, 1, ZP_MAX_CONTRIBUTIONS))
    return -1;
  if (within(why, ZP_FIELD_BUCKET, -1, c->bucket, 1, ZP_MAX_BUCKET)) return -1;
  return within(why, ZP_FIELD_ALIGN, -1, c->align, 1, ZP_MAX_ALIGN);
}

/* The nearest earlier entry with the same tied key, or -1. LIM-8 */
static int32_t earlier_use(const zp_config *c, int32_t j)
{
  for (int32_t i = j - 1; i >= 0; i--)
    if (c->params[i].tied == c->params[j].tied) return i;
  return -1;
}

/* Entry j agrees with the earlier uses of its tied key. LIM-8 */
static int check_tied(const zp_config *c, int32_t j, zp_refusal *why)
{
  const zp_param *p = &c->params[j];
  const int32_t i = earlier_use(c, j);
  if (within(why, ZP_FIELD_EXPERT, j, p->expert, 0, 0)) return -1;
  if (i < 0) return 0;
  const zp_param *q = &c->params[i];
  if (within(why, ZP_FIELD_TIED_NUMEL, j, p->numel, q->numel, q->numel)) return -1;
  if (within(why, ZP_FIELD_TIED_SHARDED, j, p->sharded, q->sharded, q->sharded)) return -1;
  if (within(why, ZP_FIELD_TIED_OPTGROUP, j, p->optgroup, q->optgroup, q->optgroup)) return -1;
  return within(why, ZP_FIELD_TIED_FROZEN, j, p->frozen, q->frozen, q->frozen);
}

/* Entry j by itself. LIM-7, LIM-8 */
static int check_param(const zp_config *c, int32_t j, zp_refusal *why)
{
  const zp_param *p = &c->params[j];
  const int32_t least = j == 0 ? 0 : c->params[j - 1].stage;
  if (within(why, ZP_FIELD_NUMEL, j, p->numel, 0, ZP_MAX_ELEMENTS)) return -1;
  if (within(why, ZP_FIELD_PARAM_STAGE, j, p->stage, least, c->pp - 1)) return -1;
  if (within(why, ZP_FIELD_OPTGROUP, j, p->optgroup, 0, c->optgroups - 1)) return -1;
  if (within(why, ZP_FIELD_TIED, j, p->tied, -1, c->tied_keys - 1)) return -1;
  if (within(why, ZP_FIELD_SHARDED, j, p->sharded, 0, 1)) return -1;
  if (within(why, ZP_FIELD_EXPERT, j, p->expert, 0, 1)) return -1;
  if (within(why, ZP_FIELD_FROZEN, j, p->frozen, 0, 1)) return -1;
  return p->tied >= 0 ? check_tied(c, j, why) : 0;
}

int zp_config_check(const zp_config *c, zp_refusal *why)
{
  int64_t elements = 0, tied = 0;
  refuse(why, ZP_FIELD_NONE, -1, 0, 0, 0);
  if (check_topology(c, why)) return -1;
  if (check_scalars(c, why)) return -1;
  for (int32_t j = 0; j < c->n_params; j++) {
    if (check_param(c, j, why)) return -1;
    const zp_param *p = &c->params[j];
    /* copies <= tp·ep <= tp·dp <= 2^20, so the product stays below 2^61 */
    const int64_t copies = (int64_t)(p->sharded ? c->tp : 1) * (p->expert ? c->ep : 1);
    elements += p->numel * copies;
    if (p->tied >= 0) tied++;
    if (within(why, ZP_FIELD_TIED_ENTRIES, j, tied, 0, ZP_MAX_TIED)) return -1;
    if (within(why, ZP_FIELD_ELEMENTS, j, elements, 0, ZP_MAX_ELEMENTS)) return -1;
  }
  return 0;
}
