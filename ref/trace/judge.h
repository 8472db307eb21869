/* The internals of the judge of recorded runs. The judge replays the trace of every rank. A rank
 * continues when all members have entered each operation that it has entered, so the k-th
 * operations of a group are matched, and they must be equal. If no rank can continue, a member is
 * missing or ranks wait in a cycle. */
#ifndef ZP_TRACE_JUDGE_H
#define ZP_TRACE_JUDGE_H

#include "trace.h"

/* The i-th operation of a group. */
typedef struct inst {
  zp_trace_sig sig, odd; /* of the first member; of the first member that differs from it */
  int64_t record, odd_record;
  int64_t seen;     /* the last stall that examined it */
  int32_t need;     /* members that have not entered it */
  int32_t first, n; /* the first rank that entered sig; how many did */
  int32_t odd_first, n_odd;
  int32_t awaited; /* a member that can still enter it, or -1; valid if seen */
} inst;

/* A communicator. Sends from place `from` of a communicator to place `to` form a group of their
 * own, with places 0 (sender) and 1 (receiver). */
typedef struct group {
  char *key;
  struct group *parent;
  int32_t from, to;
  int32_t size, absents;
  int32_t *rank;   /* [size] -1: unknown */
  int64_t *pos;    /* [size] operations entered */
  uint8_t *absent; /* [size] no rank waits for it any more */
  inst *ring;      /* operations base … base + count - 1, at [i % cap] */
  int64_t base;
  int32_t count, cap;
  int32_t reported; /* a mismatch in it was reported */
  int32_t named;    /* a trace lists all members */
  int64_t index;    /* its index in judge.all */
  inst *ahead;      /* [aheads] sends matched with a receive whose source was only assumed */
  int32_t aheads, ahead_cap;
} group;

typedef struct member { /* the group and place that a file's group or definition refers to */
  group *g;
  int32_t place;
} member;

/* An operation of a group that some members never enter, because their traces end before it. */
typedef struct gap {
  group *g;
  int64_t i, record, round; /* record of rank `first`; round: the stall that found it */
  zp_trace_sig sig;
  int32_t by, first;       /* a rank that waits for it; the first rank that entered it */
  int32_t *late, n_late;   /* the places that never enter it */
  int32_t *early, n_early; /* the places that entered it, if they are the minority */
} gap;

typedef struct wait {
  group *g;
  int64_t i, record;
  int32_t async;
} wait;

/* A receive from any source, until the trace records the source. */
typedef struct any {
  member m;
  zp_trace_sig sig;
  int64_t record;
  int32_t assumed; /* it is matched with an assumed sender */
} any;

typedef struct player {
  zp_trace_reader reader;
  member *group; /* [groups] by the file's number */
  member *link;  /* [links] of definitions */
  wait *wait;
  wait *detached; /* [n_detached] asynchronous operations for which it stopped waiting */
  any *any;       /* [anys] */
  int32_t anys, any_cap;
  int32_t groups, links, links_cap, waits, waits_cap, n_detached, detached_cap;
  int32_t in_call, blocked, behind, mark, next;
  int64_t step, joins;
} player;

typedef struct judge {
  zp_trace_failure failure;
  zp_trace_verdict *verdict;
  zp_trace_item item; /* of the rank that is being replayed */
  const char *dir;
  player *p;
  int32_t world, world_known, missing, ended, crowded;
  int64_t bytes, members; /* of all files; of all groups */
  int32_t *ready, n_ready;
  group **table; /* by key, open addressing; [cap] */
  group **all;
  int64_t groups, cap;
  int64_t records, unjudged, stalls, mismatches, cycles, warnings;
  int64_t first_round, first_cycle;
  gap *gap;
  int32_t gaps, gaps_cap;
  int32_t findings_cap;
} judge;

/* Adds a rank to the group that item defines. */
void zp_trace_join(judge *j, player *p, const zp_trace_item *item);
/* Member m enters its next operation. Returns 1 if the rank must wait for other members. */
int zp_trace_enter(judge *j, player *p, member m, const zp_trace_sig *sig, int64_t record);
/* Returns the group of two of a send or receive of m. If m.g has no such place, reports it and
 * returns g NULL. */
member zp_trace_pair(judge *j, player *p, const member *m, const zp_trace_sig *sig, int64_t record);
/* Reports a mismatch if sig and odd of x, operation i of g, differ. */
void zp_trace_compare(judge *j, group *g, int64_t i, const inst *x);
/* any_source.c: a rank enters a receive from any source; the trace records the source of one; the
 * judge assumes that one receives from the sender of g (returns 1 if there was one). */
void zp_trace_from_any(player *p, member m, const zp_trace_sig *sig, int64_t record);
void zp_trace_source(judge *j, player *p, int64_t record, int32_t place);
int zp_trace_assume_source(judge *j, group *g);
/* From now on, no rank waits for this place of g. */
void zp_trace_drop_member(judge *j, group *g, int32_t place);
void zp_trace_add_wait(player *p, wait w);
/* Whether members that are waited for have not entered operation i. */
int zp_trace_is_open(group *g, int64_t i);
/* Removes wait w of a rank, which becomes ready if that was its last one. */
void zp_trace_end_wait(judge *j, player *p, int32_t w);
/* Returns the rank at a place, or -1. */
int32_t zp_trace_rank_at(const group *g, int32_t place);
inst *zp_trace_inst(group *g, int64_t i);
/* "all_reduce sum 96 fp32 (number 3 of group tp, 2 ranks (0, 1))" */
void zp_trace_where(const group *g, int64_t i, const zp_trace_sig *s, char *text, size_t cap);

/* Called if no rank is ready. Reports why and makes a rank ready; returns 0 at the end of all. */
int zp_trace_stall(judge *j);
/* lag.c: notes that `late` places of w's group never enter the operation that rank `by` waits
 * for. */
void zp_trace_note_gap(judge *j, const wait *w, int32_t by, const int32_t *late, int32_t n_late);
/* Reports ranks whose traces end before an operation for which other ranks wait. */
void zp_trace_report_behind(judge *j);
/* Reports ranks that enter fewer or more operations of a group than its other members. */
void zp_trace_report_short(judge *j);

void zp_trace_add_finding(judge *j, const char *kind, int32_t rank, int64_t record, int warning,
                          const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Sets the n ranks, in ascending order, that the last finding concerns. */
void zp_trace_set_ranks(judge *j, const int32_t *rank, int32_t n);
/* "rank 7", "3 ranks (0, 2, 3)", "9999 ranks (0, 2, 3, 4, 5, 6, 7, ...)": text of NAMES bytes */
enum { ZP_TRACE_RANKS = 80 };
const char *zp_trace_ranks(const int32_t *rank, int32_t n, char *text);

#endif
