/* The end of a step: statistics, decision, update, gathers; and first values. All on the reduction
 * stream, none of it seen by the host. spec: STAT-1, STEP-6 … STEP-8, LEDG-5 */
#include <string.h>

#include "engine_internal.h"

/* This rank's losses are counted on the last stage, of tp replicas on the first. STAT-5 */
static int count_loss(zp_cuda *e)
{
  zp_loss_params p = {e->cfg->micro_batches, e->loss, e->tally};
  if (e->at.pp != e->cfg->pp - 1 || e->at.tp != 0) return 0;
  if (!e->own && !e->behind_forward)
    ZP_TRY(zp_cuda_wait(e, ZP_SITE_LOSSES_WAIT, e->reduce, e->forwarded));
  return zp_cuda_launch(e, zp_kernel_loss, zp_launch_one(), &p, e->reduce);
}

int zp_cuda_statistics(zp_cuda *e, const zp_op *op)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  zp_pack_params p = {e->tally, e->stats};
  ZP_TRY(count_loss(e));
  ZP_TRY(zp_cuda_launch(e, zp_kernel_pack, zp_launch_one(), &p, e->reduce));
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  ZP_NCCL(
      e, ncclAllReduce(e->stats, e->stats, (size_t)op->count, ncclInt64, ncclSum, comm, e->reduce));
  ZP_TRY(zp_cuda_comm_end(e, comm, e->reduce));
  zp_cuda_issued(e, op);
  return 0;
}

zp_gate zp_cuda_gate(const zp_cuda *e)
{
  return (zp_gate){&e->shared->stop, e->step};
}

int zp_cuda_decide(zp_cuda *e)
{
  zp_decide_params p = {.stats = e->stats,
                        .step = e->state,
                        .group = e->groups,
                        .divisor = e->cfg->micro_batches * e->cfg->dp,
                        .clip = e->opt.clip,
                        .eps = e->opt.clip_eps,
                        .groups = e->cfg->optgroups,
                        .optims = e->opt.optims,
                        .gate = zp_cuda_gate(e)};
  memcpy(p.optim, e->opt.optim, sizeof p.optim);
  /* nobody reads the step's state any more, nor the parameters that the updates overwrite */
  ZP_TRY(zp_cuda_wait(e, ZP_SITE_FINISHED_WAIT, e->reduce, e->backwarded));
  ZP_TRY(zp_cuda_launch(e, zp_kernel_decide, zp_launch_one(), &p, e->reduce));
  return e->opt.offload ? zp_cuda_send_decision(e) : 0;
}

/* ---- Update ---------------------------------------------------------------------------------- */

/* Stage 0: straight into the parameters. ctx: the range. */
static void put_update(const zp_cuda *e, void *ctx, zp_piece g, zp_memory_run *run)
{
  run->at = ((const zp_range *)ctx)->at + g.in;
  run->out = (char *)e->entry[g.i].param + g.offset * zp_cuda_size(e);
}

static int launch_update(zp_cuda *e, zp_update_params *p)
{
  return zp_cuda_launch(e, zp_kernel_update, zp_launch_runs(p->runs.here, p->runs.n), p, e->reduce);
}

static void put_scatter(const zp_cuda *e, void *ctx, zp_piece g, zp_memory_run *run)
{
  run->in = (const char *)ctx + g.in * zp_cuda_size(e);
  run->out = (char *)e->entry[g.i].param + g.offset * zp_cuda_size(e);
}

/* A range of a flat group, from where it lies into the parameters. */
static int scatter(zp_cuda *e, const zp_op *op, zp_range r, void *from)
{
  zp_scatter_params p = {.bytes = (int32_t)zp_cuda_size(e), .gate = zp_cuda_gate(e)};
  int32_t i = e->lay.n_params;
  while (zp_cuda_runs(e, op->flat, r, &i, NULL, put_scatter, from, &p.runs)) {
    zp_launch l = zp_launch_runs(p.runs.here, p.runs.n);
    l.shared = sizeof(int32_t);
    ZP_TRY(zp_cuda_launch(e, zp_kernel_scatter, l, &p, e->reduce));
  }
  return 0;
}

