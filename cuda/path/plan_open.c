/* A plan's graph: made, named, priced. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/comm.h"
#include "../../ref/engine/window.h"
#include "plan_internal.h"

/* ---- Making ---------------------------------------------------------------------------------- */

static void planner_close(zp_planner *b)
{
  for (int32_t i = 0; b->access && i < b->operands; i++) free(b->access[i].at);
  free(b->access);
  free(b->param_at);
  free(b->stream);
  free(b->arrived);
  free(b->kept);
  free(b->lay.flat);
  free(b->lay.spot);
}

static int layout_open(zp_planner *b)
{
  int32_t first, count;
  zp_stage_params(b->p->cfg, b->at.pp, &first, &count);
  b->lay.spot = calloc((size_t)count + 1, sizeof *b->lay.spot);
  b->lay.flat = calloc((size_t)count + 1, sizeof *b->lay.flat);
  b->lay.cap_spots = b->lay.cap_flats = count;
  return b->lay.spot && b->lay.flat ? zp_layout_build(b->p->cfg, b->at.pp, &b->lay) : -1;
}

static int planner_open(zp_planner *b, zp_path_plan *p, const zp_path_case *c, int32_t rank)
{
  *b = (zp_planner){.p = p, .c = c, .rank = rank, .last_comm = -1, .barrier = -1};
  b->at = zp_coord_of(p->cfg, rank);
  if (layout_open(b)) return -1;
  const size_t n = (size_t)b->lay.n_params;
  b->operands = ZP_ON_FLAT + 3 * b->lay.n_flats;
  b->access = calloc((size_t)b->operands, sizeof *b->access);
  b->param_at = calloc(n + 1, sizeof *b->param_at);
  b->stream = calloc(n + 1, sizeof *b->stream);
  b->arrived = calloc(n + 1, 1);
  b->kept = calloc(n + 1, 1);
  if (!b->access || !b->param_at || !b->stream || !b->arrived || !b->kept) return -1;
  for (size_t i = 0; i < n; i++)
    b->param_at[i + 1] = b->param_at[i] + p->cfg->params[b->lay.first_param + (int32_t)i].numel;
  for (size_t i = 0; i < sizeof b->last / sizeof *b->last; i++) b->last[i] = -1;
  b->act_slots = (int32_t)zp_alive(p->cfg->pp, p->cfg->micro_batches, b->at.pp);
  p->length[rank] = zp_program_need(p->cfg, &b->lay, ZP_PHASE_STEP, b->at);
  p->program[rank] = malloc((size_t)p->length[rank] * sizeof(zp_op) + 1);
  if (!p->program[rank]) return -1;
  zp_program_write(p->cfg, &b->lay, ZP_PHASE_STEP, b->at, p->program[rank], p->length[rank]);
  b->op = p->program[rank];
  b->length = p->length[rank];
  return 0;
}

static int refuse(char *text, int64_t cap, int32_t rank, const char *why)
{
  snprintf(text, (size_t)cap, "rank %d: %s", rank, why);
  return -1;
}

static int plan_rank(zp_path_plan *p, const zp_path_case *c, int32_t rank, char *text, int64_t cap)
{
  zp_planner b;
  int status = 0;
  if (planner_open(&b, p, c, rank)) status = refuse(text, cap, rank, "no memory for the plan");
  for (b.step = 0; !status && b.step < c->steps; b.step++)
    if (zp_plan_step(&b))
      status = refuse(text, cap, rank, "the announcements are not those of the program's entries");
  if (!status && (b.no_memory || c->log[rank].no_memory || p->graph.no_memory))
    status = refuse(text, cap, rank, "no memory for the plan");
  if (!status && b.arrival != c->log[rank].n)
    status = refuse(text, cap, rank, "there are more announcements than the steps ask for");
  planner_close(&b);
  return status;
}

static int32_t producers(const zp_path_case *c, int32_t world)
{
  int32_t most = 0;
  for (int32_t r = 0; r < world; r++)
    for (int64_t i = 0; i < c->log[r].n; i++)
      if (most <= c->log[r].at[i].stream) most = c->log[r].at[i].stream + 1;
  return most;
}

static int plan_all(zp_path_plan *p, const zp_path_case *c, char *text, int64_t cap)
{
  const int32_t most = producers(c, p->world);
  p->streams = ZP_PATH_PRODUCER + most;
  if (most > ZP_PATH_PRODUCERS) return refuse(text, cap, 0, "too many producer streams");
  for (int32_t r = 0; r < p->world; r++)
    if (plan_rank(p, c, r, text, cap)) return -1;
  p->graph.chains = p->world * p->streams;
  switch (zp_graph_sort(&p->graph)) {
  case 0: return 0;
  case -1: return refuse(text, cap, 0, "the plan's dependences are a cycle");
  default: return refuse(text, cap, 0, "no memory for the plan");
  }
}

