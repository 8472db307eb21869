/* What the kernels and communications of the executor (cuda/engine/executor) move. */
#include "work.h"

#include <stdlib.h>

#include "../../ref/engine/rank_plan.h"
#include "../../ref/engine/window.h"

/* Members of a group, and the nodes that they are on. */
typedef struct extent {
  int32_t members, nodes;
} extent;

/* A rank of the graph. */
typedef struct rank_view {
  zp_rank_plan plan;
  double numel, frozen;         /* elements of all entries of its stage; of the frozen ones */
  extent extent[ZP_ALL_GROUPS]; /* of its groups without a key; members 0: not known yet */
} rank_view;

typedef struct context {
  const zp_hb_plan *p;
  const zp_machine *m;
  const zp_workload_size *size;
  rank_view *rank; /* [p->world] */
} context;

/* ---- Kernels --------------------------------------------------------------------------------- */

/* n kernels that move `bytes`. */
static zp_work kernels(const context *c, int32_t kind, double n, double bytes)
{
  const double *f = c->m->figure;
  return (zp_work){.kind = kind,
                   .fixed = n * f[ZP_FIG_KERNEL],
                   .seconds = bytes / f[ZP_FIG_MEMORY],
                   .use = {f[ZP_FIG_KERNEL_COMPUTE], 1},
                   .bytes = bytes};
}

static zp_work compute(const context *c, int32_t kind, double flops)
{
  const double *f = c->m->figure;
  return (zp_work){.kind = kind,
                   .seconds = flops / f[ZP_FIG_FLOPS],
                   .use = {1, f[ZP_FIG_COMPUTE_MEMORY]},
                   .flops = flops};
}

/* A copy between device and pinned host memory. */
static zp_work transfer(const context *c, int32_t kind, double bytes)
{
  const double *f = c->m->figure;
  return (zp_work){.kind = kind,
                   .fixed = f[ZP_FIG_KERNEL],
                   .seconds = bytes / f[ZP_FIG_HOST_LINK],
                   .use = {0, f[ZP_FIG_HOST_LINK] / f[ZP_FIG_MEMORY]},
                   .bytes = bytes};
}

/* ---- Communications -------------------------------------------------------------------------- */

static extent extent_of(const context *c, rank_view *r, const zp_op *op)
{
  const int32_t n = zp_block_group_size(&r->plan.block, op->group, op->key);
  extent e = {n, 0};
  if (op->key < 0 && r->extent[op->group].members > 0) return r->extent[op->group];
  int32_t last = -1;
  for (int32_t i = 0; i < n; i++) { /* in the order of the ranks */
    const int32_t node =
        zp_block_group_member(&r->plan.block, op->group, op->key, i) / c->m->ranks_per_node;
    e.nodes += node != last;
    last = node;
  }
  if (op->key < 0) r->extent[op->group] = e;
  return e;
}

/* A ring of so many rounds in which each rank sends `bytes` (NCCL's tuning model): each round has
 * members - 1 steps, of which nodes - 1 cross the network. All ports of a node are in use. NCCL
 * takes the faster of its protocols. */
static zp_work ring(const context *c, int32_t kind, extent e, double rounds, double bytes)
{
  const double *f = c->m->figure;
  const double across = rounds * (e.nodes - 1), inside = rounds * (e.members - 1) - across;
  const double simple =
      f[ZP_FIG_START] + inside * f[ZP_FIG_LINK_HOP] + across * f[ZP_FIG_NETWORK_HOP];
  const double ll128 = f[ZP_FIG_LL128_START] + inside * f[ZP_FIG_LL128_LINK_HOP] +
                       across * f[ZP_FIG_LL128_NETWORK_HOP];
  double bandwidth = f[ZP_FIG_LINK];
  if (e.nodes > 1) {
    const double ports = f[ZP_FIG_NETWORK] * e.members / e.nodes;
    if (ports < bandwidth) bandwidth = ports;
  }
  const double with_ll128 = bandwidth * f[ZP_FIG_LL128_SHARE];
  const int use_ll128 = ll128 + bytes / with_ll128 < simple + bytes / bandwidth;
  if (use_ll128) bandwidth = with_ll128;
  return (zp_work){
      .kind = kind,
      .comm = 1,
      .fixed = use_ll128 ? ll128 : simple,
      .seconds = bytes / bandwidth,
      .use = {f[ZP_FIG_COMM_COMPUTE], f[ZP_FIG_COMM_MEMORY] * bandwidth / f[ZP_FIG_MEMORY]},
      .wire = bytes};
}

static zp_work all_gather(const context *c, int32_t kind, extent e, double part)
{
  return ring(c, kind, e, 1, part * (e.members - 1));
}