/* Stage 0: straight into the parameters, too. */
static int update_offloaded(zp_cuda *e, const zp_op *op)
{
  const zp_range r = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  ZP_TRY(zp_cuda_update_on_host(e, op));
  if (e->cfg->stage > 0) return 0;
  ZP_TRY(scatter(e, op, r, zp_cuda_place(e)));
  return zp_cuda_free_place(e);
}

int zp_cuda_update(zp_cuda *e, const zp_op *op)
{
  if (e->opt.offload) return update_offloaded(e, op);
  const zp_cuda_flat *s = &e->flat[op->flat];
  zp_range r = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  zp_update_params p = {.step = e->state,
                        .group = e->groups + e->lay.flat[op->flat].optgroup,
                        .grad = s->mean,
                        .master = s->master,
                        .m = s->moment1,
                        .v = s->moment2,
                        .real = r.at + r.real,
                        .dtype = e->cfg->precision};
  int32_t i = e->lay.n_params;
  if (e->cfg->stage == 0) {
    while (zp_cuda_runs(e, op->flat, r, &i, NULL, put_update, &r, &p.runs))
      ZP_TRY(launch_update(e, &p));
    return 0;
  }
  p.runs.n = 1;
  p.runs.here[0].out = e->send;
  p.runs.here[0].at = r.at;
  p.runs.here[0].count = r.count;
  zp_cuda_lay(&p.runs);
  return launch_update(e, &p);
}

int zp_cuda_gather_params(zp_cuda *e, const zp_op *op)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  const zp_range r = zp_whole_range(&e->lay.flat[op->flat], op->bucket);
  const void *part = e->opt.offload ? zp_cuda_place(e) : e->send;
  const cudaStream_t on = zp_cuda_planted(e, ZP_PLANT_GATHER_EARLY) ? e->p2p : e->reduce;
  ZP_TRY(zp_cuda_comm_begin(e, on));
  ZP_NCCL(e, ncclAllGather(part, e->recv, (size_t)op->count, zp_cuda_dtype(op->dtype), comm, on));
  ZP_TRY(zp_cuda_comm_end(e, comm, on));
  zp_cuda_issued(e, op);
  if (e->opt.offload) ZP_TRY(zp_cuda_free_place(e));
  return scatter(e, op, r, e->recv);
}

/* ---- First values ---------------------------------------------------------------------------- */

int zp_cuda_broadcast(zp_cuda *e, const zp_op *op)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  void *param = e->entry[op->param - e->lay.first_param].param;
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  ZP_NCCL(e, ncclBroadcast(param, param, (size_t)op->count, zp_cuda_dtype(op->dtype), op->root,
                           comm, e->reduce));
  ZP_TRY(zp_cuda_comm_end(e, comm, e->reduce));
  zp_cuda_issued(e, op);
  return 0;
}

static void put_master(const zp_cuda *e, void *ctx, zp_piece g, zp_memory_run *run)
{
  run->in = (const char *)e->entry[g.i].param + g.offset * zp_cuda_size(e);
  run->out = (float *)ctx + g.in;
}

/* Masters are the widened parameters: a window's first contribution. STEP-7 */
int zp_cuda_install(zp_cuda *e)
{
  zp_gather_params p = {.dtype = e->cfg->precision, .first = 1};
  for (int32_t k = 0; k < e->lay.n_flats; k++) {
    const int64_t buckets = e->lay.flat[k].use == 0 ? zp_buckets(&e->lay.flat[k]) : 0;
    for (int64_t b = 0; b < buckets; b++) {
      const zp_range r = zp_local_range(e->cfg, &e->lay, e->at, k, b);
      int32_t i = e->lay.n_params;
      while (zp_cuda_runs(e, k, r, &i, NULL, put_master, e->flat[k].master + r.at, &p.runs))
        ZP_TRY(zp_cuda_launch(e, zp_kernel_gather_ordered, zp_launch_runs(p.runs.here, p.runs.n),
                              &p, e->reduce));
    }
  }
  return 0;
}
