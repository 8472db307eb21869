/* spec: LEDG-2, LEDG-7 */
#include "comm_sim.h"

#include <stdlib.h>
#include <string.h>

#include "comm_sim_report.h"

struct zp_sim {
  const zp_config *cfg;
  int32_t world;
  zp_rank **rank;
  zp_wait *wait;  /* [world] */
  int32_t *ready; /* ring of ranks that can go on */
  int32_t head, queued;
  int32_t *arrived;                /* members that wait, by group */
  int32_t *first;                  /* the first of them */
  int64_t base[ZP_ALL_GROUPS + 1]; /* where each kind's groups start */
  const void **in;                 /* [world] members' buffers of one reduction */
  zp_error err;                    /* the ranks' error */
};

static int64_t lay_groups(const zp_config *c, int32_t replicas, int64_t base[ZP_ALL_GROUPS + 1])
{
  const int64_t pp = c->pp, dp = c->dp, tp = c->tp;
  const int64_t n[ZP_ALL_GROUPS] = {1,
                                    pp * tp * replicas,
                                    pp * dp,
                                    dp * tp,
                                    pp * tp * replicas * c->ep,
                                    pp * tp * (dp / c->ep),
                                    c->tied_keys * dp * tp,
                                    pp * tp * (dp / replicas)};
  base[0] = 0;
  for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) base[g + 1] = base[g] + n[g];
  return base[ZP_ALL_GROUPS];
}

/* A number for the group of this kind that rank r is in, unique over all kinds. TOPO-5 */
static int64_t group_slot(const zp_sim *sim, int32_t group, int32_t key, const zp_rank *r)
{
  const zp_config *c = sim->cfg;
  const zp_block_rank *b = &r->block;
  const zp_coord at = r->at;
  const int64_t stage = (int64_t)at.pp * c->tp + at.tp;
  int64_t i = 0;
  if (group == ZP_GROUP_DP) i = stage * b->replicas + b->index;
  else if (group == ZP_GROUP_TP) i = (int64_t)at.pp * c->dp + at.dp;
  else if (group == ZP_GROUP_PP) i = (int64_t)at.dp * c->tp + at.tp;
  else if (group == ZP_GROUP_EDP) i = (stage * b->replicas + b->index) * c->ep + at.dp % c->ep;
  else if (group == ZP_GROUP_EP) i = stage * (c->dp / c->ep) + at.dp / c->ep;
  else if (group == ZP_GROUP_TIED) i = ((int64_t)key * c->dp + at.dp) * c->tp + at.tp;
  else if (group == ZP_GROUP_REPLICA) i = stage * b->cfg.dp + b->at.dp;
  return sim->base[group] + i;
}

zp_sim *zp_sim_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                    zp_error *err)
{
  zp_sim *sim = calloc(1, sizeof *sim);
  if (!sim) goto memory;
  sim->cfg = cfg;
  sim->world = zp_world(cfg);
  const int64_t groups = lay_groups(cfg, zp_replicas(hyper), sim->base);
  sim->rank = calloc((size_t)sim->world, sizeof *sim->rank);
  sim->wait = calloc((size_t)sim->world, sizeof *sim->wait);
  sim->ready = calloc((size_t)sim->world, sizeof *sim->ready);
  sim->in = calloc((size_t)sim->world, sizeof *sim->in);
  sim->arrived = calloc((size_t)groups, sizeof *sim->arrived);
  sim->first = calloc((size_t)groups, sizeof *sim->first);
  if (!sim->rank || !sim->wait || !sim->ready || !sim->in || !sim->arrived || !sim->first)
    goto memory;
  for (int32_t r = 0; r < sim->world; r++) {
    sim->rank[r] = zp_rank_open(cfg, hyper, work, r, &sim->err);
    if (!sim->rank[r]) {
      *err = sim->err;
      zp_sim_close(sim);
      return NULL;
    }
  }
  return sim;
memory:
  zp_fail(err, ZP_E_MEMORY, -1, "not enough memory for a simulation of this many ranks");
  zp_sim_close(sim);
  return NULL;
}

void zp_sim_close(zp_sim *sim)
{
  if (!sim) return;
  for (int32_t r = 0; sim->rank && r < sim->world; r++) zp_rank_close(sim->rank[r]);
  free(sim->rank);
  free(sim->wait);
  free(sim->ready);
  free(sim->in);
  free(sim->arrived);
  free(sim->first);
  free(sim);
}

zp_rank *zp_sim_rank(zp_sim *sim, int32_t r)
{
  return sim->rank[r];
}

int32_t zp_sim_world(const zp_sim *sim)
{
  return sim->world;
}

void zp_sim_hook(zp_sim *sim, const zp_hook *hook)
{
  for (int32_t r = 0; r < sim->world; r++) sim->rank[r]->hook = hook;
}