static zp_work all_reduce(const context *c, int32_t kind, extent e, double whole)
{
  return ring(c, kind, e, 2, 2 * whole * (e.members - 1) / e.members);
}

/* Each rank sends a part to each other one at the same time: those on other nodes through its own
 * port. */
static zp_work exchange_parts(const context *c, extent e, double part)
{
  const double *f = c->m->figure;
  const double here = (double)e.members / e.nodes;
  const double inside = part * (here - 1) / f[ZP_FIG_LINK];
  const double across = part * (e.members - here) / f[ZP_FIG_NETWORK];
  const double seconds = inside > across ? inside : across;
  const double bytes = part * (e.members - 1);
  const double rate = seconds > 0 ? bytes / seconds : 0;
  return (zp_work){.kind = ZP_WORK_REDUCE,
                   .comm = 1,
                   .fixed = f[ZP_FIG_START] + f[e.nodes > 1 ? ZP_FIG_NETWORK_HOP : ZP_FIG_LINK_HOP],
                   .seconds = seconds,
                   .use = {f[ZP_FIG_COMM_COMPUTE], f[ZP_FIG_COMM_MEMORY] * rate / f[ZP_FIG_MEMORY]},
                   .wire = bytes};
}

/* Between two stages: both send at the same time. */
static zp_work exchange(const context *c, int32_t r, const zp_op *op, double bytes)
{
  const double *f = c->m->figure;
  const int32_t next = r + (op->what == ZP_WHAT_ACTIVATION ? 1 : -1);
  const int across = zp_hb_rank_of(c->p, r) / c->m->ranks_per_node !=
                     zp_hb_rank_of(c->p, next) / c->m->ranks_per_node;
  const double bandwidth = f[across ? ZP_FIG_NETWORK : ZP_FIG_LINK];
  return (zp_work){
      .kind = ZP_WORK_EXCHANGE,
      .comm = 1,
      .fixed = f[ZP_FIG_START] + f[across ? ZP_FIG_NETWORK_HOP : ZP_FIG_LINK_HOP],
      .seconds = bytes / bandwidth,
      .use = {f[ZP_FIG_COMM_COMPUTE], f[ZP_FIG_COMM_MEMORY] * bandwidth / f[ZP_FIG_MEMORY]},
      .wire = bytes};
}

