/* spec: TOPO-1 … TOPO-5 */
#include "topology.h"

int32_t zp_world(const zp_config *cfg)
{
  return cfg->pp * cfg->dp * cfg->tp;
}

zp_coord zp_coord_of(const zp_config *cfg, int32_t rank)
{
  zp_coord at;
  at.tp = rank % cfg->tp;
  at.dp = (rank / cfg->tp) % cfg->dp;
  at.pp = rank / cfg->tp / cfg->dp;
  return at;
}

int32_t zp_rank_of(const zp_config *cfg, zp_coord at)
{
  return (at.pp * cfg->dp + at.dp) * cfg->tp + at.tp;
}

int32_t zp_tied_on_stage(const zp_config *cfg, int32_t key, int32_t stage)
{
  /*@ loop invariant range: 0 <= j <= cfg->n_params;
      loop invariant none: \forall integer i; 0 <= i < j ==>
          !(cfg->params[i].tied == key && cfg->params[i].stage == stage);
      loop assigns j;
      loop variant cfg->n_params - j; */
  for (int32_t j = 0; j < cfg->n_params; j++)
    if (cfg->params[j].tied == key && cfg->params[j].stage == stage) return 1;
  return 0;
}

/* Stages below `limit` that hold `key`. spec: TOPO-4 */
static int32_t tied_stages(const zp_config *cfg, int32_t key, int32_t limit)
{
  int32_t n = 0, last = -1; /* entries are listed by stage: count the changes of stage */
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const int32_t s = cfg->params[j].stage;
    if (cfg->params[j].tied == key && s < limit && s != last) {
      n++;
      last = s;
    }
  }
  return n;
}

/* The i-th stage that holds `key`, or -1. spec: TOPO-4 */
static int32_t tied_stage(const zp_config *cfg, int32_t key, int32_t i)
{
  int32_t n = 0, last = -1;
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const int32_t s = cfg->params[j].stage;
    if (cfg->params[j].tied == key && s != last) {
      if (n == i) return s;
      n++;
      last = s;
    }
  }
  return -1;
}

int32_t zp_tied_first_stage(const zp_config *cfg, int32_t key)
{
  return tied_stage(cfg, key, 0);
}

int32_t zp_group_size(const zp_config *cfg, int32_t group, int32_t key, zp_coord at)
{
  switch (group) {
  case ZP_GROUP_WORLD: return zp_world(cfg);
  case ZP_GROUP_DP: return cfg->dp;
  case ZP_GROUP_TP: return cfg->tp;
  case ZP_GROUP_PP: return cfg->pp;
  case ZP_GROUP_EDP: return cfg->dp / cfg->ep;
  case ZP_GROUP_EP: return cfg->ep;
  case ZP_GROUP_TIED: return zp_tied_on_stage(cfg, key, at.pp) ? tied_stages(cfg, key, cfg->pp) : 0;
  default: return 0;
  }
}

int32_t zp_group_index(const zp_config *cfg, int32_t group, int32_t key, zp_coord at)
{
  switch (group) {
  case ZP_GROUP_WORLD: return zp_rank_of(cfg, at);
  case ZP_GROUP_DP: return at.dp;
  case ZP_GROUP_TP: return at.tp;
  case ZP_GROUP_PP: return at.pp;
  case ZP_GROUP_EDP: return at.dp / cfg->ep;
  case ZP_GROUP_EP: return at.dp % cfg->ep;
  case ZP_GROUP_TIED: return zp_tied_on_stage(cfg, key, at.pp) ? tied_stages(cfg, key, at.pp) : -1;
  default: return -1;
  }
}

int32_t zp_group_member(const zp_config *cfg, int32_t group, int32_t key, zp_coord at, int32_t i)
{
  zp_coord m = at;
  if (i < 0 || i >= zp_group_size(cfg, group, key, at)) return -1;
  switch (group) {
  case ZP_GROUP_WORLD: return i;
  case ZP_GROUP_DP: m.dp = i; break;
  case ZP_GROUP_TP: m.tp = i; break;
  case ZP_GROUP_PP: m.pp = i; break;
  case ZP_GROUP_EDP: m.dp = i * cfg->ep + at.dp % cfg->ep; break;
  case ZP_GROUP_EP: m.dp = at.dp / cfg->ep * cfg->ep + i; break;
  default: m.pp = tied_stage(cfg, key, i); break;
  }
  return zp_rank_of(cfg, m);
}

int32_t zp_group_id(const zp_config *cfg, int32_t group, int32_t key, zp_coord at)
{
  return zp_group_member(cfg, group, key, at, 0);
}
