/* Opens the plan of a rank, as the options of the command say. */
#include "plan.h"

int zp_plan_open(zp_rank_plan *p, const zp_options *o, const zp_config *cfg, int32_t rank,
                 zp_error *err)
{
  const int status = zp_rank_plan_open(p, cfg, &o->hyper, rank, err);
  return status == 0 && o->background_save ? zp_rank_plan_add_snapshot(p, err) : status;
}
