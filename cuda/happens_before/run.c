/* The graph of a run from simdev's record: the order of streams, events, data, hosts that
 * waited. */
#include "run.h"
#include "operand.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Items of one rank's stream, in the order of issue. */
static int by_stream(const void *a, const void *b)
{
  const simdev_record *x = *(const simdev_record *const *)a, *y = *(const simdev_record *const *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
  return x->issue < y->issue ? -1 : x->issue > y->issue;
}

int zp_hb_is_work(const simdev_record *item)
{
  return item->kind == SIMDEV_KERNEL || item->kind == SIMDEV_COPY || item->kind == SIMDEV_SET ||
         item->kind == SIMDEV_COMM;
}

static int same_stream(const zp_hb_run *r, int32_t i, int32_t k)
{
  const simdev_record *a = r->vertex[i].item, *b = r->vertex[k].item;
  return a->rank == b->rank && a->stream == b->stream;
}

/* ---- Items ----------------------------------------------------------------------------------- */

/* Work without a tag is left out: it belongs to no step. */
static int take_items(zp_hb_run *r, const simdev_record *list, int64_t n)
{
  const simdev_record **item = malloc((size_t)(n + 1) * sizeof *item);
  if (!item) return -1;
  for (int64_t i = 0; i < n; i++)
    if (list[i].tag != 0) item[r->n++] = &list[i];
  qsort(item, (size_t)r->n, sizeof *item, by_stream);
  r->vertex = calloc(3 * (size_t)r->n + 1, sizeof *r->vertex); /* add_joints */
  for (int32_t i = 0; r->vertex && i < r->n; i++)
    r->vertex[i] = (zp_hb_vertex){.item = item[i], .node = -1, .of = i};
  free(item);
  return r->vertex ? 0 : -1;
}

/* ---- Whose work an item is ------------------------------------------------------------------- */

static int by_tag(const void *a, const void *b)
{
  const zp_hb_node *x = *(const zp_hb_node *const *)a, *y = *(const zp_hb_node *const *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
  return x->part < y->part ? -1 : x->part > y->part;
}

/* The plan's nodes, sorted by rank and tag. */
typedef struct nodes {
  const zp_hb_node **node;
  size_t n;
} nodes;

static int nodes_open(const zp_hb_plan *p, nodes *l)
{
  l->node = malloc((size_t)(p->graph.n + 1) * sizeof *l->node);
  if (!l->node) return -1;
  for (int32_t v = 0; v < p->graph.n; v++)
    if (p->node[v].chain >= 0) l->node[l->n++] = &p->node[v];
  qsort(l->node, l->n, sizeof *l->node, by_tag);
  return 0;
}

static const zp_hb_node **find_node(const nodes *l, const simdev_record *item, int32_t part)
{
  const zp_hb_node like = {.rank = item->rank, .tag = item->tag, .part = part};
  const zp_hb_node *key = &like;
  return bsearch(&key, l->node, l->n, sizeof *l->node, by_tag);
}

/* -1: not in the plan. The work of an op is kernels and communications; a meta message is also
 * copied to the host, and what offload transfers to or from it. */
static int32_t node_of(const zp_hb_run *r, const nodes *l, const simdev_record *item, int32_t part)
{
  const zp_hb_node **at = NULL;
  if (item->kind == SIMDEV_COPY) at = find_node(l, item, ZP_HB_TRANSFER);
  if (at) return (int32_t)(*at - r->plan->node);
  at = find_node(l, item, part);
  if (!at) return -1;
  if ((*at)->what == ZP_HB_OP && (*at)->kind != ZP_OP_META && item->kind != SIMDEV_KERNEL &&
      item->kind != SIMDEV_COMM)
    return -1;
  return (int32_t)(*at - r->plan->node);
}

/* The plan's work after `before` on its stream, or -1. */
static int32_t after(const zp_hb_plan *p, int32_t before)
{
  for (int32_t v = 0; before >= 0 && v < p->graph.n; v++)
    if (p->graph.chain[v] == p->graph.chain[before] && p->node[v].chain >= 0 &&
        p->graph.position[v] == p->graph.position[before] + 1)
      return v;
  return -1;
}

/* Keeps the first piece of work that is not in the plan, or not there. before: the work of the plan
 * that preceded it on its stream, or -1. */
static void note_unplanned(zp_hb_run *r, const simdev_record *item, int32_t node, int32_t before)
{
  char theirs[ZP_HB_NAME] = "no work of the plan", next[ZP_HB_NAME] = "the stream's first work";
  if (r->unplanned++) return;
  const int32_t expected = after(r->plan, before);
  if (node >= 0) zp_hb_node_text(r->plan, node, theirs, sizeof theirs);
  if (expected >= 0) zp_hb_node_text(r->plan, expected, next, sizeof next);
  else if (before >= 0) snprintf(next, sizeof next, "no further work of the plan");
  snprintf(r->unplanned_text, sizeof r->unplanned_text,
           "rank %d, stream %d %s: %s (issue %" PRId64 ", tag %" PRIx64
           "):\n  got %s\n  expected %s",
           item->rank, item->stream, item->stream_name, item->name, item->issue,
           (uint64_t)item->tag, theirs, next);
}

/* Kernels of one tag before, between and after its communications are separate pieces. */
static int32_t part_of(int32_t part, int comm)
{
  if (comm == (part % 2 == 0)) return part + 1;
  return comm ? part + 2 : part;
}

/* Matches the items [from, to) of one stream: each is work of the same node as the last one, or of
 * the next node of the chain. */
static void match_stream(zp_hb_run *r, const nodes *l, int32_t from, int32_t to)
{
  const zp_hb_graph *plan = &r->plan->graph;
  int32_t part = 0, before = -1, cut = 0;
  int64_t tag = 0;
  for (int32_t i = from; i < to; i++) {
    zp_hb_vertex *v = &r->vertex[i];
    const int comm = v->item->kind == SIMDEV_COMM;
    if (!zp_hb_is_work(v->item)) {
      cut = 1;
      continue;
    }
    part = part_of(v->item->tag == tag ? part : 0, comm);
    tag = v->item->tag;
    v->node = node_of(r, l, v->item, part);
    const int again = v->node >= 0 && v->node == before && !cut;
    if (v->node >= 0 && !again && r->begin[v->node] >= 0) v->node = -1;
    const int next = v->node >= 0 &&
                     plan->position[v->node] == (before < 0 ? 1 : plan->position[before] + 1) &&
                     (before < 0 || plan->chain[v->node] == plan->chain[before]);
    if (!again && !next) note_unplanned(r, v->item, v->node, before);
    cut = 0;
    if (v->node < 0) continue;
    before = v->node;
    if (!again) {
      r->begin[v->node] = i;
      v->first = !comm;
    }
    r->last[v->node] = i;
  }
}

/* The work that first needs what v makes: over an operand; else over an order that the plan demands
 * for another reason. NULL: no work needs it. */
static const zp_hb_graph_edge *first_need(const zp_hb_plan *p, int32_t v)
{
  const zp_hb_graph_edge *best = NULL;
  for (int64_t i = 0; i < p->graph.edges; i++) {
    const zp_hb_graph_edge *e = &p->graph.edge[i];
    if (e->from != v || p->node[e->to].chain < 0) continue;
    if (!best || (best->why < ZP_ON_PARAMS && e->why >= ZP_ON_PARAMS) ||
        ((best->why < ZP_ON_PARAMS) == (e->why < ZP_ON_PARAMS) &&
         p->graph.position[e->to] < p->graph.position[best->to]))
      best = e;
  }
  return best;
}

/* Work of the plan that a complete run lacks. The first one, in the order of the plan, explains
 * what else is not there, and is what the text names. */
static void find_absent(zp_hb_run *r)
{
  const zp_hb_plan *p = r->plan;
  char name[ZP_HB_NAME], needs[ZP_HB_NAME] = "", why[ZP_HB_NAME] = "";
  int32_t first = -1;
  for (int32_t k = 0; r->complete && k < p->graph.n; k++) {
    const int32_t v = p->graph.order[k];
    if (p->node[v].chain < 0 || r->last[v] >= 0) continue;
    r->unplanned++;
    r->absent++;
    if (first < 0) first = v;
  }
  if (first < 0) return;
  const zp_hb_graph_edge *need = first_need(p, first);
  zp_hb_node_text(p, first, name, sizeof name);
  snprintf(r->unplanned_text, sizeof r->unplanned_text, "missing operation: it did not run:\n  %s",
           name);
  if (!need) return;
  zp_hb_node_text(p, need->to, needs, sizeof needs);
  zp_hb_operand_text(need->why, why, sizeof why);
  snprintf(r->unplanned_text + strlen(r->unplanned_text),
           sizeof r->unplanned_text - strlen(r->unplanned_text), "\nneeded by (%s):\n  %s", why,
           needs);
}

static int match(zp_hb_run *r)
{
  nodes l = {0};
  int32_t from = 0;
  if (nodes_open(r->plan, &l)) return -1;
  while (from < r->n) {
    int32_t to = from + 1;
    while (to < r->n && same_stream(r, from, to)) to++;
    match_stream(r, &l, from, to);
    from = to;
  }
  find_absent(r);
  free(l.node);
  return 0;
}

/* ---- Order ----------------------------------------------------------------------------------- */

typedef struct finder {
  int32_t *of; /* [issues + 1] the vertex of an issue number, or -1 */
  int64_t n;
  int32_t *member; /* [items] a forest: the members of a communication have one root */
  int32_t *end;    /* [items] the vertex that ends an item */
} finder;

static int32_t root(int32_t *parent, int32_t v)
{
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}

static int32_t found(const finder *f, int64_t issue)
{
  return issue > 0 && issue <= f->n ? f->of[issue] : -1;
}

static int finder_open(zp_hb_run *r, finder *f, const simdev_edge *e, int64_t edges)
{
  for (int32_t i = 0; i < r->n; i++)
    if (f->n < r->vertex[i].item->issue) f->n = r->vertex[i].item->issue;
  f->of = malloc((size_t)(f->n + 1) * sizeof *f->of);
  f->member = malloc((size_t)(r->n + 1) * sizeof *f->member);
  f->end = malloc((size_t)(r->n + 1) * sizeof *f->end);
  if (!f->of || !f->member || !f->end) return -1;
  for (int64_t i = 0; i <= f->n; i++) f->of[i] = -1;
  for (int32_t i = 0; i < r->n; i++) {
    f->of[r->vertex[i].item->issue] = i;
    f->member[i] = f->end[i] = i;
  }
  for (int64_t i = 0; i < edges; i++) {
    const int32_t a = found(f, e[i].from), b = found(f, e[i].to);
    if (e[i].kind == SIMDEV_EDGE_DATA && a >= 0 && b >= 0)
      f->member[root(f->member, a)] = root(f->member, b);
  }
  return 0;
}

static void finder_close(finder *f)
{
  free(f->of);
  free(f->member);
  free(f->end);
}

static int32_t add_vertex(zp_hb_run *r, int32_t node, int32_t of, int32_t chain, int32_t position)
{
  const int32_t v = zp_hb_graph_vertex(&r->graph, chain, position);
  if (v >= 0) r->vertex[v] = (zp_hb_vertex){NULL, node, of, of < 0};
  return v;
}

/* Adds every item on the chain of its stream in the run. */
static void add_items(zp_hb_run *r)
{
  int32_t chain = 0, position = 0;
  for (int32_t i = 0; i < r->n; i++) {
    if (i > 0 && !same_stream(r, i - 1, i)) {
      chain++;
      position = 0;
    }
    zp_hb_graph_vertex(&r->graph, chain, ++position);
  }
}

/* The item of a communication is its begin on the rank. Then follow its joint work, with all
 * members that exchanged data, and its end on each rank. */
static void add_joints(zp_hb_run *r, finder *f)
{
  int32_t *joint = calloc((size_t)r->n + 1, sizeof *joint);
  if (!joint) {
    r->graph.no_memory = 1;
    return;
  }
  for (int32_t i = 0; i < r->n; i++) {
    const int32_t top = root(f->member, i), node = r->vertex[i].node;
    if (r->vertex[i].item->kind != SIMDEV_COMM) continue;
    if (joint[top] == 0)
      joint[top] = add_vertex(r, node < 0 ? -1 : r->plan->node[node].joint, -1, -1, 0);
    f->end[i] = add_vertex(r, node, i, r->graph.chain[i], r->graph.position[i]);
    r->graph.chain[i] = -1; /* its begin is on no chain */
    if (node >= 0) r->last[node] = f->end[i];
    zp_hb_graph_join(&r->graph, i, joint[top], ZP_RUN_MEMBERS);
    zp_hb_graph_join(&r->graph, joint[top], f->end[i], ZP_RUN_MEMBERS);
  }
  free(joint);
}

static void join(zp_hb_run *r, const finder *f, int32_t from, int32_t to, int32_t why)
{
  if (from >= 0 && to >= 0) zp_hb_graph_join(&r->graph, f->end[from], to, why);
}

/* From the item to the first item on each stream of the rank that was issued after the host's
 * call. */
static void join_host(zp_hb_run *r, const finder *f, const simdev_edge *e)
{
  for (int32_t i = 0; i < r->n; i++) {
    const simdev_record *item = r->vertex[i].item;
    if (item->rank != e->rank || item->call <= e->call) continue;
    if (i > 0 && same_stream(r, i, i - 1) && r->vertex[i - 1].item->call > e->call) continue;
    join(r, f, found(f, e->from), i, SIMDEV_EDGE_HOST);
  }
}

static int by_issue(const void *a, const void *b)
{
  const simdev_record *x = (*(const zp_hb_vertex *const *)a)->item;
  const simdev_record *y = (*(const zp_hb_vertex *const *)b)->item;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return x->issue < y->issue ? -1 : x->issue > y->issue;
}

/* With NCCL_LAUNCH_ORDER_IMPLICIT, NCCL begins the communications of a device in the order of
 * launch; that one ends before the next begins is the model of the link. */
static void join_links(zp_hb_run *r, const finder *f)
{
  const zp_hb_vertex **list = malloc((size_t)(r->n + 1) * sizeof *list);
  size_t n = 0;
  if (!list) {
    r->graph.no_memory = 1;
    return;
  }
  for (int32_t i = 0; i < r->n; i++)
    if (r->vertex[i].item->kind == SIMDEV_COMM) list[n++] = &r->vertex[i];
  qsort(list, n, sizeof *list, by_issue);
  for (size_t i = 1; i < n; i++)
    if (list[i]->item->rank == list[i - 1]->item->rank)
      join(r, f, (int32_t)(list[i - 1] - r->vertex), (int32_t)(list[i] - r->vertex), ZP_RUN_LINK);
  free(list);
}

static void add_edges(zp_hb_run *r, const finder *f, const simdev_edge *e, int64_t n)
{
  for (int32_t i = 1; i < r->n; i++)
    if (same_stream(r, i - 1, i)) join(r, f, i - 1, i, ZP_RUN_STREAM);
  for (int64_t i = 0; i < n; i++) {
    if (e[i].kind == SIMDEV_EDGE_HOST) join_host(r, f, &e[i]);
    else if (e[i].kind != SIMDEV_EDGE_DATA)
      join(r, f, found(f, e[i].from), found(f, e[i].to), (int32_t)e[i].kind);
  }
}

static int order(zp_hb_run *r, const simdev *s, int launch_order)
{
  finder f = {0};
  int64_t n;
  const simdev_edge *e = simdev_edges(s, &n);
  if (finder_open(r, &f, e, n)) r->graph.no_memory = 1;
  else {
    add_items(r);
    add_joints(r, &f);
    add_edges(r, &f, e, n);
    if (launch_order) join_links(r, &f);
  }
  finder_close(&f);
  const int status = zp_hb_graph_sort(&r->graph);
  return status ? status : zp_hb_graph_clocks(&r->graph);
}

/* ---- Opening --------------------------------------------------------------------------------- */

zp_hb_run *zp_hb_run_open(const zp_hb_case *c, const zp_hb_plan *p, const simdev *s, char *text,
                          int64_t cap)
{
  zp_hb_run *r = calloc(1, sizeof *r);
  int64_t n;
  const simdev_record *list = simdev_records(s, &n);
  snprintf(text, (size_t)cap, "out of memory for the run's graph");
  if (!r) return NULL;
  r->plan = p;
  r->complete = simdev_result(s)->status == SIMDEV_OK;
  r->last = malloc((size_t)(p->graph.n + 1) * sizeof *r->last);
  r->begin = malloc((size_t)(p->graph.n + 1) * sizeof *r->begin);
  if (!r->last || !r->begin || take_items(r, list, n)) goto failed;
  for (int32_t v = 0; v < p->graph.n; v++) r->last[v] = r->begin[v] = -1;
  if (match(r)) goto failed;
  switch (order(r, s, c->launch_order)) {
  case 0: break;
  case -1: snprintf(text, (size_t)cap, "the order of the run has a cycle"); goto failed;
  default: goto failed;
  }
  text[0] = 0;
  return r;
failed:
  zp_hb_run_close(r);
  return NULL;
}

void zp_hb_run_close(zp_hb_run *r)
{
  if (!r) return;
  free(r->vertex);
  free(r->last);
  free(r->begin);
  zp_hb_graph_free(&r->graph);
  free(r);
}
