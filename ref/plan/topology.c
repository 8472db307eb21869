/* spec: TOPO-1 … TOPO-5 */
#include "topology.h"
#include "../../spec/acsl/bounds.h"

#include "../../spec/acsl/topology_lemmas.h"

/* x·m + y for 0 <= x and 0 <= y < m or y = 0, if the result is at most 2^20. TOPO-1 */
/*@ requires range: 0 <= x <= ZP_LIMIT_RANKS && 1 <= m <= ZP_LIMIT_RANKS &&
    0 <= y <= ZP_LIMIT_RANKS;
    requires fits: Mix(x, m, y) <= ZP_LIMIT_RANKS;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures mix: \result == Mix(x, m, y);
    ensures formula: \result == x * m + y; */
static int32_t mix(int32_t x, int32_t m, int32_t y)
{
  return (int32_t)((int64_t)x * m + y);
}

int32_t zp_world(const zp_config *cfg)
{
  return mix(mix(cfg->pp, cfg->dp, 0), cfg->tp, 0);
}

zp_coord zp_coord_of(const zp_config *cfg, int32_t rank)
{
  const int32_t pair = rank / cfg->tp;
  /*@ assert pair: 0 <= pair < Mix(cfg->pp, cfg->dp, 0) &&
        Mix(pair, cfg->tp, rank % cfg->tp) == rank; */
  const zp_coord at = {pair / cfg->dp, pair % cfg->dp, rank % cfg->tp};
  return at;
}

int32_t zp_rank_of(const zp_config *cfg, zp_coord at)
{
  /*@ assert pair: 0 <= Mix(at.pp, cfg->dp, at.dp) < Mix(cfg->pp, cfg->dp, 0) <= World(cfg) &&
        World(cfg) <= ZP_LIMIT_RANKS; */
  //@ assert rank: 0 <= Rank(cfg, at.pp, at.dp, at.tp) < World(cfg);
  return mix(mix(at.pp, cfg->dp, at.dp), cfg->tp, at.tp);
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

/* The number of stages below `limit` that hold `key`. Entries are listed by stage, so this counts
 * changes of stage. cfg is valid and readable, limit is in 0..pp. TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires limit: 0 <= limit <= cfg->pp;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures count: \result == CountOn(cfg, key, limit);
    ensures range: 0 <= \result <= limit; */
static int32_t tied_stages(const zp_config *cfg, int32_t key, int32_t limit)
{
  int32_t n = 0, last = -1;
  /*@ loop invariant range: 0 <= j <= cfg->n_params && -1 <= last < limit;
      loop invariant count: n == CountOn(cfg, key, last + 1);
      loop invariant before: \forall integer i; 0 <= i < j && cfg->params[i].tied == key &&
          cfg->params[i].stage < limit ==> cfg->params[i].stage <= last;
      loop invariant ahead: \forall integer i; j <= i < cfg->n_params ==>
          last <= cfg->params[i].stage;
      loop assigns j, n, last;
      loop variant cfg->n_params - j; */
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const int32_t s = cfg->params[j].stage;
    //@ assert ascend: \forall integer i; j <= i < cfg->n_params ==> s <= cfg->params[i].stage;
    if (cfg->params[j].tied == key && s < limit && s != last) {
      //@ assert gap: \forall integer t; last + 1 <= t < s ==> On(cfg, key, t) == 0;
      //@ assert none: CountOn(cfg, key, s) == n && On(cfg, key, s) == 1;
      n++;
      last = s;
    }
  }
  //@ assert rest: \forall integer t; last + 1 <= t < limit ==> On(cfg, key, t) == 0;
  return n;
}

/* The i-th stage that holds `key`, or -1. cfg is valid and readable. TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures stage: \result == StageOf(cfg, key, i);
    ensures range: -1 <= \result < cfg->pp; */
static int32_t tied_stage(const zp_config *cfg, int32_t key, int32_t i)
{
  int32_t n = 0, last = -1;
  //@ assert negative: i < 0 ==> StageBelow(cfg, key, i, cfg->pp) == -1;
  if (i < 0) return -1;
  /*@ loop invariant range: 0 <= j <= cfg->n_params && -1 <= last < cfg->pp;
      loop invariant count: n == CountOn(cfg, key, last + 1);
      loop invariant below: n <= i;
      loop invariant before: \forall integer k; 0 <= k < j && cfg->params[k].tied == key ==>
          cfg->params[k].stage <= last;
      loop invariant ahead: \forall integer k; j <= k < cfg->n_params ==>
          last <= cfg->params[k].stage;
      loop assigns j, n, last;
      loop variant cfg->n_params - j; */
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const int32_t s = cfg->params[j].stage;
    //@ assert ascend: \forall integer k; j <= k < cfg->n_params ==> s <= cfg->params[k].stage;
    if (cfg->params[j].tied == key && s != last) {
      //@ assert gap: \forall integer t; last + 1 <= t < s ==> On(cfg, key, t) == 0;
      //@ assert none: CountOn(cfg, key, s) == n && On(cfg, key, s) == 1;
      //@ assert found: n == i ==> StageBelow(cfg, key, i, cfg->pp) == s;
      if (n == i) return s;
      n++;
      last = s;
    }
  }
  //@ assert rest: \forall integer t; last + 1 <= t < cfg->pp ==> On(cfg, key, t) == 0;
  //@ assert absent: StageBelow(cfg, key, i, cfg->pp) == -1;
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
  case ZP_GROUP_EDP: m.dp = mix(i, cfg->ep, at.dp % cfg->ep); break;
  case ZP_GROUP_EP: m.dp = mix(at.dp / cfg->ep, cfg->ep, i); break;
  default: m.pp = tied_stage(cfg, key, i); break;
  }
  return zp_rank_of(cfg, m);
}

int32_t zp_group_id(const zp_config *cfg, int32_t group, int32_t key, zp_coord at)
{
  return zp_group_member(cfg, group, key, at, 0);
}
