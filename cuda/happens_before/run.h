/* A run's graph, and its comparison with the plan's. */
#ifndef ZP_HAPPENS_BEFORE_RUN_H
#define ZP_HAPPENS_BEFORE_RUN_H

#include "../simdev/simdev.h"
#include "happens_before.h"

/* The reason of an edge of a run's graph: simdev_edge_kind, or one of these. */
enum { ZP_RUN_STREAM = 100, ZP_RUN_MEMBERS, ZP_RUN_LINK };

/* A vertex is an executed item. After the items follow, with item NULL, the joint work of each
 * communication, and its end on each rank; the item of a communication is its begin. */
typedef struct zp_hb_vertex {
  const simdev_record *item;
  int32_t node;  /* the plan's node that it is work of; -1: a record or wait */
  int32_t of;    /* the item that it is, or ends; -1: joint work */
  int32_t first; /* 1: it takes the node's time: joint work, or a node's first item */
} zp_hb_vertex;

typedef struct zp_hb_run {
  const zp_hb_plan *plan;
  zp_hb_vertex *vertex;            /* [graph.n] */
  int32_t n;                       /* of items */
  int32_t complete;                /* 1: simdev had no finding, so all of the plan must have run */
  int64_t unplanned;               /* pieces of work that are not in the plan, or not there */
  int64_t absent;                  /* of them, work of the plan that did not run */
  char unplanned_text[ZP_HB_TEXT]; /* an absent one; else the first */
  int32_t *last;                   /* [plan nodes] the vertex that ends it, or -1: it did not run */
  int32_t *begin;                  /* [plan nodes] the vertex that begins it, or -1 */
  zp_hb_graph graph;
} zp_hb_run;

/* 1: the item takes time and accesses operands; records and waits do not. */
int zp_hb_is_work(const simdev_record *item);

/* The result of a comparison. A run that ended early is compared up to its end. */
typedef struct zp_hb_report {
  int64_t nodes, demands, ordered; /* pieces of work; edges of the plan, of the run */
  int64_t missing;                 /* demands that the run does not order: races */
  int64_t redundant;               /* edges of the run that the plan does not demand */
  int64_t unplanned;               /* pieces of work that are not in the plan, or not there */
  int64_t bound, length;           /* critical paths under the plain costs */
  int32_t race[2];                 /* nodes of the first missing demand, or -1 */
  int32_t race_why;
  int32_t waits[2];      /* nodes of the first redundant edge, or -1 */
  char text[ZP_HB_TEXT]; /* the first finding, or empty */
} zp_hb_report;

/* Finds the run's work in the plan, up to the end of the run. NULL after filling text. */
zp_hb_run *zp_hb_run_open(const zp_hb_case *c, const zp_hb_plan *p, const simdev *s, char *text,
                          int64_t cap);
void zp_hb_run_close(zp_hb_run *r);

/* 1: the plan demands that `from` ends before `to` begins. */
int zp_hb_demands(const zp_hb_plan *p, int32_t from, int32_t to);

/* 0: nothing is missing or redundant, and all work ends when the bound says, under the plain costs
 * and `draws` random ones; else 1. */
int zp_hb_compare(const zp_hb_run *r, int32_t draws, zp_hb_report *report);

/* Makes both graphs and compares them. 0, or 1 with report->text. The case's announcements must be
 * logged and its items tagged. */
int zp_hb_check(const zp_hb_case *c, const simdev *s, zp_hb_report *report);

#endif