zp_path_plan *zp_path_plan_open(const zp_path_case *c, char *text, int64_t cap)
{
  zp_path_plan *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->cfg = c->cfg;
  p->world = c->cfg->pp * c->cfg->dp * c->cfg->tp;
  p->program = calloc((size_t)p->world, sizeof(zp_op *));
  p->length = calloc((size_t)p->world, sizeof *p->length);
  p->joints = malloc(ZP_PATH_JOINTS * sizeof *p->joints);
  if (!p->program || !p->length || !p->joints) {
    refuse(text, cap, 0, "no memory for the plan");
    zp_path_plan_close(p);
    return NULL;
  }
  for (int32_t i = 0; i < ZP_PATH_JOINTS; i++) p->joints[i] = -1;
  if (plan_all(p, c, text, cap)) {
    zp_path_plan_close(p);
    return NULL;
  }
  return p;
}

void zp_path_plan_close(zp_path_plan *p)
{
  if (!p) return;
  for (int32_t r = 0; p->program && r < p->world; r++) free(p->program[r]);
  free(p->program);
  free(p->length);
  free(p->joints);
  free(p->node);
  zp_graph_free(&p->graph);
  free(p);
}

/* ---- Costs ----------------------------------------------------------------------------------- */

/* Round numbers in the proportions of a training step. */
static int64_t cost_of(const zp_path_node *n)
{
  if (n->what != ZP_PATH_OP) return 4;
  switch (n->kind) {
  case ZP_OP_FORWARD: return 100;
  case ZP_OP_BACKWARD: return 200;
  case ZP_OP_ADD: return 8;
  case ZP_OP_META: return 10;
  case ZP_OP_P2P: return 30;
  case ZP_OP_REDUCE_SCATTER:
  case ZP_OP_ALL_REDUCE:
  case ZP_OP_ALL_GATHER: return n->chain < 0 ? 40 : 8;
  default: return 8;
  }
}

static uint64_t mixed(uint64_t x)
{
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

void zp_path_costs(const zp_path_plan *p, uint64_t seed, int64_t *cost)
{
  for (int32_t v = 0; v < p->graph.n; v++) {
    const uint64_t kind = mixed(seed * 1000003 + (uint64_t)p->node[v].kind * 97 +
                                (uint64_t)p->node[v].what * 7 + (uint64_t)(p->node[v].chain < 0));
    cost[v] = p->node[v].joint >= 0 ? 0 : cost_of(&p->node[v]);
    if (seed == 0 || p->node[v].joint >= 0) continue;
    cost[v] = 1 + (int64_t)(mixed(kind) % 1000) + (int64_t)(mixed(kind + (uint64_t)v) % 400);
  }
}

/* ---- Names ----------------------------------------------------------------------------------- */

void zp_path_node_text(const zp_path_plan *p, int32_t node, char *text, int64_t cap)
{
  static const char *const what[] = {"", "", "the caller's copy of the gradient of entry",
                                     "the keeping aside of the gradient of entry",
                                     "the caller's reuse of the buffer of entry"};
  const zp_path_node *n = &p->node[node];
  char op[ZP_PATH_NAME] = "the copy of the state to the host";
  if (n->what == ZP_PATH_REST)
    snprintf(op, sizeof op, "the rest of backward, micro-batch %" PRId64, n->mb);
  else if (n->what == ZP_PATH_OP) zp_op_describe(&p->program[n->rank][n->pc], op, sizeof op);
  else if (n->what != ZP_PATH_GET)
    snprintf(op, sizeof op, "%s %d, micro-batch %" PRId64, what[n->what], n->param, n->mb);
  snprintf(text, (size_t)cap, "rank %d, step %d: %s", n->rank, n->step, op);
}

void zp_path_why(int32_t why, char *text, int64_t cap)
{
  static const char *const names[ZP_ON_FLAT] = {"one at a time on a stream",
                                                "one communication at a time",
                                                "the host's wait",
                                                "all members of a communication",
                                                "the parameters",
                                                "the step's state",
                                                "the losses",
                                                "the received activation",
                                                "the activation to be sent",
                                                "the received gradient of the activation",
                                                "the gradient of the activation to be sent",
                                                "the caller's gradients",
                                                "the caller's buffer of a gradient",
                                                "the gradient that was kept aside",
                                                "the flag of non-finite values"};
  const int32_t k = (why - ZP_ON_FLAT) / 3, i = (why - ZP_ON_FLAT) % 3;
  if (why < ZP_ON_FLAT) snprintf(text, (size_t)cap, "%s", names[why]);
  else if (i == 0) snprintf(text, (size_t)cap, "the sums of flat group %d", k);
  else snprintf(text, (size_t)cap, "slot %d of flat group %d", i - 1, k);
}
