#include "memory_need.h"

#include "../engine/rank_plan.h"

int zp_simulation_need(const zp_config *cfg, const zp_hyper *hyper, double per_element,
                       double *bytes, zp_error *err)
{
  double sum = 24576.0 * zp_world(cfg); /* measured: a rank takes 23 KiB beside its plan */
  for (int32_t i = 0; i < cfg->n_params; i++) sum += per_element * (double)cfg->params[i].numel;
  for (int32_t s = 0; s < cfg->pp; s++) {
    zp_rank_plan p;
    const int32_t rank = zp_rank_of(cfg, (zp_coord){s, 0, 0});
    const int status = zp_rank_plan_open(&p, cfg, hyper, rank, err);
    sum += (double)p.total * cfg->dp * cfg->tp;
    zp_rank_plan_close(&p);
    if (status != 0) return status;
  }
  *bytes += sum;
  return 0;
}
