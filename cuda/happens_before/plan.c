/* Making a plan's graph. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/comm/comm.h"
#include "../../ref/engine/bucket_slots.h"
#include "../../ref/engine/last_sum.h"
#include "../../ref/engine/rank_program.h"
#include "../../ref/engine/window.h"
#include "program_walk.h"

/* ---- Making ---------------------------------------------------------------------------------- */

static void walk_close(zp_hb_walk *b)
{
  for (int32_t i = 0; b->access && i < b->operands; i++) free(b->access[i].at);
  free(b->access);
  free(b->param_at);
  free(b->stream);
  free(b->arrived);
  free(b->staged);
  free(b->in_place);
  free(b->is_last);
  free(b->mean);
  zp_early_close(&b->early);
  free(b->lay.flat);
  free(b->lay.spot);
}

static int layout_open(zp_hb_walk *b)
{
  int32_t first, count;
  zp_stage_params(b->p->cfg, b->at.pp, &first, &count);
  b->lay.spot = calloc((size_t)count + 1, sizeof *b->lay.spot);
  b->lay.flat = calloc((size_t)count + 1, sizeof *b->lay.flat);
  b->lay.cap_spots = b->lay.cap_flats = count;
  return b->lay.spot && b->lay.flat ? zp_layout_build(&b->block.cfg, b->at.pp, &b->lay) : -1;
}

static int find_sums(zp_hb_walk *b)
{
  b->is_last = calloc((size_t)b->length + 1, 1);
  b->mean = calloc((size_t)b->lay.n_flats + 1, sizeof *b->mean);
  for (int64_t i = 0; i < b->length; i++) b->updates += b->op[i].kind == ZP_OP_UPDATE;
  if (!b->is_last || !b->mean) return -1;
  return zp_last_sums(b->op, b->length, b->lay.n_flats, b->is_last, b->mean);
}

static int walk_open(zp_hb_walk *b, zp_hb_plan *p, const zp_hb_case *c, int32_t rank)
{
  *b = (zp_hb_walk){.p = p, .c = c, .rank = rank, .last_comm = -1, .barrier = -1, .decision = -1};
  b->at = zp_coord_of(p->cfg, zp_hb_rank_of(p, rank));
  b->block = zp_block_of(p->cfg, p->replicas, zp_hb_rank_of(p, rank));
  b->block.fp32_gradients = c->fp32_gradients;
  if (layout_open(b)) return -1;
  const size_t n = (size_t)b->lay.n_params;
  b->block.slots = c->slots;
  const int32_t slots = p->cfg->stage == 2 ? zp_slot_count(&b->block.cfg, &b->lay, c->slots) : 0;
  b->operands = ZP_ON_FLAT + ZP_ON_EACH * (slots > b->lay.n_flats ? slots : b->lay.n_flats);
  b->access = calloc((size_t)b->operands, sizeof *b->access);
  b->param_at = calloc(n + 1, sizeof *b->param_at);
  b->stream = calloc(n + 1, sizeof *b->stream);
  b->arrived = calloc(n + 1, 1);
  b->staged = calloc(n + 1, 1);
  b->in_place = calloc(n + 1, 1);
  zp_config own = *p->cfg;
  if (c->own) own.params = c->own;
  if (zp_early_open(&b->early, &own, &b->lay, c->fp32_gradients, c->early_bytes)) return -1;
  if (!b->access || !b->param_at || !b->stream || !b->arrived || !b->staged || !b->in_place)
    return -1;
  for (size_t i = 0; i < n; i++)
    b->param_at[i + 1] = b->param_at[i] + p->cfg->params[b->lay.first_param + (int32_t)i].numel;
  for (size_t i = 0; i < sizeof b->last / sizeof *b->last; i++) b->last[i] = -1;
  b->act_slots = (int32_t)zp_alive(p->cfg->pp, p->cfg->micro_batches, b->at.pp);
  p->length[rank] = zp_rank_program_need(&b->block, &b->lay, ZP_PHASE_STEP);
  p->program[rank] = malloc((size_t)p->length[rank] * sizeof(zp_op) + 1);
  if (!p->program[rank]) return -1;
  if (zp_rank_program_write(&b->block, &b->lay, ZP_PHASE_STEP, p->program[rank], p->length[rank]) <
      0)
    return -1;
  b->op = p->program[rank];
  b->length = p->length[rank];
  return find_sums(b);
}

