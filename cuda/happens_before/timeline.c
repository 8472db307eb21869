/* The layout of a timeline. */
#include "timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operand.h"
#include "timeline_layout.h"

enum { UNPLANNED_COST = 8 }; /* the cost of work that is not in the plan */

/* ---- Times ----------------------------------------------------------------------------------- */

typedef struct times {
  int64_t *node;              /* [plan nodes] costs */
  int32_t *by;                /* [plan nodes] the vertex that takes the node's time, or -1 */
  int64_t *cost, *from, *end; /* [vertices] */
} times;

static int32_t timed(const zp_hb_run *r, const times *x, int32_t node)
{
  const int32_t joint = r->plan->node[node].joint;
  return x->by[joint < 0 ? node : joint];
}

static void times_close(times *x)
{
  free(x->node);
  free(x->by);
  free(x->cost);
  free(x->from);
  free(x->end);
}

static int times_open(const zp_hb_run *r, times *x)
{
  const size_t n = (size_t)r->graph.n + 1;
  x->node = malloc((size_t)(r->plan->graph.n + 1) * sizeof *x->node);
  x->by = malloc((size_t)(r->plan->graph.n + 1) * sizeof *x->by);
  x->cost = calloc(n, sizeof *x->cost);
  x->from = calloc(n, sizeof *x->from);
  x->end = calloc(n, sizeof *x->end);
  if (!x->node || !x->by || !x->cost || !x->from || !x->end) return -1;
  zp_hb_costs(r->plan, 0, x->node);
  for (int32_t v = 0; v < r->plan->graph.n; v++) x->by[v] = -1;
  for (int32_t v = 0; v < r->graph.n; v++) {
    const zp_hb_vertex *y = &r->vertex[v];
    if (y->first && y->node >= 0) x->by[y->node] = v;
    if (y->first) x->cost[v] = y->node < 0 ? UNPLANNED_COST : x->node[y->node];
    else if (y->item && y->node < 0 && zp_hb_is_work(y->item) && y->item->kind != SIMDEV_COMM)
      x->cost[v] = UNPLANNED_COST;
  }
  return 0;
}

/* Moves the earlier of two unordered pieces, so that both run at the same time. */
static void align_race(const zp_hb_run *r, const zp_hb_report *o, times *x)
{
  const int32_t a = timed(r, x, o->race[0]), b = timed(r, x, o->race[1]);
  if (a < 0 || b < 0) return;
  const int64_t at_a = x->end[a] - x->cost[a], at_b = x->end[b] - x->cost[b];
  if (at_a < at_b && !zp_hb_graph_precedes(&r->graph, r->last[o->race[0]], r->begin[o->race[1]]))
    x->from[a] = at_b;
  if (at_b < at_a && !zp_hb_graph_precedes(&r->graph, r->last[o->race[1]], r->begin[o->race[0]]))
    x->from[b] = at_a;
  zp_hb_graph_ends(&r->graph, x->cost, x->from, x->end);
}

/* ---- Bars and arrows ------------------------------------------------------------------------- */

static int begins_row(const zp_hb_run *r, int32_t i)
{
  const simdev_record *a = r->vertex[i].item, *b = i > 0 ? r->vertex[i - 1].item : NULL;
  return !b || a->rank != b->rank || a->stream != b->stream;
}

static void add_row(zp_timeline *t, const simdev_record *item)
{
  zp_row *row = &t->row[t->rows++];
  row->rank = item->rank;
  row->stream = item->stream;
  if (item->stream_name[0] == 0) snprintf(row->name, sizeof row->name, "stream %d", item->stream);
  else snprintf(row->name, sizeof row->name, "%.20s (%d)", item->stream_name, item->stream);
}

/* bar_of: [items] the bar that an item belongs to, or -1. */
static void add_bars(zp_timeline *t, const times *x, int32_t *bar_of)
{
  const zp_hb_run *r = t->run;
  for (int32_t i = 0; i < r->n; i++) {
    const zp_hb_vertex *v = &r->vertex[i];
    bar_of[i] = -1;
    if (begins_row(r, i)) add_row(t, v->item);
    if (!zp_hb_is_work(v->item)) continue;
    if (v->node >= 0 && r->begin[v->node] != i) {
      bar_of[i] = bar_of[r->begin[v->node]];
      continue;
    }
    zp_bar b = {v->node, i, t->rows - 1, 0, 0, 0};
    if (v->node < 0) {
      b.end = x->end[i];
      b.begin = b.end - x->cost[i];
    } else {
      const int32_t at = timed(r, x, v->node), last = r->last[v->node];
      b.end = x->end[last];
      b.begin = at < 0 ? b.end : x->end[at] - x->cost[at];
      for (int k = 0; k < 2; k++)
        if (t->report->race[k] == v->node) {
          b.marked = 1 + k;
          t->race[k] = t->bars;
        }
    }
    if (t->length < b.end) t->length = b.end;
    bar_of[i] = t->bars;
    t->bar[t->bars++] = b;
  }
}

