/* The entries of a stage. spec: PART-1 */
#include "layout_internal.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

zp_span zp_stage_span(const zp_config *cfg, int32_t stage)
{
  int32_t lo = 0, hi = 0;
  zp_span s = {0};
  //@ assert listed: Listed(cfg);
  /*@ loop invariant range: 0 <= lo <= StageFirst(cfg, stage) <= cfg->n_params;
      loop assigns lo;
      loop variant cfg->n_params - lo; */
  while (lo < cfg->n_params && cfg->params[lo].stage < stage) lo++;
  //@ assert first: lo == StageFirst(cfg, stage);
  hi = lo;
  /*@ loop invariant range: lo <= hi <= StageEnd(cfg, stage) <= cfg->n_params;
      loop assigns hi;
      loop variant cfg->n_params - hi; */
  while (hi < cfg->n_params && cfg->params[hi].stage == stage) hi++;
  //@ assert end: hi == StageEnd(cfg, stage);
  /*@ assert mine: \forall integer j; 0 <= j < cfg->n_params ==> (cfg->params[j].stage == stage <==>
        StageFirst(cfg, stage) <= j < StageEnd(cfg, stage)); */
  s.first = lo;
  s.count = hi - lo;
  return s;
}

void zp_stage_params(const zp_config *cfg, int32_t stage, int32_t *first, int32_t *count)
{
  const zp_span s = zp_stage_span(cfg, stage);
  *first = s.first;
  *count = s.count;
}
