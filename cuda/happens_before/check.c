/* The comparison of a run with its plan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operand.h"
#include "run.h"

/* A communication begins with all its members. */
int zp_hb_demands(const zp_hb_plan *p, int32_t from, int32_t to)
{
  const int32_t joint = p->node[to].joint;
  return zp_hb_graph_precedes(&p->graph, from, joint >= 0 ? joint : to);
}

static void note(zp_hb_report *o, const char *what, const zp_hb_plan *p, int32_t from, int32_t to,
                 const char *why)
{
  char a[ZP_HB_NAME], b[ZP_HB_NAME];
  if (o->text[0]) return;
  zp_hb_node_text(p, from, a, sizeof a);
  zp_hb_node_text(p, to, b, sizeof b);
  snprintf(o->text, sizeof o->text, "%s (%s):\n  %s\n  %s", what, why, a, b);
}

/* ---- What is missing ------------------------------------------------------------------------- */

/* The rank's member of a communication, through whose joint node the demand leads. */
static int32_t member_of(const zp_hb_plan *p, int32_t joint, int32_t rank)
{
  for (int64_t k = p->graph.first[joint]; k < p->graph.first[joint + 1]; k++)
    if (p->node[p->graph.edge[k].to].rank == rank) return p->graph.edge[k].to;
  return -1;
}

static void find_missing(const zp_hb_run *r, zp_hb_report *o)
{
  const zp_hb_plan *p = r->plan;
  char why[ZP_HB_NAME];
  for (int64_t i = 0; i < p->graph.edges; i++) {
    const zp_hb_graph_edge *e = &p->graph.edge[i];
    int32_t to = e->to;
    if (p->node[e->from].chain < 0) continue;
    if (p->node[to].chain < 0) to = member_of(p, to, p->node[e->from].rank);
    if (to < 0 || r->last[e->from] < 0 || r->begin[to] < 0) continue;
    o->demands++;
    if (zp_hb_graph_precedes(&r->graph, r->last[e->from], r->begin[to])) continue;
    /* where work runs on another stream than planned, only operands decide what is a race */
    if (e->why < ZP_ON_PARAMS && r->unplanned) continue;
    o->missing++;
    if (o->race[0] < 0 || (o->race_why < ZP_ON_PARAMS && e->why >= ZP_ON_PARAMS)) {
      o->race[0] = e->from;
      o->race[1] = to;
      o->race_why = e->why;
    }
  }
  if (o->race[0] < 0) return;
  zp_hb_operand_text(o->race_why, why, sizeof why);
  note(o, "the run does not order the first of these before the second", p, o->race[0], o->race[1],
       why);
}

/* ---- What is redundant --------------------------------------------------------------------- */

/* The node of the latest work at or before item i on its stream (step -1), or of the earliest at or
 * after it (step 1); -1 if it is missing. */
static int32_t work_at(const zp_hb_run *r, int32_t i, int32_t step)
{
  for (int32_t k = i; k >= 0 && k < r->n; k += step) {
    if (r->vertex[k].item->rank != r->vertex[i].item->rank ||
        r->vertex[k].item->stream != r->vertex[i].item->stream)
      return -1;
    if (r->vertex[k].node >= 0) return r->vertex[k].node;
  }
  return -1;
}

static const char *edge_name(int32_t why)
{
  switch (why) {
  case SIMDEV_EDGE_EVENT: return "an event";
  case SIMDEV_EDGE_LEGACY: return "the legacy default stream";
  case SIMDEV_EDGE_HOST: return "a wait of the host";
  case ZP_RUN_LINK: return "the order of launches";
  default: return "the order of a stream";
  }
}

static void find_superfluous(const zp_hb_run *r, zp_hb_report *o)
{
  const zp_hb_plan *p = r->plan;
  for (int64_t i = 0; i < r->graph.edges; i++) {
    const zp_hb_graph_edge *e = &r->graph.edge[i];
    if (e->why == ZP_RUN_MEMBERS) continue;
    const int32_t from = work_at(r, r->vertex[e->from].of, -1);
    const int32_t to = work_at(r, r->vertex[e->to].of, 1);
    if (from < 0 || to < 0 || from == to) continue;
    o->ordered++;
    if (zp_hb_demands(p, from, to)) continue;
    o->redundant++;
    if (o->waits[0] < 0) {
      o->waits[0] = from;
      o->waits[1] = to;
    }
    note(o, "redundant wait: the second of these waits for the first", p, from, to,
         edge_name(e->why));
  }
}

