/* Acyclic directed graphs whose vertices take time: the longest path to each vertex, and whether
 * one vertex precedes another. Vertices on the same chain are ordered by their position. */
#ifndef ZP_HAPPENS_BEFORE_GRAPH_H
#define ZP_HAPPENS_BEFORE_GRAPH_H
#include <stdint.h>

typedef struct zp_hb_graph_edge {
  int32_t from, to;
  int32_t why; /* for the caller */
} zp_hb_graph_edge;

/* Zeroed, it is an empty graph. */
typedef struct zp_hb_graph {
  int32_t n, cap;
  int32_t chains;
  int32_t *chain,
      *position; /* [n] -1: on no chain; positions count from 1 along the chain's edges */
  zp_hb_graph_edge *edge;
  int64_t edges, cap_edges;
  int32_t *order; /* [n] after zp_hb_graph_sort: a topological order */
  int64_t *first; /* [n + 1] after it: edges out of v are first[v] … first[v + 1] */
  /* [n * chains] after zp_hb_graph_clocks: the highest position on each chain among v and its
   * predecessors; 0 if the chain has no such vertex */
  int32_t *before;
  int32_t no_memory;
} zp_hb_graph;

/* A new vertex; -1: no memory, which zp_hb_graph_sort reports. */
int32_t zp_hb_graph_vertex(zp_hb_graph *g, int32_t chain, int32_t position);
void zp_hb_graph_join(zp_hb_graph *g, int32_t from, int32_t to, int32_t why);

/* To be called once, after all vertices and edges were added. 0; -1: a cycle; -2: no memory. */
int zp_hb_graph_sort(zp_hb_graph *g);

/* To be called once, after zp_hb_graph_sort, for zp_hb_graph_precedes. 0; -2: no memory. */
int zp_hb_graph_clocks(zp_hb_graph *g);

/* 1: `from` is on a chain, and is `to` or precedes it. */
int zp_hb_graph_precedes(const zp_hb_graph *g, int32_t from, int32_t to);

/* The end of each vertex if each begins as soon as its predecessors have ended, but not before
 * not_before[v], and takes cost[v]. not_before may be NULL. Returns the latest end. */
int64_t zp_hb_graph_ends(const zp_hb_graph *g, const int64_t *cost, const int64_t *not_before,
                         int64_t *end);

void zp_hb_graph_free(zp_hb_graph *g);

#endif
