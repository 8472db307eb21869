/* What a run did, as a graph, and its comparison with the plan's. */
#ifndef ZP_PATH_RUN_H
#define ZP_PATH_RUN_H

#include "../simdev/simdev.h"
#include "path.h"

/* Why an edge of a run's graph is there: simdev_edge_kind, or one of these. */
enum { ZP_RUN_STREAM = 100, ZP_RUN_MEMBERS, ZP_RUN_LINK };

/* A vertex is an executed item; behind them (item NULL) follow what all members of a communication
 * do together, and its end on each rank: the item is its beginning. */
typedef struct zp_path_vertex {
  const simdev_record *item;
  int32_t node;  /* of the plan that it is work of; records and waits: -1 */
  int32_t of;    /* the item whose end or self it is; of all members: -1 */
  int32_t first; /* 1: it takes the node's time: all members', or a node's first item */
} zp_path_vertex;

typedef struct zp_path_run {
  const zp_path_plan *plan;
  zp_path_vertex *vertex;      /* [graph.n] */
  int32_t n;                   /* of items */
  int32_t whole;               /* 1: simdev found nothing: all of the plan should have run */
  int64_t strangers;           /* pieces of work that the plan does not have, or has elsewhere */
  char stranger[ZP_PATH_TEXT]; /* the first */
  int32_t *last;               /* [plan nodes] the vertex that ends it, or -1: it did not run */
  int32_t *begin;              /* [plan nodes] the vertex that begins it, or -1 */
  zp_graph graph;
} zp_path_run;

/* 1: the item takes time and touches operands; events, waits and the like do not. */
int zp_path_is_work(const simdev_record *item);

/* What a comparison found. A run that ended early is compared as far as it went. */
typedef struct zp_path_report {
  int64_t nodes, demands, ordered; /* pieces of work; edges of the plan, of the run */
  int64_t missing;                 /* demands that the run does not order: races */
  int64_t superfluous;             /* edges of the run that nothing demands */
  int64_t strangers;               /* work that the plan does not have, or has elsewhere */
  int64_t bound, length;           /* critical paths under the plain costs */
  int32_t race[2];                 /* nodes of the first that is missing, or -1 */
  int32_t race_why;
  int32_t waits[2];        /* nodes of the first that is superfluous, or -1 */
  char text[ZP_PATH_TEXT]; /* the first finding; empty: none */
} zp_path_report;

/* Finds the run's work in the plan, as far as it went. NULL: text says why not. */
zp_path_run *zp_path_run_open(const zp_path_case *c, const zp_path_plan *p, const simdev *s,
                              char *text, int64_t cap);
void zp_path_run_close(zp_path_run *r);

/* 1: the plan has `to` wait for `from`, or for what waits for it. */
int zp_path_demands(const zp_path_plan *p, int32_t from, int32_t to);

/* Compares. 0: nothing missing, nothing superfluous, and everything ends when the bound says, under
 * the plain costs and `draws` random ones; else 1. */
int zp_path_compare(const zp_path_run *r, int32_t draws, zp_path_report *report);

/* All of it: plan, run, comparison. 0, or 1 with report->text. For any case of which announcements
 * were logged and items tagged. */
int zp_path_check(const zp_path_case *c, const simdev *s, zp_path_report *report);

#endif