/* Bytes of an element on the wire: `native` sums travel as fp32. */
static double wire_bytes(const context *c, const zp_op *op)
{
  return c->size->native ? 4 : (double)zp_dtype_bytes(op->dtype);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

typedef struct bucket_sizes {
  double whole, local, owned;  /* elements */
  double value, gradient, sum; /* bytes of an element */
} bucket_sizes;

static bucket_sizes sizes_of(const rank_view *r, const zp_op *op)
{
  bucket_sizes s = {0};
  const zp_config *cfg = &r->plan.block.cfg;
  if (op->flat < 0 || op->bucket < 0) return s;
  const int32_t fp32 = r->plan.lay.flat[op->flat].fp32;
  s.value = (double)zp_dtype_bytes(zp_dtype_of(fp32, cfg->precision));
  const int32_t gradient = zp_block_gradients(&r->plan.block, fp32);
  s.gradient = (double)zp_dtype_bytes(gradient);
  s.sum = (double)zp_kept_sum_bytes(cfg->stage, cfg->reduce, gradient);
  s.whole = (double)zp_whole_range(&r->plan.lay.flat[op->flat], op->bucket).count;
  s.local = (double)zp_local_range(cfg, &r->plan.lay, r->plan.block.at, op->flat, op->bucket).count;
  s.owned = (double)zp_owned_range(cfg, &r->plan.lay, r->plan.block.at, op->flat, op->bucket).count;
  return s;
}

/* Into the slot, or into the sum of the micro-batches so far. */
static zp_work copy_of(const context *c, const rank_view *r, const zp_op *op, bucket_sizes s)
{
  const double n = (double)zp_add_range(c->p->cfg, &r->plan.lay, op).count;
  const double slot = c->size->native ? 4 : s.gradient;
  const double stored = c->p->cfg->stage == 2 ? slot : op->mb == 0 ? s.sum : 2 * s.sum;
  return kernels(c, ZP_WORK_COPY, 1, n * (s.gradient + stored));
}

/* The kernel of a reduction: at stage 2 the sum is added to that of earlier micro-batches (native),
 * or all members' parts are added (ordered, exact); at stages 0 and 1 the window's limbs are
 * normalized, or its fp32 parts added. */
static zp_work sum_of(const context *c, const rank_view *r, const zp_op *op, bucket_sizes s)
{
  const double members = zp_block_group_size(&r->plan.block, op->group, op->key);
  double bytes = 0;
  if (c->size->native) bytes = s.owned * 12;
  else if (c->p->cfg->stage == 2)
    bytes = s.owned * (members * s.gradient + (op->mb == 0 ? s.sum : 2 * s.sum));
  else if (c->p->cfg->reduce == ZP_EXACT) bytes = s.whole * 2 * s.sum;
  else bytes = s.owned * 4 * (members + 1);
  return kernels(c, ZP_WORK_SUM, 1, bytes);
}

/* Sums between replicas, stages and tp ranks, of the rank's part: limbs are normalized, or packed
 * sums become limbs and are packed again; a further use of a tied entry is added, or all members'
 * parts are. */
static zp_work further_sum_of(const context *c, const rank_view *r, const zp_op *op, int32_t part,
                              bucket_sizes s)
{
  const double members = zp_block_group_size(&r->plan.block, op->group, op->key);
  const int exact = c->p->cfg->reduce == ZP_EXACT;
  const int packed = zp_is_packed(c->p->cfg->stage, c->p->cfg->reduce);
  const double repack = s.sum + 8 * ZP_LIMBS;
  const double adds = packed                     ? repack
                      : exact || c->size->native ? 0
                                                 : 4 * (members + 1); /* after an all-gather */
  if (op->what == ZP_WHAT_PARTIAL) { /* packed (exact: and normalized); added, and back */
    const double n = (double)(exact ? op->count / ZP_LIMBS : op->count);
    if (packed) return kernels(c, ZP_WORK_SUM, 1, n * repack);
    if (part == 0) return kernels(c, ZP_WORK_SUM, 1 + exact, n * (exact ? 4 : 2) * s.sum);
    return kernels(c, ZP_WORK_SUM, adds > 0 ? 2 : 1, n * (adds + 2 * s.sum));
  }
  if (part != 0) return kernels(c, ZP_WORK_SUM, 1, s.local * adds);
  double uses = 0; /* further ones of a tied entry */
  for (int32_t k = 0; op->what == ZP_WHAT_TIED && k < r->plan.lay.n_flats; k++)
    uses += k != op->flat && r->plan.lay.flat[k].tied == op->key;
  const double carried = packed ? repack : 2 * exact * s.sum;
  return kernels(c, ZP_WORK_SUM, uses + exact, s.local * (3 * uses * s.sum + carried));
}

static zp_work reduction(const context *c, rank_view *r, const zp_op *op, int32_t part,
                         bucket_sizes s)
{
  const extent e = extent_of(c, r, op);
  const double bytes = wire_bytes(c, op), count = (double)op->count;
  const int sums = c->size->native || c->p->cfg->reduce == ZP_EXACT;
  if (op->what != ZP_WHAT_GRADIENT) {
    const double own = op->what == ZP_WHAT_PARTIAL ? count : s.local;
    if (!sums) return all_gather(c, ZP_WORK_REDUCE, e, own * 4);
    return all_reduce(c, ZP_WORK_REDUCE, e, count * bytes);
  }
  if (part == 3) return all_gather(c, ZP_WORK_REDUCE, e, s.owned * 4);
  if (!c->size->native && (c->p->cfg->stage == 2 || c->p->cfg->reduce != ZP_EXACT))
    return exchange_parts(c, e, s.owned * (c->p->cfg->stage == 2 ? s.gradient : 4));
  if (op->kind == ZP_OP_ALL_REDUCE) return all_reduce(c, ZP_WORK_REDUCE, e, count * bytes);
  return all_gather(c, ZP_WORK_REDUCE, e, count * bytes); /* a reduce-scatter moves as much */
}

static zp_work communication(const context *c, int32_t i, const zp_op *op, int32_t part)
{
  rank_view *r = &c->rank[i];
  const bucket_sizes s = sizes_of(r, op);
  switch (op->kind) {
  case ZP_OP_META: return exchange(c, i, op, 256);
  case ZP_OP_P2P: return exchange(c, i, op, (double)c->size->activation_bytes);
  case ZP_OP_ALL_GATHER:
    return all_gather(c, ZP_WORK_GATHER, extent_of(c, r, op), (double)op->count * s.value);
  default: break;
  }
  if (op->what == ZP_WHAT_STATISTICS)
    return all_reduce(c, ZP_WORK_STATISTICS, extent_of(c, r, op), ZP_STATS * 8);
  return reduction(c, r, op, part, s);
}

/* 1: a forward that reads the trained entries one after the other. */
static int is_read(const context *c, const zp_op *op)
{
  return c->size->partial && op->mb == 0;
}

static zp_work local_work(const context *c, int32_t i, const zp_op *op, int32_t part)
{
  const rank_view *r = &c->rank[i];
  const bucket_sizes s = sizes_of(r, op);
  switch (op->kind) {
  case ZP_OP_FORWARD: /* what it reads entry by entry has its share of the cost */
    return compute(c, ZP_WORK_FORWARD,
                   2 * (is_read(c, op) ? r->frozen : r->numel) * (double)c->size->tokens);
  case ZP_OP_BACKWARD: /* its pieces have the rest of the cost */
    return compute(c, ZP_WORK_BACKWARD, 2 * r->frozen * (double)c->size->tokens);
  case ZP_OP_ADD: return copy_of(c, r, op, s);
  case ZP_OP_MEAN: /* squares are computed from registers; only `exact` stores the means */
    return kernels(c, ZP_WORK_MEAN, 1, s.local * (s.sum + (c->p->cfg->reduce == ZP_EXACT ? 4 : 0)));
  case ZP_OP_DECIDE: return kernels(c, ZP_WORK_DECIDE, 1, 0);
  case ZP_OP_UPDATE:
    if (c->size->offload) return kernels(c, ZP_WORK_SCATTER, 1, s.local * 2 * s.value);
    return kernels(c, ZP_WORK_UPDATE, 1, s.local * (4 + 24 + s.value));
  case ZP_OP_ALL_GATHER: return kernels(c, ZP_WORK_SCATTER, 1, s.whole * 2 * s.value);
  case ZP_OP_META: return kernels(c, ZP_WORK_DECIDE, 1, 0);
  default: break;
  }
  if (op->what == ZP_WHAT_STATISTICS) return kernels(c, ZP_WORK_DECIDE, 2, 0);
  if (op->what != ZP_WHAT_GRADIENT) return further_sum_of(c, r, op, part, s);
  return sum_of(c, r, op, s);
}

/* With offload: gradients and decision to the host, its update, and parameters back. */
static zp_work host_work(const context *c, int32_t i, const zp_op *op, int32_t part)
{
  const bucket_sizes s = sizes_of(&c->rank[i], op);
  if (part == ZP_HB_HOST_UPDATE) /* gradients, masters and moments read; the latter written */
    return (zp_work){.kind = ZP_WORK_HOST_UPDATE,
                     .seconds = s.local * (28 + s.value) / c->m->figure[ZP_FIG_HOST_UPDATE]};
  if (op->kind == ZP_OP_UPDATE) return transfer(c, ZP_WORK_FROM_HOST, s.local * s.value);
  return transfer(c, ZP_WORK_TO_HOST, op->kind == ZP_OP_DECIDE ? 0 : s.local * 4);
}

static zp_work work_of_node(const context *c, const zp_hb_node *n)
{
  const zp_hb_plan *p = c->p;
  if (n->joint >= 0) return (zp_work){.kind = ZP_WORK_DECIDE};
  if (n->what == ZP_HB_PIECE || n->what == ZP_HB_READ)
    return compute(c, n->what == ZP_HB_READ ? ZP_WORK_FORWARD : ZP_WORK_BACKWARD,
                   (n->what == ZP_HB_READ ? 2 : 4) * (double)c->size->own[n->param].numel *
                       (double)c->size->tokens);
  if (n->what != ZP_HB_OP) return (zp_work){.kind = ZP_WORK_DECIDE};
  const zp_op *op = &p->program[n->rank][n->pc];
  if (n->part >= ZP_HB_TRANSFER) return host_work(c, n->rank, op, n->part);
  return n->chain < 0 ? communication(c, n->rank, op, n->part)
                      : local_work(c, n->rank, op, n->part);
}

/* ---- All ------------------------------------------------------------------------------------- */

int zp_work_of(const zp_hb_plan *p, const zp_machine *m, const zp_workload_size *size,
               zp_work *work, zp_error *err)
{
  context c = {p, m, size, calloc((size_t)p->world + 1, sizeof(rank_view))};
  const zp_hyper hyper = {.replicas = p->replicas,
                          .entry_align = 1, /* p->cfg has flat sizes */
                          .fp32_gradients = size->fp32_gradients};
  int32_t open = 0;
  int status = c.rank ? 0 : zp_fail(err, ZP_E_MEMORY, -1, "out of memory for the costs");
  for (; !status && open < p->world; open++) {
    rank_view *r = &c.rank[open];
    status = zp_rank_plan_open(&r->plan, p->cfg, &hyper, zp_hb_rank_of(p, open), err);
    for (int32_t k = 0; !status && k < r->plan.lay.n_params; k++) {
      const zp_param *param = &size->own[r->plan.lay.first_param + k];
      r->numel += (double)param->numel;
      if (param->frozen) r->frozen += (double)param->numel;
    }
  }
  for (int32_t v = 0; !status && v < p->graph.n; v++) work[v] = work_of_node(&c, &p->node[v]);
  for (int32_t i = 0; i < open; i++) zp_rank_plan_close(&c.rank[i].plan);
  free(c.rank);
  return status;
}
