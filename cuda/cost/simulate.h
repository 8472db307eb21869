/* Discrete-event simulation of a plan: each piece of work begins as soon as its predecessors in the
 * plan's graph have ended, and slows down where the work beside it on its rank wants more of a
 * resource than there is.
 *
 * A communication occupies its share of the multiprocessors first: its blocks stay until it ends.
 * All else is shared by progressive filling: the rates of all active pieces grow together until a
 * resource is used up; the pieces that use it keep that rate, the others grow on. A communication
 * runs at the lowest of its members' rates. */
#ifndef ZP_CUDA_COST_SIMULATE_H
#define ZP_CUDA_COST_SIMULATE_H

#include "work.h"

/* Begin and end of each node in seconds, [graph.n]. */
typedef struct zp_times {
  double *begin, *end;
} zp_times;

/* Fills both arrays. 0, or -1: no memory. */
int zp_simulate(const zp_hb_plan *p, const zp_work *work, const zp_times *times);

#endif
