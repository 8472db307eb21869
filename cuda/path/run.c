/* From simdev's record to a graph: streams' orders, events, data, hosts that waited. */
#include "run.h"

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

static int is_work(const simdev_record *item)
{
  return item->kind != SIMDEV_RECORD && item->kind != SIMDEV_WAIT;
}

static int same_stream(const zp_path_run *r, int32_t i, int32_t k)
{
  const simdev_record *a = r->vertex[i].item, *b = r->vertex[k].item;
  return a->rank == b->rank && a->stream == b->stream;
}

/* ---- Items ----------------------------------------------------------------------------------- */

/* What belongs to no step (tag 0) is left out: the first values, and the opening. */
static int take_items(zp_path_run *r, const simdev_record *list, int64_t n)
{
  const simdev_record **item = malloc((size_t)(n + 1) * sizeof *item);
  if (!item) return -1;
  for (int64_t i = 0; i < n; i++)
    if (list[i].tag != 0) item[r->n++] = &list[i];
  qsort(item, (size_t)r->n, sizeof *item, by_stream);
  r->vertex = calloc(3 * (size_t)r->n + 1, sizeof *r->vertex); /* add_joints */
  for (int32_t i = 0; r->vertex && i < r->n; i++)
    r->vertex[i] = (zp_path_vertex){.item = item[i], .node = -1, .of = i};
  free(item);
  return r->vertex ? 0 : -1;
}

/* ---- Whose work an item is ------------------------------------------------------------------- */

/* The plan's nodes of each chain, in order. */
typedef struct chains {
  int32_t *node;  /* [plan nodes] */
  int64_t *first; /* [chains + 1] */
  int32_t n;
} chains;

static int chains_open(const zp_path_plan *p, chains *c)
{
  const zp_graph *g = &p->graph;
  c->n = g->chains;
  c->node = malloc((size_t)(g->n + 1) * sizeof *c->node);
  c->first = calloc((size_t)g->chains + 2, sizeof *c->first);
  if (!c->node || !c->first) return -1;
  for (int32_t v = 0; v < g->n; v++)
    if (g->chain[v] >= 0) c->first[g->chain[v] + 1]++;
  for (int32_t i = 0; i < g->chains; i++) c->first[i + 1] += c->first[i];
  for (int32_t v = 0; v < g->n; v++)
    if (g->chain[v] >= 0) c->node[c->first[g->chain[v]] + g->place[v] - 1] = v;
  return 0;
}

static int misfit(const zp_path_plan *p, const simdev_record *item, int32_t node, char *text,
                  int64_t cap)
{
  char expected[ZP_PATH_NAME] = "no more work";
  if (node >= 0) zp_path_node_text(p, node, expected, sizeof expected);
  snprintf(text, (size_t)cap,
           "rank %d, stream %d %s: %s (issue %" PRId64 ", tag %" PRIx64
           ") is not the plan's next work there: %s",
           item->rank, item->stream, item->stream_name, item->name, item->issue,
           (uint64_t)item->tag, expected);
  return -1;
}

static int is_of(const zp_path_node *n, const simdev_record *item, int32_t part)
{
  return n->rank == item->rank && n->tag == item->tag && n->part == part;
}

/* The chain that begins with this item; -1: none. */
static int32_t chain_of(const zp_path_plan *p, const chains *c, const simdev_record *item,
                        int32_t part)
{
  for (int32_t i = item->rank * p->streams; i < (item->rank + 1) * p->streams; i++)
    if (c->first[i] < c->first[i + 1] && is_of(&p->node[c->node[c->first[i]]], item, part))
      return i;
  return -1;
}

/* Walks one stream's items, [from, to): each is work of the chain's current node or of its next. */
static int match_stream(zp_path_run *r, const chains *c, int32_t from, int32_t to, char *text,
                        int64_t cap)
{
  const zp_path_plan *p = r->plan;
  int32_t chain = -1, part = 0, cut = 0;
  int64_t at = 0, tag = 0;
  for (int32_t i = from; i < to; i++) {
    zp_path_vertex *v = &r->vertex[i];
    const int comm = v->item->kind == SIMDEV_COMM;
    if (!is_work(v->item)) {
      cut = 1;
      continue;
    }
    if (v->item->tag != tag) part = 0;
    tag = v->item->tag;
    if (comm == (part % 2 == 0)) part++; /* from kernels to communication, or back */
    else if (comm) part += 2;            /* another communication right behind */
    if (chain < 0) {
      chain = chain_of(p, c, v->item, part);
      if (chain < 0) return misfit(p, v->item, -1, text, cap);
      at = c->first[chain];
    } else if (cut || !is_of(&p->node[c->node[at]], v->item, part)) at++;
    cut = 0;
    if (at >= c->first[chain + 1]) return misfit(p, v->item, -1, text, cap);
    v->node = c->node[at];
    if (!is_of(&p->node[v->node], v->item, part)) return misfit(p, v->item, v->node, text, cap);
    if (r->last[v->node] < 0) {
      r->begin[v->node] = i;
      v->first = !comm;
    }
    r->last[v->node] = i;
  }
  return 0;
}

static int match(zp_path_run *r, char *text, int64_t cap)
{
  chains c = {0};
  int32_t from = 0;
  int status = chains_open(r->plan, &c);
  if (status) snprintf(text, (size_t)cap, "no memory for the comparison");
  while (!status && from < r->n) {
    int32_t to = from + 1;
    while (to < r->n && same_stream(r, from, to)) to++;
    status = match_stream(r, &c, from, to, text, cap);
    from = to;
  }
  for (int32_t v = 0; !status && r->whole && v < r->plan->graph.n; v++) {
    if (r->plan->node[v].chain < 0 || r->last[v] >= 0) continue;
    zp_path_node_text(r->plan, v, text, cap);
    strncat(text, ": this did not run", (size_t)cap - strlen(text) - 1);
    status = -1;
  }
  free(c.node);
  free(c.first);
  return status;
}

