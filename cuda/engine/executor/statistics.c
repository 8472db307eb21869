/* spec: STAT-1, STAT-5, STAT-6, STEP-6 */
#include "statistics.h"

#include <string.h>

#include "../comm/collectives.h"
#include "../device/launch.h"
#include "../device/trace.h"

int zp_cuda_counts_losses(const zp_cuda_plan *p)
{
  return p->at.pp == p->cfg->pp - 1 && p->at.tp == 0;
}

int zp_cuda_statistics(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_step_memory *m = o->memory;
  zp_loss_params loss = {o->r->plan.cfg->micro_batches, m->loss, m->tally};
  zp_pack_params pack = {m->tally, m->stats, o->r->digest, o->r->opt.rank, 0};
  if (zp_cuda_counts_losses(&o->r->plan))
    ZP_TRY(zp_cuda_launch(o->r, zp_kernel_loss, zp_launch_one(), &loss, o->r->reduce));
  ZP_TRY(zp_cuda_launch(o->r, zp_kernel_pack, zp_launch_one(), &pack, o->r->reduce));
  ZP_TRY(zp_cuda_all_reduce(o->comms, op, m->stats, m->stats, op->count, ZP_I64));
  zp_cuda_issued(o->r, op);
  return 0;
}

int zp_cuda_decide(const zp_cuda_ops *o)
{
  const zp_config *cfg = o->r->plan.cfg;
  const zp_cuda_options *opt = &o->r->opt;
  zp_decide_params p = {.stats = o->memory->stats,
                        .step = o->memory->state,
                        .group = o->memory->groups,
                        .divisor = zp_cuda_divisor(&o->r->plan),
                        .clip = opt->clip,
                        .eps = opt->clip_eps,
                        .groups = cfg->optgroups,
                        .optims = opt->optims,
                        .ranks = zp_world(cfg),
                        .digest = o->r->digest,
                        .difference = &o->r->progress.shared->difference,
                        .gate = zp_cuda_gate(&o->r->progress)};
  memcpy(p.optim, opt->optim, sizeof p.optim);
  ZP_TRY(zp_cuda_launch(o->r, zp_kernel_decide, zp_launch_one(), &p, o->r->reduce));
  return opt->offload ? zp_cuda_offload_send_decision(o->offload) : 0;
}