/* The members that exchanged data must be those of the plan's communication. */
static void find_members(const zp_hb_run *r, zp_hb_report *o)
{
  for (int64_t i = 0; i < r->graph.edges; i++) {
    const zp_hb_graph_edge *e = &r->graph.edge[i];
    const int32_t from = r->vertex[e->from].node, to = r->vertex[e->to].node;
    if (e->why != ZP_RUN_MEMBERS || r->vertex[e->from].of >= 0 || from < 0 || to < 0) continue;
    if (r->plan->node[to].joint == from) continue;
    o->redundant++;
    note(o, "these two exchange data, but belong to different communications", r->plan, from, to,
         "the data");
  }
}

/* ---- The critical path ----------------------------------------------------------------------- */

/* All work ends when the bound says; for a complete run. */
static int same_ends(const zp_hb_run *r, uint64_t seed, zp_hb_report *o)
{
  const zp_hb_plan *p = r->plan;
  const int32_t n = p->graph.n, m = r->graph.n;
  int64_t *cost = malloc((size_t)(n + 1) * sizeof *cost),
          *end = malloc((size_t)(n + 1) * sizeof *end);
  int64_t *its = calloc((size_t)m + 1, sizeof *its),
          *its_end = malloc((size_t)(m + 1) * sizeof *its_end);
  int64_t bound = 0, length = 0;
  if (cost && end && its && its_end) {
    zp_hb_costs(p, seed, cost);
    bound = zp_hb_graph_ends(&p->graph, cost, NULL, end);
    for (int32_t v = 0; v < m; v++)
      if (r->vertex[v].first) its[v] = cost[r->vertex[v].node];
    length = zp_hb_graph_ends(&r->graph, its, NULL, its_end);
    for (int32_t i = 0; i < n && !o->text[0]; i++) {
      const int32_t v = p->graph.order[i];
      if (r->last[v] < 0 || its_end[r->last[v]] == end[v]) continue;
      zp_hb_node_text(p, v, o->text, sizeof o->text);
      snprintf(o->text + strlen(o->text), sizeof o->text - strlen(o->text),
               ": ends at %" PRId64 ", expected %" PRId64 " (costs of seed %" PRIu64 ")",
               its_end[r->last[v]], end[v], seed);
    }
  } else snprintf(o->text, sizeof o->text, "out of memory for the critical path");
  if (seed == 0) {
    o->bound = bound;
    o->length = length;
  }
  free(cost);
  free(end);
  free(its);
  free(its_end);
  return bound != length || o->text[0];
}

int zp_hb_compare(const zp_hb_run *r, int32_t draws, zp_hb_report *o)
{
  int failed = 0;
  *o = (zp_hb_report){.race = {-1, -1}, .waits = {-1, -1}};
  for (int32_t v = 0; v < r->plan->graph.n; v++) o->nodes += r->last[v] >= 0;
  if (r->absent) snprintf(o->text, sizeof o->text, "%s", r->unplanned_text);
  find_missing(r, o);
  o->unplanned = r->unplanned;
  if (!o->text[0]) snprintf(o->text, sizeof o->text, "%s", r->unplanned_text);
  find_superfluous(r, o);
  find_members(r, o);
  for (int32_t k = 0; r->complete && !r->unplanned && k <= draws; k++)
    failed |= same_ends(r, (uint64_t)k, o);
  return failed || o->missing || o->redundant || o->unplanned;
}

int zp_hb_check(const zp_hb_case *c, const simdev *s, zp_hb_report *o)
{
  zp_hb_plan *p;
  zp_hb_run *r = NULL;
  int failed = 1;
  *o = (zp_hb_report){.race = {-1, -1}, .waits = {-1, -1}};
  p = zp_hb_plan_open(c, o->text, sizeof o->text);
  if (p) r = zp_hb_run_open(c, p, s, o->text, sizeof o->text);
  if (r) failed = zp_hb_compare(r, 4, o);
  zp_hb_run_close(r);
  zp_hb_plan_close(p);
  return failed;
}
