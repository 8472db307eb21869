#include "case_list.h"

#include <string.h>

zp_param zp_case_entry(int64_t numel, int32_t stage, int32_t optgroup)
{
  zp_param p;
  memset(&p, 0, sizeof p);
  p.numel = numel;
  p.stage = stage;
  p.optgroup = optgroup;
  p.tied = -1;
  return p;
}

void zp_case_default_list(zp_case *c)
{
  const zp_config *cfg = &c->cfg;
  int32_t n = 0;
  for (int32_t s = 0; s < cfg->pp && n + 6 <= ZP_CASE_PARAMS; s++) {
    if (s == 0) {
      c->params[n] = zp_case_entry(29, s, 0);
      c->params[n++].tied = 0;
    }
    c->params[n++] = zp_case_entry(17, s, 0);
    c->params[n] = zp_case_entry(31, s, 0);
    c->params[n++].sharded = cfg->tp > 1;
    if (cfg->ep > 1) {
      c->params[n] = zp_case_entry(23, s, 0);
      c->params[n++].expert = 1;
    }
    c->params[n++] =
        zp_case_entry(5, s, s % 2 == 0 ? 1 : 0); /* K = 2 on even stages, 1 on odd ones */
    if (s == cfg->pp - 1) {
      c->params[n] = zp_case_entry(29, s, 0);
      c->params[n++].tied = 0;
    }
  }
  c->cfg.n_params = n;
}

void zp_case_recut(zp_case *c, int32_t old_pp)
{
  static zp_param old[ZP_CASE_PARAMS];
  const int32_t n_old = c->cfg.n_params, pp = c->cfg.pp;
  int32_t n = 0;
  memcpy(old, c->params, sizeof old);
  for (int32_t s = 0; s < pp; s++) {
    const int32_t last = s == pp - 1 && pp > 1;
    const int32_t from = last ? old_pp - 1 : s < old_pp - 1 ? s : old_pp > 1 ? old_pp - 2 : 0;
    for (int32_t j = 0; j < n_old && n < ZP_CASE_PARAMS; j++) {
      if (old[j].stage != from) continue;
      if (old[j].tied >= 0 && s > 0 && !last) continue;
      c->params[n] = old[j];
      c->params[n++].stage = s;
    }
  }
  c->cfg.n_params = n;
}
