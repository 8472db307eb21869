/* spec: STEP-6 … STEP-8, LEDG-5 */
#include "update.h"

#include "../comm/collectives.h"
#include "../device/launch.h"
#include "../device/runs.h"
#include "../device/trace.h"

/* What the runs of one range refer to. */
typedef struct runs_of {
  const zp_cuda_ops *o;
  const char *from; /* the range, in the flat group's dtype */
  float *master;    /* the range, in fp32 */
} runs_of;

static void *param_at(const zp_cuda_ops *o, zp_piece g)
{
  return (char *)o->buffers->param[g.i] + g.offset * zp_cuda_entry_bytes(&o->r->plan, g.i);
}

/* ---- Update ---------------------------------------------------------------------------------- */

static int launch_update(const zp_cuda_ops *o, zp_update_params *p)
{
  return zp_cuda_launch(o->r, zp_kernel_update, zp_launch_runs(p->runs.here, p->runs.n), p,
                        o->r->reduce);
}

/* Stage 0: directly into the parameters. */
static void put_update(const void *ctx, zp_piece g, zp_memory_run *run)
{
  const runs_of *c = ctx;
  run->at = g.in;
  run->out = param_at(c->o, g);
}

static void put_scatter(const void *ctx, zp_piece g, zp_memory_run *run)
{
  const runs_of *c = ctx;
  run->in = c->from + g.in * zp_cuda_entry_bytes(&c->o->r->plan, g.i);
  run->out = param_at(c->o, g);
}

/* Range r of a flat group, from where it lies into the parameters and the padding after them. */
static int scatter(const zp_cuda_ops *o, const zp_op *op, zp_range r, const void *from)
{
  const zp_cuda_plan *plan = &o->r->plan;
  const runs_of c = {.o = o, .from = from};
  zp_scatter_params p = {.bytes = (int32_t)zp_cuda_value_bytes(plan, op->flat),
                         .gate = zp_cuda_gate(&o->r->progress)};
  int32_t i = plan->lay.n_params;
  while (zp_cuda_next_padded_runs(plan, op->flat, r, &i, NULL, put_scatter, &c, &p.runs)) {
    zp_launch l = zp_launch_runs(p.runs.here, p.runs.n);
    l.shared = sizeof(int32_t);
    ZP_TRY(zp_cuda_launch(o->r, zp_kernel_scatter, l, &p, o->r->reduce));
  }
  return 0;
}

/* The rank's part of op's bucket in the parameters; NULL: they are not views. */
static void *view_part(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_plan *p = &o->r->plan;
  char *views = o->buffers->flat[op->flat].params;
  const zp_range own = zp_owned_range(&p->block.cfg, &p->lay, p->block.at, op->flat, op->bucket);
  return views ? views + own.flat * zp_cuda_value_bytes(p, op->flat) : NULL;
}

/* Stage 0: directly into the parameters, too. */
static int update_offloaded(const zp_cuda_ops *o, const zp_op *op, zp_range r)
{
  ZP_TRY(zp_cuda_offload_update(o->offload, op, view_part(o, op)));
  if (o->r->plan.cfg->stage > 0) return 0;
  ZP_TRY(scatter(o, op, r, zp_cuda_offload_landing(o->offload)));
  return zp_cuda_offload_release_landing(o->offload);
}

int zp_cuda_update(const zp_cuda_ops *o, const zp_op *op)
{
  const zp_cuda_plan *plan = &o->r->plan;
  const zp_cuda_flat *s = &o->buffers->flat[op->flat];
  const zp_range r =
      zp_local_range(&plan->block.cfg, &plan->lay, plan->block.at, op->flat, op->bucket);
  const runs_of c = {.o = o};
  const zp_cuda_gradient gradient = zp_cuda_gradient_of(o->buffers, op->flat, r);
  zp_update_params p = {.step = o->memory->state,
                        .group = o->memory->groups + plan->lay.flat[op->flat].optgroup,
                        .grad = gradient.data,
                        .master = s->master + r.at,
                        .m = s->moment1 + r.at,
                        .v = s->moment2 + r.at,
                        .divisor = gradient.divisor,
                        .real = r.real,
                        .dtype = zp_cuda_value_dtype(plan, op->flat)};
  int32_t i = plan->lay.n_params;
  if (o->r->opt.offload) return update_offloaded(o, op, r);
  if (plan->cfg->stage == 0) {
    while (zp_cuda_next_padded_runs(plan, op->flat, r, &i, NULL, put_update, &c, &p.runs))
      ZP_TRY(launch_update(o, &p));
    return 0;
  }
  p.runs.n = 1;
  p.runs.here[0].out = s->params ? view_part(o, op) : o->buffers->send;
  p.runs.here[0].count = r.count;
  zp_cuda_lay_runs(&p.runs);
  return launch_update(o, &p);
}

