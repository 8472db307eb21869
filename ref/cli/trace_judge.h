/* The judge of recorded runs, inside. Every rank is played from its trace: it goes on when all that
 * it has entered is entered by all members. So the k-th operations of a group meet, and what meets
 * must be the same; where nobody can go on, somebody is missing, or there is a cycle. */
#ifndef ZP_CLI_TRACE_JUDGE_H
#define ZP_CLI_TRACE_JUDGE_H

#include "trace.h"

/* The i-th operation of a group. */
typedef struct inst {
  zp_trace_sig sig, odd; /* what its first member asks for, and what another does instead */
  int64_t record, odd_record;
  int64_t seen;     /* the stall that looked at it last */
  int32_t need;     /* members that have not entered */
  int32_t first, n; /* of those that ask for sig, the first, and how many */
  int32_t odd_first, n_odd;
  int32_t awaited; /* a member that can still come, or -1; valid when seen */
} inst;

/* A communicator; or, made of one, what place `from` sends to place `to`: places 0 and 1. */
typedef struct group {
  char *key;
  struct group *parent;
  int32_t from, to;
  int32_t size, absents;
  int32_t *rank;   /* [size] -1: no trace has said */
  int64_t *pos;    /* [size] operations entered */
  uint8_t *absent; /* [size] nobody waits for it any more */
  inst *ring;      /* operations base … base + count - 1, at [i % cap] */
  int64_t base;
  int32_t count, cap;
  int32_t told;  /* a mismatch of it was told */
  int32_t named; /* a trace has named all members */
  int64_t index; /* its place among the groups */
  inst *ahead;   /* [aheads] what was sent and taken to be received from any source */
  int32_t aheads, ahead_cap;
} group;

typedef struct member { /* what a file's group or definition leads to */
  group *g;
  int32_t place;
} member;

/* An operation of a group that some members never enter: their traces have no more. */
typedef struct gap {
  group *g;
  int64_t i, record, round; /* of who entered it first; the stall that found it */
  zp_trace_sig sig;
  int32_t by, first;       /* a rank that waits; who entered it at record */
  int32_t *late, n_late;   /* places that never enter it */
  int32_t *early, n_early; /* those that did, where they are the fewer; else none */
} gap;

typedef struct wait {
  group *g;
  int64_t i, record;
  int32_t async;
} wait;

/* A receive from any source, until the trace tells from where. */
typedef struct any {
  member m;
  zp_trace_sig sig;
  int64_t record;
  int32_t taken; /* some of its group's place is taken to be from somewhere */
} any;

typedef struct player {
  zp_trace_reader reader;
  member *group; /* [groups] by the file's number */
  member *link;  /* [links] of definitions */
  wait *wait;
  wait *loose; /* [loosed] asynchronous ones that it went on without */
  any *any;    /* [anys] */
  int32_t anys, any_cap;
  int32_t groups, links, links_cap, waits, waits_cap, loosed, loose_cap;
  int32_t in_call, blocked, behind, mark, next;
  int64_t step, joins;
} player;

typedef struct finding {
  const char *kind;
  int32_t rank, warning; /* rank: the first of ranks, or -1 */
  int64_t record, order;
  char *text;
  int32_t *ranks, n_ranks; /* those of which it is true; none: of rank alone */
} finding;

typedef struct judge {
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
  finding *finding;
  int32_t findings, findings_cap;
} judge;

/* Takes in a group's definition. */
void zp_trace_join(judge *j, player *p, const zp_trace_item *item);
/* The rank enters an operation: it waits, unless it was the last. */
void zp_trace_enter(judge *j, player *p, zp_trace_def *d);
/* What member m of a group, a rank, asks for as its next operation; 1: it must be waited for. */
int zp_trace_come(judge *j, player *p, member m, const zp_trace_sig *sig, int64_t record);
/* The group of two of a send or receive of m; g NULL: it has no such place, which is told. */
member zp_trace_pair(judge *j, player *p, const member *m, const zp_trace_sig *sig, int64_t record);
/* Tells of x, the i-th of g, whether sig and odd are not the same. */
void zp_trace_compare(judge *j, group *g, int64_t i, const inst *x);
/* trace_any.c: receives from any source. One is entered; it is told from where; it is taken to be
 * from the sender of g, who can go on with nothing else (1: there was one). */
void zp_trace_from_any(player *p, member m, const zp_trace_sig *sig, int64_t record);
void zp_trace_source(judge *j, player *p, int64_t record, int32_t place);
int zp_trace_take_any(judge *j, group *g);
/* Nobody waits for place of g any more. */
void zp_trace_without(judge *j, group *g, int32_t place);
void zp_trace_hold(player *p, wait w);
/* Not all that are needed have entered. */
int zp_trace_is_open(group *g, int64_t i);
/* Takes a rank's wait from it; it is ready when that was the last. */
void zp_trace_let_go(judge *j, player *p, int32_t w);
/* The rank at a place, or -1. */
int32_t zp_trace_who(const group *g, int32_t place);
inst *zp_trace_inst(group *g, int64_t i);
/* "all_reduce sum 96 fp32, number 3 of group tp" */
void zp_trace_where(const group *g, int64_t i, const zp_trace_sig *s, char *text, size_t cap);

/* Nobody is ready: makes somebody so. 0: all is done. */
int zp_trace_stall(judge *j);
/* trace_behind.c. Place q of w's group has no more to say, and w waits for it: noted, to be told. */
void zp_trace_note(judge *j, const wait *w, int32_t by, const int32_t *late, int32_t n_late);
/* Tells of those that others waited for behind their end. */
void zp_trace_tell_behind(judge *j);
/* Tells of those that enter fewer operations of a group than its other members, or more. */
void zp_trace_tell_short(judge *j);

void zp_trace_find(judge *j, const char *kind, int32_t rank, int64_t record, int warning,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));
/* What was found last is so of n ranks, in ascending order. */
void zp_trace_of(judge *j, const int32_t *rank, int32_t n);
/* "rank 7", "3 ranks (0, 2, 3)", "9999 ranks (0, 2, 3, ...)": text of NAMES bytes */
enum { ZP_TRACE_RANKS = 80 };
const char *zp_trace_ranks(const int32_t *rank, int32_t n, char *text);

#endif