/* ---- Order ----------------------------------------------------------------------------------- */

typedef struct finder {
  int32_t *of; /* [issues + 1] the vertex of an issue number, or -1 */
  int64_t n;
  int32_t *member; /* [items] a forest: communications' members under one root */
  int32_t *end;    /* [items] the vertex that ends an item: its own but for communications */
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

static int finder_open(zp_path_run *r, finder *f, const simdev_edge *e, int64_t edges)
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

static int32_t another(zp_path_run *r, int32_t node, int32_t of)
{
  const int on = of >= 0;
  const int32_t v = zp_graph_vertex(&r->graph, on ? r->plan->graph.chain[node] : -1,
                                    on ? r->plan->graph.place[node] : 0);
  if (v >= 0) r->vertex[v] = (zp_path_vertex){NULL, node, of, !on};
  return v;
}

/* A communication's item is its beginning on its rank; what all members do together follows, of
 * whom data came or to whom it went, then the end on each rank. */
static void add_joints(zp_path_run *r, finder *f)
{
  int32_t *joint = calloc((size_t)r->n + 1, sizeof *joint);
  if (!joint) {
    r->graph.no_memory = 1;
    return;
  }
  for (int32_t i = 0; i < r->n; i++) {
    const int32_t top = root(f->member, i), node = r->vertex[i].node;
    if (r->vertex[i].item->kind != SIMDEV_COMM) continue;
    if (joint[top] == 0) joint[top] = another(r, r->plan->node[node].joint, -1);
    f->end[i] = r->last[node] = another(r, node, i);
    zp_graph_join(&r->graph, i, joint[top], ZP_RUN_MEMBERS);
    zp_graph_join(&r->graph, joint[top], f->end[i], ZP_RUN_MEMBERS);
  }
  free(joint);
}

static void join(zp_path_run *r, const finder *f, int32_t from, int32_t to, int32_t why)
{
  if (from >= 0 && to >= 0) zp_graph_join(&r->graph, f->end[from], to, why);
}

/* The first item of each of the rank's streams that was issued behind the host's call. */
static void join_host(zp_path_run *r, const finder *f, const simdev_edge *e)
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
  const simdev_record *x = (*(const zp_path_vertex *const *)a)->item;
  const simdev_record *y = (*(const zp_path_vertex *const *)b)->item;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return x->issue < y->issue ? -1 : x->issue > y->issue;
}

/* NCCL begins the communications of a device in the order of their launch, where it was told to;
 * that one ends before the next begins is the model's link. */
static void join_links(zp_path_run *r, const finder *f)
{
  const zp_path_vertex **list = malloc((size_t)(r->n + 1) * sizeof *list);
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

static void add_items(zp_path_run *r)
{
  for (int32_t i = 0; i < r->n; i++) {
    const int32_t node = r->vertex[i].item->kind == SIMDEV_COMM ? -1 : r->vertex[i].node;
    zp_graph_vertex(&r->graph, node < 0 ? -1 : r->plan->graph.chain[node],
                    node < 0 ? 0 : r->plan->graph.place[node]);
  }
}

static void add_edges(zp_path_run *r, const finder *f, const simdev_edge *e, int64_t n)
{
  for (int32_t i = 1; i < r->n; i++)
    if (same_stream(r, i - 1, i)) join(r, f, i - 1, i, ZP_RUN_STREAM);
  for (int64_t i = 0; i < n; i++) {
    if (e[i].kind == SIMDEV_EDGE_HOST) join_host(r, f, &e[i]);
    else if (e[i].kind != SIMDEV_EDGE_DATA)
      join(r, f, found(f, e[i].from), found(f, e[i].to), (int32_t)e[i].kind);
  }
}

static int order(zp_path_run *r, const simdev *s, int launch_order)
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
  r->graph.chains = r->plan->graph.chains;
  return zp_graph_sort(&r->graph);
}

/* ---- Opening --------------------------------------------------------------------------------- */

zp_path_run *zp_path_run_open(const zp_path_case *c, const zp_path_plan *p, const simdev *s,
                              char *text, int64_t cap)
{
  zp_path_run *r = calloc(1, sizeof *r);
  int64_t n;
  const simdev_record *list = simdev_records(s, &n);
  snprintf(text, (size_t)cap, "no memory for the run's graph");
  if (!r) return NULL;
  r->plan = p;
  r->whole = simdev_result(s)->status == SIMDEV_OK;
  r->last = malloc((size_t)(p->graph.n + 1) * sizeof *r->last);
  r->begin = malloc((size_t)(p->graph.n + 1) * sizeof *r->begin);
  if (!r->last || !r->begin || take_items(r, list, n)) goto failed;
  for (int32_t v = 0; v < p->graph.n; v++) r->last[v] = r->begin[v] = -1;
  if (match(r, text, cap)) goto failed;
  switch (order(r, s, c->launch_order)) {
  case 0: break;
  case -1: snprintf(text, (size_t)cap, "what the run ordered is a cycle"); goto failed;
  default: goto failed;
  }
  text[0] = 0;
  return r;
failed:
  zp_path_run_close(r);
  return NULL;
}

void zp_path_run_close(zp_path_run *r)
{
  if (!r) return;
  free(r->vertex);
  free(r->last);
  free(r->begin);
  zp_graph_free(&r->graph);
  free(r);
}