int zp_cuda_gather_params(const zp_cuda_ops *o, const zp_op *op)
{
  const int offload = o->r->opt.offload;
  const void *part = o->buffers->send;
  const zp_range r = zp_whole_range(&o->r->plan.lay.flat[op->flat], op->bucket);
  char *views = o->buffers->flat[op->flat].params;
  if (views) {
    char *to = views + r.at * zp_cuda_value_bytes(&o->r->plan, op->flat);
    const int apart = zp_cuda_gathers_apart(o->gathers);
    if (apart && !offload) ZP_TRY(zp_cuda_gathers_after_update(o->gathers));
    ZP_TRY(zp_cuda_all_gather_on(o->comms, apart ? o->r->gather : o->r->reduce, op,
                                 view_part(o, op), to, op->count, op->dtype));
    zp_cuda_issued(o->r, op);
    return apart ? zp_cuda_gathers_issued(o->gathers) : 0;
  }
  if (offload) part = zp_cuda_offload_landing(o->offload);
  ZP_TRY(zp_cuda_all_gather(o->comms, op, part, o->buffers->recv, op->count, op->dtype));
  zp_cuda_issued(o->r, op);
  if (offload) ZP_TRY(zp_cuda_offload_release_landing(o->offload));
  return scatter(o, op, r, o->buffers->recv);
}

/* ---- First values ---------------------------------------------------------------------------- */

/* Without the lock, as all callbacks. */
static int queue_first_values(const zp_cuda_ops *o, int32_t param, void *data)
{
  zp_cuda_rank *r = o->r;
  int failed;
  zp_cuda_lock_release(&r->lock);
  failed = r->opt.model.first(r->opt.model.ctx, param, data, r->reduce);
  zp_cuda_lock_take(&r->lock);
  if (zp_cuda_has_failed(r)) return -1;
  if (!failed) return 0;
  return zp_cuda_fail(r, ZP_E_WORKLOAD, "the model's first values of entry %d failed", param);
}

int zp_cuda_queue_first_values(const zp_cuda_ops *o)
{
  const zp_cuda_plan *p = &o->r->plan;
  for (int32_t i = 0; i < p->lay.n_params; i++) {
    const int32_t j = p->lay.first_param + i;
    if (zp_storage_of(p->cfg, &p->lay, i) != i || p->cfg->params[j].numel == 0) continue;
    ZP_TRY(queue_first_values(o, j, o->buffers->param[i]));
  }
  return 0;
}

int zp_cuda_broadcast_first_values(const zp_cuda_ops *o, const zp_op *op)
{
  void *param = o->buffers->param[op->param - o->r->plan.lay.first_param];
  ZP_TRY(zp_cuda_broadcast(o->comms, op, param, op->count, op->dtype));
  zp_cuda_issued(o->r, op);
  return 0;
}

static void put_master(const void *ctx, zp_piece g, zp_memory_run *run)
{
  const runs_of *c = ctx;
  run->in = param_at(c->o, g);
  run->out = c->master + g.in;
}

/* A gather as a window's first contribution widens. STEP-7 */
int zp_cuda_install_masters(const zp_cuda_ops *o)
{
  const zp_cuda_plan *plan = &o->r->plan;
  zp_gather_params p = {.first = 1};
  for (int32_t k = 0; k < plan->lay.n_flats; k++) {
    const zp_flat *f = &plan->lay.flat[k];
    const int64_t buckets = f->use == 0 ? zp_buckets(f) : 0;
    p.dtype = zp_cuda_value_dtype(plan, k);
    for (int64_t b = 0; b < buckets; b++) {
      const zp_range r = zp_local_range(&plan->block.cfg, &plan->lay, plan->block.at, k, b);
      const runs_of c = {.o = o, .master = o->buffers->flat[k].master + r.at};
      int32_t i = plan->lay.n_params;
      while (zp_cuda_next_runs(plan, k, r, &i, NULL, put_master, &c, &p.runs))
        ZP_TRY(zp_cuda_launch(o->r, zp_kernel_gather_ordered, zp_launch_runs(p.runs.here, p.runs.n),
                              &p, o->r->reduce));
    }
  }
  return 0;
}