static int refuse(char *text, int64_t cap, int32_t rank, const char *why)
{
  snprintf(text, (size_t)cap, "rank %d: %s", rank, why);
  return -1;
}

static int plan_rank(zp_hb_plan *p, const zp_hb_case *c, int32_t rank, char *text, int64_t cap)
{
  zp_hb_walk b;
  int status = 0;
  if (walk_open(&b, p, c, rank)) status = refuse(text, cap, rank, "out of memory for the plan");
  for (b.step = 0; !status && b.step < c->steps; b.step++)
    if (zp_hb_walk_step(&b))
      status = refuse(text, cap, rank, "the announcements do not match the entries of the program");
  if (!status && (b.no_memory || (c->log && c->log[rank].no_memory) || p->graph.no_memory))
    status = refuse(text, cap, rank, "out of memory for the plan");
  if (!status && c->log && b.arrival != c->log[rank].n)
    status = refuse(text, cap, rank, "there are more announcements than the steps have gradients");
  walk_close(&b);
  return status;
}

static int32_t producers(const zp_hb_case *c, int32_t world)
{
  int32_t most = 0;
  for (int32_t r = 0; !c->gradual && r < world; r++)
    for (int64_t i = 0; i < c->log[r].n; i++)
      if (most <= c->log[r].at[i].stream) most = c->log[r].at[i].stream + 1;
  return most;
}

static int plan_all(zp_hb_plan *p, const zp_hb_case *c, char *text, int64_t cap)
{
  const int32_t most = producers(c, p->world);
  p->producer = c->offload ? ZP_HB_STREAMS : ZP_HB_COPIES;
  p->streams = p->producer + most;
  if (most > ZP_HB_PRODUCERS) return refuse(text, cap, 0, "too many producer streams");
  for (int32_t r = 0; r < p->world; r++)
    if (plan_rank(p, c, r, text, cap)) return -1;
  p->graph.chains = p->world * p->streams;
  int sorted = zp_hb_graph_sort(&p->graph);
  if (!sorted && !c->stages) sorted = zp_hb_graph_clocks(&p->graph);
  switch (sorted) {
  case 0: return 0;
  case -1: return refuse(text, cap, 0, "the plan's dependences have a cycle");
  default: return refuse(text, cap, 0, "out of memory for the plan");
  }
}

zp_hb_plan *zp_hb_plan_open(const zp_hb_case *c, char *text, int64_t cap)
{
  zp_hb_plan *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->cfg = c->cfg;
  p->replicas = c->replicas;
  p->stages = c->stages;
  p->world = c->stages ? c->cfg->pp : zp_world(c->cfg);
  p->program = calloc((size_t)p->world, sizeof(zp_op *));
  p->length = calloc((size_t)p->world, sizeof *p->length);
  p->joints = malloc(ZP_HB_JOINTS * sizeof *p->joints);
  if (!p->program || !p->length || !p->joints) {
    refuse(text, cap, 0, "out of memory for the plan");
    zp_hb_plan_close(p);
    return NULL;
  }
  for (int32_t i = 0; i < ZP_HB_JOINTS; i++) p->joints[i] = -1;
  if (plan_all(p, c, text, cap)) {
    zp_hb_plan_close(p);
    return NULL;
  }
  return p;
}

void zp_hb_plan_close(zp_hb_plan *p)
{
  if (!p) return;
  for (int32_t r = 0; p->program && r < p->world; r++) free(p->program[r]);
  free(p->program);
  free(p->length);
  free(p->joints);
  free(p->node);
  zp_hb_graph_free(&p->graph);
  free(p);
}
