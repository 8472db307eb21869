/* Graphs: Kahn's order, the longest path, and vector clocks over the chains. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static int grow(void **list, int64_t n, size_t size)
{
  void *more = realloc(*list, (size_t)n * size);
  if (!more) return -1;
  *list = more;
  return 0;
}

int32_t zp_hb_graph_vertex(zp_hb_graph *g, int32_t chain, int32_t position)
{
  if (g->n == g->cap) {
    const int32_t cap = 2 * g->cap + 256;
    if (grow((void **)&g->chain, cap, sizeof *g->chain) ||
        grow((void **)&g->position, cap, sizeof *g->position)) {
      g->no_memory = 1;
      return -1;
    }
    g->cap = cap;
  }
  if (chain >= g->chains) g->chains = chain + 1;
  g->chain[g->n] = chain;
  g->position[g->n] = position;
  return g->n++;
}

void zp_hb_graph_join(zp_hb_graph *g, int32_t from, int32_t to, int32_t why)
{
  if (from < 0 || to < 0 || from == to) return;
  if (g->edges == g->cap_edges) {
    const int64_t cap = 2 * g->cap_edges + 1024;
    if (grow((void **)&g->edge, cap, sizeof *g->edge)) {
      g->no_memory = 1;
      return;
    }
    g->cap_edges = cap;
  }
  g->edge[g->edges++] = (zp_hb_graph_edge){from, to, why};
}

/* Sorts the edges by `from`; equal ones keep the order in which they were added. */
static int by_from(zp_hb_graph *g)
{
  zp_hb_graph_edge *sorted = malloc((size_t)(g->edges + 1) * sizeof *sorted);
  g->first = calloc((size_t)g->n + 2, sizeof *g->first);
  if (!sorted || !g->first) {
    free(sorted);
    return -2;
  }
  for (int64_t i = 0; i < g->edges; i++) g->first[g->edge[i].from + 2]++;
  for (int32_t v = 0; v < g->n; v++) g->first[v + 2] += g->first[v + 1];
  for (int64_t i = 0; i < g->edges; i++) sorted[g->first[g->edge[i].from + 1]++] = g->edge[i];
  free(g->edge);
  g->edge = sorted;
  g->cap_edges = g->edges + 1;
  return 0;
}

static int in_order(zp_hb_graph *g)
{
  int32_t *left = calloc((size_t)g->n + 1, sizeof *left);
  int32_t n = 0;
  g->order = malloc((size_t)(g->n + 1) * sizeof *g->order);
  if (!left || !g->order) {
    free(left);
    return -2;
  }
  for (int64_t i = 0; i < g->edges; i++) left[g->edge[i].to]++;
  for (int32_t v = 0; v < g->n; v++)
    if (left[v] == 0) g->order[n++] = v;
  for (int32_t i = 0; i < n; i++) {
    const int32_t v = g->order[i];
    for (int64_t k = g->first[v]; k < g->first[v + 1]; k++)
      if (--left[g->edge[k].to] == 0) g->order[n++] = g->edge[k].to;
  }
  free(left);
  return n == g->n ? 0 : -1;
}

int zp_hb_graph_sort(zp_hb_graph *g)
{
  const int status = g->no_memory ? -2 : by_from(g);
  return status ? status : in_order(g);
}

int zp_hb_graph_clocks(zp_hb_graph *g)
{
  const int32_t m = g->chains;
  g->before = calloc((size_t)g->n * (size_t)m + 1, sizeof *g->before);
  if (!g->before) return -2;
  for (int32_t i = 0; i < g->n; i++) {
    const int32_t v = g->order[i];
    int32_t *own = g->before + (int64_t)v * m;
    if (g->chain[v] >= 0 && own[g->chain[v]] < g->position[v]) own[g->chain[v]] = g->position[v];
    for (int64_t k = g->first[v]; k < g->first[v + 1]; k++) {
      int32_t *to = g->before + (int64_t)g->edge[k].to * m;
      for (int32_t c = 0; c < m; c++)
        if (to[c] < own[c]) to[c] = own[c];
    }
  }
  return 0;
}

int zp_hb_graph_precedes(const zp_hb_graph *g, int32_t from, int32_t to)
{
  const int32_t c = g->chain[from];
  return c >= 0 && g->before[(int64_t)to * g->chains + c] >= g->position[from];
}

int64_t zp_hb_graph_ends(const zp_hb_graph *g, const int64_t *cost, const int64_t *not_before,
                         int64_t *end)
{
  int64_t latest = 0;
  for (int32_t v = 0; v < g->n; v++) end[v] = not_before ? not_before[v] : 0;
  for (int32_t i = 0; i < g->n; i++) {
    const int32_t v = g->order[i];
    end[v] += cost[v];
    if (latest < end[v]) latest = end[v];
    for (int64_t k = g->first[v]; k < g->first[v + 1]; k++)
      if (end[g->edge[k].to] < end[v]) end[g->edge[k].to] = end[v];
  }
  return latest;
}

void zp_hb_graph_free(zp_hb_graph *g)
{
  free(g->chain);
  free(g->position);
  free(g->edge);
  free(g->order);
  free(g->first);
  free(g->before);
  memset(g, 0, sizeof *g);
}