static void make_ready(zp_sim *sim, int32_t r)
{
  sim->wait[r].state = ZP_READY;
  sim->ready[(sim->head + sim->queued) % sim->world] = r;
  sim->queued++;
}

static int finish(zp_sim *sim, int32_t r)
{
  if (zp_rank_complete(sim->rank[r])) return -1;
  make_ready(sim, r);
  return 0;
}

/* ---- Collectives ----------------------------------------------------------------------------- */

static zp_request *request_of(const zp_sim *sim, int32_t r)
{
  return &sim->rank[r]->request;
}

/* Member i's rank; members of the group that rank r waits in. */
static int32_t member(const zp_sim *sim, int32_t r, int32_t i)
{
  const zp_op *op = request_of(sim, r)->op;
  return zp_block_group_member(&sim->rank[r]->block, op->group, op->key, i);
}

/* Reduces to member q's part (reduce-scatter) or to member 0 (all-reduce). RED-4, RED-5 */
static void reduce_for(zp_sim *sim, int32_t r, int32_t n, int32_t q, int64_t from)
{
  const zp_op *op = request_of(sim, r)->op;
  const int64_t bytes = zp_dtype_bytes(op->dtype);
  for (int32_t i = 0; i < n; i++)
    sim->in[i] = (const char *)request_of(sim, member(sim, r, i))->send + from * bytes;
  zp_reduce_members(op->redop, op->dtype, n, sim->in, op->count,
                    request_of(sim, member(sim, r, q))->recv);
}

static void all_reduce(zp_sim *sim, int32_t r, int32_t n)
{
  const zp_op *op = request_of(sim, r)->op;
  const int64_t bytes =
      op->count * zp_result_width(op->redop) * zp_dtype_bytes(zp_result_dtype(op->redop));
  const void *result;
  reduce_for(sim, r, n, 0, 0);
  result = request_of(sim, member(sim, r, 0))->recv;
  for (int32_t i = 1; i < n; i++)
    memcpy(request_of(sim, member(sim, r, i))->recv, result, (size_t)bytes);
}

/* All-gather to member q, or gather to the root. */
static void gather_to(zp_sim *sim, int32_t r, int32_t n, int32_t q)
{
  const zp_op *op = request_of(sim, r)->op;
  const int64_t bytes = op->count * zp_dtype_bytes(op->dtype);
  char *to = request_of(sim, member(sim, r, q))->recv;
  for (int32_t i = 0; i < n; i++)
    memcpy(to + i * bytes, request_of(sim, member(sim, r, i))->send, (size_t)bytes);
}

static void broadcast(zp_sim *sim, int32_t r, int32_t n)
{
  const zp_op *op = request_of(sim, r)->op;
  const int64_t bytes = op->count * zp_dtype_bytes(op->dtype);
  const void *from = request_of(sim, member(sim, r, op->root))->send;
  for (int32_t i = 0; i < n; i++)
    if (i != op->root) memcpy(request_of(sim, member(sim, r, i))->recv, from, (size_t)bytes);
}

/* Carries out the collective that all n members of rank r's group wait in. */
static int carry_out(zp_sim *sim, int32_t r, int32_t n)
{
  const zp_op *op = request_of(sim, r)->op;
  switch (op->kind) {
  case ZP_OP_REDUCE_SCATTER:
    for (int32_t q = 0; q < n; q++) reduce_for(sim, r, n, q, q * op->count);
    break;
  case ZP_OP_ALL_REDUCE: all_reduce(sim, r, n); break;
  case ZP_OP_ALL_GATHER:
    for (int32_t q = 0; q < n; q++) gather_to(sim, r, n, q);
    break;
  case ZP_OP_GATHER: gather_to(sim, r, n, op->root); break;
  case ZP_OP_BROADCAST: broadcast(sim, r, n); break;
  default: break; /* CREATE: groups are known from the topology */
  }
  for (int32_t i = 0; i < n && op->what == ZP_WHAT_STATUS;
       i++) { /* a failure's cause comes first */
    const int32_t m = member(sim, r, i);
    if (sim->rank[m]->store_error.status != ZP_OK) return finish(sim, m);
  }
  for (int32_t i = 0; i < n; i++) {
    const int32_t m = member(sim, r, i);
    if (m != r && finish(sim, m)) return -1;
  }
  return finish(sim, r); /* last: it is whose request names the group */
}

