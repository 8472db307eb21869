/* Dependences from accesses: a piece of work depends on earlier work of the program that wrote what
 * it reads, or that used what it overwrites. */
#include <stdlib.h>
#include <string.h>

#include "program_walk.h"

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The vertex at which a node begins: a communication begins for all members at once. */
static int32_t begin_of(const zp_hb_plan *p, int32_t node)
{
  return p->node[node].joint >= 0 ? p->node[node].joint : node;
}

static int32_t vertex(zp_hb_plan *p, int32_t position, zp_hb_node what)
{
  const int32_t v = zp_hb_graph_vertex(&p->graph, what.chain, position);
  if (v < 0) return -1;
  if (v >= p->cap) {
    const int32_t cap = 2 * p->cap + 256;
    zp_hb_node *more = realloc(p->node, (size_t)cap * sizeof *more);
    if (!more) {
      p->graph.no_memory = 1;
      p->graph.n--;
      return -1;
    }
    p->node = more;
    p->cap = cap;
  }
  p->node[v] = what;
  return v;
}

/* A stream executes one piece at a time, and work that the host issues after a wait runs after the
 * work that it waited for. */
static void append(zp_hb_walk *b, int32_t stream, int32_t v)
{
  const int32_t before = b->last[stream];
  zp_hb_graph_join(&b->p->graph, before, begin_of(b->p, v), ZP_ON_STREAM);
  if (before < b->barrier)
    zp_hb_graph_join(&b->p->graph, b->barrier, begin_of(b->p, v), ZP_ON_HOST);
  b->last[stream] = v;
}

static int32_t put(zp_hb_walk *b, int32_t stream, zp_hb_node n)
{
  const int32_t before = b->last[stream];
  n.rank = b->rank;
  n.chain = b->rank * b->p->streams + stream;
  n.step = b->step;
  const int32_t v = vertex(b->p, before < 0 ? 1 : b->p->graph.position[before] + 1, n);
  if (v < 0) b->no_memory = 1;
  else append(b, stream, v);
  return v;
}

int32_t zp_hb_add_work(zp_hb_walk *b, int32_t stream, int32_t what, int64_t pc_or_mb, int32_t param,
                       int32_t part)
{
  zp_hb_node n = {.part = part,
                  .joint = -1,
                  .next = -1,
                  .param = param,
                  .pc = -1,
                  .mb = pc_or_mb,
                  .what = what,
                  .kind = -1,
                  .tag = zp_hb_tag(what, b->step, pc_or_mb, param)};
  if (what == ZP_HB_OP) {
    n.pc = pc_or_mb;
    n.mb = b->op[pc_or_mb].mb;
    n.kind = b->op[pc_or_mb].kind;
  }
  return put(b, stream, n);
}

/* ---- Communications -------------------------------------------------------------------------- */

/* The lower of the two stages of an exchange. */
static int32_t lower(const zp_op *op, zp_coord at)
{
  return at.pp - (op->what == ZP_WHAT_ACTIVATION ? 0 : 1);
}

static int is_same(const zp_hb_walk *b, const zp_hb_node *j, const zp_op *op, int32_t part)
{
  const zp_config *cfg = b->p->cfg;
  const zp_op *its = &b->p->program[j->rank][j->pc];
  const zp_block_rank there = zp_block_of(cfg, b->p->replicas, zp_hb_rank_of(b->p, j->rank));
  return j->step == b->step && j->part == part && its->group == op->group && its->key == op->key &&
         its->clock_t == op->clock_t && its->clock_i == op->clock_i &&
         zp_block_group_id(&there, op->group, op->key) ==
             zp_block_group_id(&b->block, op->group, op->key) &&
         (op->group != ZP_GROUP_PP || lower(its, there.at) == lower(op, b->at));
}

/* The node of all members: equal clocks of one group are one communication (PIPE-5). */
static int32_t joint_of(zp_hb_walk *b, int64_t pc, int32_t part)
{
  const zp_op *op = &b->op[pc];
  const uint64_t hash = ((uint64_t)op->clock_t * 31 + (uint64_t)op->clock_i + (uint64_t)part * 7 +
                         (uint64_t)op->group * 131 + (uint64_t)b->step * 1009) *
                        UINT64_C(0x9e3779b97f4a7c15);
  int32_t *head = &b->p->joints[hash >> 52];
  int32_t v = *head;
  while (v >= 0 && !is_same(b, &b->p->node[v], op, part)) v = b->p->node[v].next;
  if (v >= 0) return v;
  v = vertex(b->p, 0,
             (zp_hb_node){.rank = b->rank,
                          .chain = -1,
                          .step = b->step,
                          .part = part,
                          .joint = -1,
                          .next = *head,
                          .param = -1,
                          .pc = pc,
                          .mb = op->mb,
                          .what = ZP_HB_OP,
                          .kind = op->kind});
  if (v >= 0) *head = v;
  return v;
}

int32_t zp_hb_add_comm(zp_hb_walk *b, int32_t stream, int64_t pc, int32_t part)
{
  const int32_t joint = joint_of(b, pc, part);
  const int32_t v = put(b, stream,
                        (zp_hb_node){.part = part,
                                     .joint = joint,
                                     .next = -1,
                                     .param = -1,
                                     .pc = pc,
                                     .mb = b->op[pc].mb,
                                     .what = ZP_HB_OP,
                                     .kind = b->op[pc].kind,
                                     .tag = zp_hb_tag(ZP_HB_OP, b->step, pc, 0)});
  zp_hb_graph_join(&b->p->graph, joint, v, ZP_ON_MEMBERS);
  zp_hb_graph_join(&b->p->graph, b->last_comm, joint, ZP_ON_LINK);
  b->last_comm = v;
  return v;
}

/* ---- Operands -------------------------------------------------------------------------------- */

static int conflict(zp_mode a, zp_mode b)
{
  return a != b || a == ZP_WRITES;
}

/* Later work that conflicts with `old` conflicts with `new`, too, which runs after `old`. */
static int is_covered(const zp_access *old, const zp_access *new)
{
  return new->from <= old->from && old->to <= new->to &&
         (new->mode == ZP_WRITES || (new->mode == old->mode &&new->chain == old->chain));
}

void zp_hb_access(zp_hb_walk *b, int32_t node, int32_t operand, zp_mode mode, int64_t from,
                  int64_t to)
{
  zp_accesses *l = &b->access[operand];
  zp_access here = {node, 0, mode, from, to};
  int64_t n = 0;
  if (node < 0 || from >= to) return;
  here.chain = b->p->node[node].chain;
  for (int64_t i = 0; i < l->n; i++) {
    const zp_access *old = &l->at[i];
    if (old->node != node && old->from < to && from < old->to && conflict(old->mode, mode))
      zp_hb_graph_join(&b->p->graph, old->node, begin_of(b->p, node), operand);
    if (!is_covered(old, &here)) l->at[n++] = *old;
  }
  l->n = n;
  if (l->n == l->cap) {
    const int64_t cap = 2 * l->cap + 16;
    zp_access *more = realloc(l->at, (size_t)cap * sizeof *more);
    if (!more) {
      b->no_memory = 1;
      return;
    }
    l->at = more;
    l->cap = cap;
  }
  l->at[l->n++] = here;
}