/* The bar at or before item i on its stream (step -1), or at or after it (step 1). */
static int32_t bar_at(const zp_hb_run *r, const int32_t *bar_of, int32_t i, int32_t step)
{
  const simdev_record *here = r->vertex[i].item;
  for (int32_t k = i; k >= 0 && k < r->n; k += step) {
    if (r->vertex[k].item->rank != here->rank || r->vertex[k].item->stream != here->stream)
      return -1;
    if (bar_of[k] >= 0) return bar_of[k];
  }
  return -1;
}

static void add_arrows(zp_timeline *t, const int32_t *bar_of)
{
  const zp_hb_run *r = t->run;
  for (int64_t k = 0; k < r->graph.edges; k++) {
    const zp_hb_graph_edge *e = &r->graph.edge[k];
    if (e->why == ZP_RUN_STREAM || e->why == ZP_RUN_MEMBERS || e->why == ZP_RUN_LINK) continue;
    const int32_t from = bar_at(r, bar_of, r->vertex[e->from].of, -1);
    const int32_t to = bar_at(r, bar_of, r->vertex[e->to].of, 1);
    if (from < 0 || to < 0 || t->bar[from].row == t->bar[to].row) continue;
    const int32_t a = t->bar[from].node, b = t->bar[to].node;
    t->arrow[t->arrows++] =
        (zp_arrow){from, to, e->why, a >= 0 && b >= 0 && !zp_hb_demands(t->plan, a, b)};
  }
}

/* ---- The race -------------------------------------------------------------------------------- */

static void describe_race(zp_timeline *t)
{
  char why[ZP_HB_NAME], a[2 * ZP_HB_NAME], b[2 * ZP_HB_NAME];
  if (t->race[0] < 0 || t->race[1] < 0) return;
  const zp_bar *x = &t->bar[t->race[0]], *y = &t->bar[t->race[1]];
  const int first = t->run->vertex[x->item].item->begin < t->run->vertex[y->item].item->begin;
  zp_hb_operand_text(t->report->race_why, why, sizeof why);
  zp_timeline_text(t, x, a, sizeof a);
  zp_timeline_text(t, y, b, sizeof b);
  snprintf(t->race_text, sizeof t->race_text,
           "%s for %s: the run does not order 1 before 2; here %s ran first\n1: %s\n2: %s",
           t->report->race_why < ZP_ON_PARAMS ? "NO ORDER" : "RACE", why, first ? "1" : "2", a, b);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int lay_out(zp_timeline *t)
{
  const zp_hb_run *r = t->run;
  times x = {0};
  int32_t *bar_of = malloc((size_t)(r->n + 1) * sizeof *bar_of);
  const size_t n = (size_t)r->n + 1;
  int failed = times_open(r, &x);
  t->bar = calloc(n, sizeof *t->bar);
  t->row = calloc(n, sizeof *t->row);
  t->arrow = calloc((size_t)r->graph.edges + 1, sizeof *t->arrow);
  failed |= !bar_of || !t->bar || !t->row || !t->arrow;
  if (!failed) {
    zp_hb_graph_ends(&r->graph, x.cost, NULL, x.end);
    if (t->report->race[0] >= 0) align_race(r, t->report, &x);
    add_bars(t, &x, bar_of);
    add_arrows(t, bar_of);
    describe_race(t);
  }
  times_close(&x);
  free(bar_of);
  return failed;
}

static int write_files(zp_timeline *t, char *text, int64_t cap)
{
  zp_error err = {0};
  if (lay_out(t)) zp_fail(&err, ZP_E_MEMORY, -1, "out of memory for the timeline");
  if (!err.status && t->opt->trace) zp_timeline_trace(t, t->opt->trace, &err);
  if (!err.status && t->opt->svg) zp_timeline_svg(t, t->opt->svg, &err);
  if (err.status) snprintf(text, (size_t)cap, "%s", err.text);
  return err.status != 0;
}

int zp_timeline_write(const zp_hb_case *c, const simdev *s, const zp_timeline_options *o,
                      char *text, int64_t cap)
{
  zp_hb_report report;
  zp_timeline t = {.report = &report, .opt = o, .race = {-1, -1}};
  zp_hb_plan *p = zp_hb_plan_open(c, text, cap);
  zp_hb_run *r = p ? zp_hb_run_open(c, p, s, text, cap) : NULL;
  int failed = 1;
  if (r) {
    zp_hb_compare(r, 0, &report);
    t.plan = p;
    t.run = r;
    failed = write_files(&t, text, cap);
  }
  free(t.bar);
  free(t.row);
  free(t.arrow);
  zp_hb_run_close(r);
  zp_hb_plan_close(p);
  return failed;
}