/* Rank r has come to a collective; CREATE's key names what is made, its group is the world. */
static int arrive(zp_sim *sim, int32_t r)
{
  zp_op *op = &sim->rank[r]->current;
  const int32_t n = zp_block_group_size(&sim->rank[r]->block, op->group, op->key);
  const int64_t g = group_slot(sim, op->group, op->key, sim->rank[r]);
  if (n <= 0)
    return zp_fail(&sim->err, ZP_E_MISMATCH, r, "rank %d is in no group %s key %d (TOPO-4)", r,
                   zp_group_name(op->group), op->key);
  if (sim->arrived[g] == 0) sim->first[g] = r;
  else if (!zp_collective_same(request_of(sim, sim->first[g])->op, op)) {
    zp_report_mismatch(sim->rank, sim->wait, sim->first[g], r, &sim->err);
    return -1;
  }
  sim->arrived[g]++;
  if (sim->arrived[g] < n) return 0;
  sim->arrived[g] = 0;
  return carry_out(sim, r, n);
}

/* ---- Point to point -------------------------------------------------------------------------- */

/* Moves what `from` sends to `to`, if `to` still waits for it: 1 moved, 0 not, -1 mismatch. */
static int move(zp_sim *sim, int32_t from, int32_t to)
{
  zp_request *a = request_of(sim, from), *b = request_of(sim, to);
  if (!sim->wait[from].send || !sim->wait[to].recv) return 0;
  if (a->op->mb != b->op->recv_mb) return -1;
  if (a->op->kind == ZP_OP_META) {
    memcpy(b->in_meta, a->out_meta, ZP_META_LONGS * sizeof *b->in_meta);
  } else {
    if (!zp_message_same(a->out_msg, b->in_msg)) return -1;
    for (int32_t i = 0; i < a->out_msg->n; i++)
      memcpy(b->in_msg->t[i].data, a->out_msg->t[i].data,
             (size_t)zp_tensor_bytes(&a->out_msg->t[i]));
  }
  sim->wait[from].send = 0;
  sim->wait[to].recv = 0;
  return 1;
}

/* Rank r has come to an exchange with one neighbour. PIPE-3 */
static int exchange(zp_sim *sim, int32_t r)
{
  const zp_op *op = request_of(sim, r)->op;
  const int32_t q = zp_block_group_member(&sim->rank[r]->block, ZP_GROUP_PP, -1, op->root);
  const zp_op *other;
  if (q < 0)
    return zp_fail(&sim->err, ZP_E_MISMATCH, r, "rank %d has no stage %d to talk to (PIPE-3)", r,
                   op->root);
  sim->wait[r].send = op->mb >= 0;
  sim->wait[r].recv = op->recv_mb >= 0;
  other = request_of(sim, q)->op;
  if (sim->wait[q].state != ZP_WAITING || other->kind != op->kind ||
      other->root != sim->rank[r]->at.pp)
    return 0;
  if (move(sim, r, q) < 0 || move(sim, q, r) < 0) {
    zp_report_mismatch(sim->rank, sim->wait, q, r, &sim->err);
    return -1;
  }
  if (!sim->wait[q].send && !sim->wait[q].recv && finish(sim, q)) return -1;
  if (!sim->wait[r].send && !sim->wait[r].recv && finish(sim, r)) return -1;
  return 0;
}

/* ---- The loop -------------------------------------------------------------------------------- */

/* Runs rank r until it waits, ends, or fails. */
static int go(zp_sim *sim, int32_t r)
{
  const zp_run run = zp_rank_advance(sim->rank[r]);
  if (run == ZP_RUN_ERROR) return -1;
  if (run == ZP_RUN_DONE) {
    sim->wait[r].state = ZP_ENDED;
    return 0;
  }
  sim->wait[r].state = ZP_WAITING;
  if (sim->rank[r]->current.kind == ZP_OP_P2P || sim->rank[r]->current.kind == ZP_OP_META)
    return exchange(sim, r);
  return arrive(sim, r);
}

int zp_sim_run(zp_sim *sim, int32_t phase, zp_error *err)
{
  int32_t ended = 0;
  memset(sim->arrived, 0, (size_t)sim->base[ZP_ALL_GROUPS] * sizeof *sim->arrived);
  memset(&sim->err, 0, sizeof sim->err.status);
  sim->head = sim->queued = 0;
  for (int32_t r = 0; r < sim->world; r++) {
    sim->rank[r]->err = &sim->err;
    zp_rank_begin(sim->rank[r], phase);
    make_ready(sim, r);
  }
  while (sim->queued > 0) {
    const int32_t r = sim->ready[sim->head];
    sim->head = (sim->head + 1) % sim->world;
    sim->queued--;
    if (go(sim, r)) {
      zp_report_others(sim->rank, sim->wait, sim->world, &sim->err);
      *err = sim->err;
      return err->status;
    }
    ended += sim->wait[r].state == ZP_ENDED;
  }
  if (ended == sim->world) return ZP_OK;
  zp_report_deadlock(sim->rank, sim->wait, sim->world, &sim->err);
  *err = sim->err;
  return err->status;
}
