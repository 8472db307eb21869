/* The operations of some ranks in time: when each was entered and returned, to which operations of
 * other ranks it belongs, and by how much the ranks' clocks differ. */
#ifndef ZP_TRACE_TIMELINE_H
#define ZP_TRACE_TIMELINE_H

#include "trace.h"

typedef struct zp_timed_op {
  int64_t enter, leave; /* ns of the rank's clock. leave: when it returned, or the wait for it; if
                           it never did, the end of the rank or of the picture */
  int64_t seq;          /* of the operations of `set`: equal numbers belong together */
  int32_t set;          /* a group, or a pair of which one sends to the other; -1: unknown */
  int32_t row;          /* the file's number of the group */
  uint8_t op, async, role;
  uint8_t back; /* whether it returned */
  uint8_t mark; /* for the caller */
} zp_timed_op;
/* UNKNOWN: the trace ends in the operation, from which another member has returned. */
enum { ZP_BACK, ZP_BACK_UNKNOWN, ZP_BACK_NEVER };
/* Which members of an operation wait for which: all for all, or some only for the root. */
enum { ZP_ROLE_ALL, ZP_ROLE_SOURCE, ZP_ROLE_TARGET };

typedef struct zp_timed_rank {
  zp_timed_op *op; /* [n] by record */
  int64_t n, cap, last;
  int64_t open;          /* the operation in which the trace ends, or the wait for it; -1 */
  int32_t rank, timed;   /* timed: the trace has times */
  int32_t ended, exited; /* it has completed; it has ended otherwise */
  int32_t bare;          /* the trace lacks returns of operations that did return */
  int64_t offset;        /* is added to its times */
} zp_timed_rank;

typedef struct zp_member { /* operation `record` of ranks[rank] */
  int64_t seq, record;
  int32_t set, rank;
} zp_member;

typedef struct zp_timeline {
  zp_trace_failure *failure;
  zp_trace_reader reader;
  zp_timed_rank *ranks;
  int32_t n, cap;
  void *keys; /* of tsearch: the sets by key */
  int32_t sets, sets_cap;
  int64_t *count; /* [sets_cap] operations of the rank that is read */
  zp_member *member;
  int64_t members;                /* those with a set, by set, number and time */
  int64_t violation, first, last; /* ns; of all times, with offsets */
} zp_timeline;

/* Reads those of n ranks of dir that are wanted. A failure jumps to t->failure. */
void zp_timeline_read(zp_timeline *t, const char *dir, const uint8_t *wanted, int32_t n);
void zp_timeline_free(zp_timeline *t);
/* The time at which a member entered its operation, with the offset of its rank. */
int64_t zp_timeline_entered(const zp_timeline *t, const zp_member *m);
/* Members i to the returned one belong to one operation, if i is the first of them. */
int64_t zp_timeline_run(const zp_timeline *t, int64_t i);

/* clock.c: n clocks. bound[s * n + r] limits offset[s] - offset[r]; INT64_MAX: no limit. Sets
 * offsets that keep all limits, or exceed them by as little as possible, which it returns.
 * work: [n * n] */
int64_t zp_clock_offsets(int32_t n, const int64_t *bound, int64_t *work, int64_t *offset);

#endif
