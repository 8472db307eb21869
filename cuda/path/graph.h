/* Directed graphs without cycles whose vertices take time: the longest path to each vertex, and who
 * comes before whom. Some vertices lie on chains: those of one chain come one after the other. */
#ifndef ZP_PATH_GRAPH_H
#define ZP_PATH_GRAPH_H
#include <stdint.h>

typedef struct zp_graph_edge {
  int32_t from, to;
  int32_t why; /* for the caller */
} zp_graph_edge;

/* Zeroed, it is an empty graph. */
typedef struct zp_graph {
  int32_t n, cap;
  int32_t chains;
  int32_t *chain, *place; /* [n] -1: on none; the place counts from 1 along the chain's edges */
  zp_graph_edge *edge;
  int64_t edges, cap_edges;
  int32_t *order;  /* [n] after zp_graph_sort: each vertex behind those before it */
  int64_t *first;  /* [n + 1] … and by from: edges out of v are first[v] … first[v + 1] */
  int32_t *before; /* [n * chains] after zp_graph_sort: the highest place of each chain
                              among v itself and what comes before it; 0: none */
  int32_t no_memory;
} zp_graph;

/* A new vertex; -1: no memory, which zp_graph_sort reports. */
int32_t zp_graph_vertex(zp_graph *g, int32_t chain, int32_t place);
void zp_graph_join(zp_graph *g, int32_t from, int32_t to, int32_t why);

/* To be called once, when all vertices and edges are there. 0; -1: a cycle; -2: no memory. */
int zp_graph_sort(zp_graph *g);

/* 1: `from` is on a chain, and is `to` or comes before it. */
int zp_graph_precedes(const zp_graph *g, int32_t from, int32_t to);

/* When each vertex ends, if each begins as soon as all before it have ended, and vertex v takes
 * cost[v]; not_before, where given, holds the time at which v may begin. Returns the latest end. */
int64_t zp_graph_ends(const zp_graph *g, const int64_t *cost, const int64_t *not_before,
                      int64_t *end);

void zp_graph_free(zp_graph *g);

#endif
