/* The internals of the judge of recorded runs. The judge replays the trace of every rank. A rank
 * continues when all members have entered each operation that it has entered, so the k-th
 * operations of a group are matched, and they must be equal. If no rank can continue, a member is
 * missing or ranks wait in a cycle. */
#ifndef ZP_TRACE_JUDGE_H
#define ZP_TRACE_JUDGE_H

#include "flight.h"
#include "trace.h"

/* A set of numbers below size: bits, and above them a bit for each word that is not 0. */
typedef struct zp_trace_set {
  uint64_t *word;
  int32_t size;
} zp_trace_set;

/* A record of a rank, and the step that it belongs to; -1: before the first one. */
typedef struct zp_trace_at {
  int64_t record, step;
} zp_trace_at;

/* A wait of a rank, or a pair of which the rank is the sender. */
typedef struct zp_trace_entry {
  struct group *g;
  int32_t rank, wait;
  uint32_t seq;
} zp_trace_entry;

typedef struct zp_trace_heap {
  zp_trace_entry *at;
  int32_t n, cap;
} zp_trace_heap;

/* The i-th operation of a group. */
typedef struct inst {
  zp_trace_sig sig; /* of the first member */
  zp_trace_at at;
  int32_t entered;  /* members that have entered it, without absent ones */
  int32_t first, n; /* the first rank that entered sig; how many did */
  int32_t awaited;  /* all present members at lower places have entered it; -1: not searched yet */
  int32_t odd_first, n_odd; /* the same of another signature, which differs from sig */
  zp_trace_at odd_at;
  zp_trace_sig odd;
} inst;

/* A send that is matched with a receive whose source was only assumed. */
typedef struct ahead {
  inst x;
  int64_t i;
} ahead;

/* A communicator. Sends from place `from` of a communicator to place `to` form a group of their
 * own, a pair, with places 0 (sender) and 1 (receiver). */
typedef struct group {
  /* What each operation uses, together: a run has many groups. */
  inst *ring;           /* operations base … base + count - 1, at [i % cap] */
  int64_t base;         /* the first one that is not complete */
  int32_t count, cap;   /* of ring */
  int64_t *pos;         /* [size] operations entered */
  int32_t *rank;        /* [size] -1: unknown */
  int32_t *last_wait;   /* [size] 1 + the last of the rank's waits here; 0: none */
  uint8_t *absent;      /* [size] no rank waits for it any more */
  struct group *parent; /* of a pair */
  zp_trace_set present; /* of places: those with a rank that are not absent */
  int32_t size, absents;
  int32_t unknown; /* places without a rank that are not absent */
  int32_t gones;
  int32_t senders;   /* of a pair: live waits of its place 0 */
  int32_t candidate; /* the judge may assume a receiver, or it waits for one in `parked` */
  int32_t stirred;   /* it is in judge.stirred */
  int32_t reported;  /* a mismatch in it was reported */
  int64_t searched;  /* the operations before it may have been searched for a member to wait for */
  char *key;         /* NULL: of a pair */
  const zp_trace_reader *named_by; /* the first trace that joins it; its number for the group */
  int32_t id;
  int32_t from, to;
  int32_t named; /* a trace lists all members */
  int32_t ahead_first, aheads, ahead_cap;
  int32_t *gone;         /* [gones] present places whose ranks enter no more operations */
  int32_t *queue;        /* [size] 1 + the rank's any_queue of this group; 0: none; NULL: all 0 */
  struct group **orphan; /* [size] pairs with that place, linked by next_orphan, until it has a
                            rank; NULL: none */
  struct group *next_orphan;
  int64_t index;  /* its index in judge.all */
  int64_t agreed; /* operations of which all members have the same result */
  ahead *ahead;   /* from ahead_first to aheads - 1 */
} group;

typedef struct member { /* the group and place that a file's group or definition refers to */
  group *g;
  int32_t place;
} member;

/* An operation of a group that some members never enter, because their traces end before it. */
typedef struct gap {
  group *g;
  int64_t i, round; /* round: the stall that found it */
  zp_trace_at at;   /* of rank `first` */
  zp_trace_sig sig;
  int32_t by, first;       /* a rank that waits for it; the first rank that entered it */
  int32_t *late, n_late;   /* the places that never enter it */
  int32_t *early, n_early; /* the places that entered it, if they are the minority */
} gap;

/* A rank waits for operation i of g, which it entered at `at`. */
typedef struct wait {
  group *g;
  int64_t i;
  zp_trace_at at;
  int32_t place;
  uint8_t async, live; /* live 0: it is detached, or has ended */
  uint16_t link;       /* of its definition; ZP_TRACE_NO_LINK: the number is larger */
  uint32_t seq;        /* its position among the waits that the rank began */
  int32_t prev, next;  /* of the rank's waits; -1 */
  int32_t later;       /* the rank's next wait in the group, after the last one the first */
} wait;

/* A receive from any source, until the trace records the source. */
typedef struct any {
  member m; /* g NULL: its source is known */
  zp_trace_sig sig;
  zp_trace_at at;
  int32_t assumed;    /* it is matched with an assumed sender */
  int32_t prev, next; /* in its any_queue's list of the same `assumed`; -1 */
  int32_t link;
} any;

/* One rank's receives from any source in one group whose source is not known, by `assumed`. */
typedef struct any_queue {
  int32_t first[2], last[2]; /* -1: none */
  zp_trace_heap parked;      /* pairs whose sender waits for one of these receives */
} any_queue;

typedef struct membership {
  uint32_t group; /* its index in judge.all */
  int32_t place;
} membership;

typedef struct player {
  /* What each operation uses, together, and the reader's part of it next to it. */
  wait *wait;   /* [waits_cap], of which `waits` are live, in a list */
  member *link; /* [links] of definitions, and of operations without one */
  /* Its last operations, as links, and steps. Number i of past_n is at
   * [i & (past_cap - 1)]. */
  int32_t *past;
  int64_t past_n, past_cap;
  int32_t waits, last_wait;
  int32_t edge; /* the wait that leads to the rank for which it waits: the first one that a known
                   rank can end. No rank ends those before it. -1: none */
  int32_t unused_wait; /* 1 + the first of those not in use, linked by `later`; 0: none */
  uint32_t seq;        /* the number of waits that it began */
  int32_t in_call, blocked, waits_cap;
  int64_t step; /* -1 before the first one */
  zp_trace_reader reader;
  member *group;       /* [groups] by the file's number */
  zp_trace_def *known; /* [links] the definitions and operations themselves */
  void *detached;      /* a tree of asynchronous operations for which it stopped waiting */
  any *any;            /* [anys] by record, of which any_open have no known source */
  int32_t anys, any_cap, any_open;
  any_queue *queue; /* [queues] */
  int32_t queues, queues_cap;
  group **candidate; /* [candidates] pairs for which the judge may assume a receiver */
  int32_t candidates, candidates_cap;
  int32_t groups, links, links_cap;
  int32_t inline_links, inline_most; /* links in use of operations without a definition; how many
                                        are in use when the judge searches for unused ones */
  int32_t unused_link;               /* 1 + the first one that is not in use; 0: none */
  membership *joined;                /* [joined_n] its places in groups, until it is gone */
  int32_t joined_n, joined_cap;
  int32_t behind, next;
  int32_t locked; /* of its file, before the judge read it: zp_trace_is_locked */
  int32_t gone;   /* its trace has ended, and it waits for nothing */
  int64_t joins, mark;
  struct marks *sampled;  /* its last values of tensors; NULL: it has none */
  zp_trace_at values_end; /* if reader.values_end is not empty: after it, no values are recorded */
} player;

typedef struct slot {   /* in the table of groups */
  uint32_t hash, group; /* group: 1 + its index in judge.all; 0: none */
} slot;

typedef struct moved { /* an operation that its awaited member has entered */
  group *g;
  int64_t i;
} moved;

typedef struct judge {
  zp_trace_failure failure;
  zp_trace_verdict *verdict;
  void (*on_error)(struct judge *); /* searches for the causes of the first error */
  struct explain *explain;          /* not NULL while the judge searches for causes */
  int32_t explained;
  int64_t *until;    /* [world] the causes explain findings up to these records; or NULL */
  int64_t past_most; /* the largest past_cap */
  /* The operation that completes others, and its rank and place. */
  player *entering;
  const zp_trace_sig *entering_sig;
  member entered;
  int32_t entering_link; /* 1 + its link; 0: it is the last operation of the rank's past */
  zp_trace_item item;    /* of the rank that is being replayed */
  const char *dir;
  char host[ZP_TRACE_HOST]; /* where the judge runs */
  zp_flight flight;         /* world 0: the folder has traces, not dumps */
  player *p;
  int32_t world, world_known, missing, ended, crowded;
  uint8_t *has;           /* [ZP_TRACE_WORLD] the folder has a file of the rank */
  int64_t bytes, members; /* of all files; of all groups */
  int32_t *ready, n_ready;
  slot *table; /* by identity, open addressing; [cap], a power of two */
  group **all;
  int64_t groups, cap;
  uint64_t seed;    /* of the table's hash */
  int64_t searched; /* members that were searched for repetitions */
  /* Work for the next stall, so that a stall does not search what has not changed. */
  zp_trace_set files;   /* of ranks: those with a trace */
  zp_trace_set senders; /* of ranks: those with candidates */
  zp_trace_set changed; /* of ranks: those whose edge may lead to another rank */
  int32_t all_changed, *start;
  int64_t walks;
  moved *moved;
  int32_t moves, moved_cap;
  group **stirred; /* groups with ranks that are gone, and open operations */
  int32_t stirs, stirred_cap;
  zp_trace_heap due, later; /* waits for ranks that are gone; of the stall after this one */
  zp_trace_heap strange;    /* waits in groups with places that have no rank */
  int64_t records, unjudged, stalls, mismatches, cycles, warnings;
  int64_t first_round;
  int64_t first_cycle; /* the first record of a cycle, if there are cycles or warnings */
  gap *gap;
  int32_t gaps, gaps_cap;
  int32_t findings_cap;
  struct values *values; /* NULL: the traces have no values */
} judge;

/* sets.c: adds i; removes it; the least element from i on, or -1. words: the memory of a set. */
int64_t zp_trace_set_words(int32_t size);
void zp_trace_set_make(zp_trace_failure *f, zp_trace_set *s, int32_t size);
void zp_trace_put(zp_trace_set *s, int32_t i);
void zp_trace_remove(zp_trace_set *s, int32_t i);
int32_t zp_trace_least(const zp_trace_set *s, int32_t i);
/* Whether a precedes b: by rank, then in the order in which the rank began the waits. */
int zp_trace_precedes(const zp_trace_entry *a, const zp_trace_entry *b);
void zp_trace_push(zp_trace_failure *f, zp_trace_heap *h, zp_trace_entry e);
/* Removes the first entry of a heap that is not empty. */
zp_trace_entry zp_trace_pop(zp_trace_heap *h);

/* work.c: the sender of pair g waits for a receiver; the judge may assume one. */
void zp_trace_add_candidate(judge *j, group *g);
void zp_trace_make_candidate(judge *j, group *g);
/* The next stall searches g for waits for ranks that are gone. */
void zp_trace_stir(judge *j, group *g);
/* The rank at a present place of g enters no more operations. */
void zp_trace_add_gone(judge *j, group *g, int32_t place);
/* The trace of p has ended, and it waits for nothing. */
void zp_trace_gone(judge *j, player *p);
/* The awaited member of operation i has entered it: the next stall searches another one. */
void zp_trace_note_moved(judge *j, group *g, int64_t i);

/* Adds a rank to the group that item defines. */
void zp_trace_join(judge *j, player *p, const zp_trace_item *item);
/* Member m enters its next operation. Returns 1 if the rank must wait for other members. */
int zp_trace_enter(judge *j, player *p, member m, const zp_trace_sig *sig, zp_trace_at at);
/* Returns the group of two of a send or receive of m. If m.g has no such place, reports it and
 * returns g NULL. */
member zp_trace_pair(judge *j, player *p, const member *m, const zp_trace_sig *sig, int64_t record);
/* Reports a mismatch if sig and odd of x, operation i of g, differ. */
void zp_trace_compare(judge *j, group *g, int64_t i, const inst *x);
/* mismatch.c: members entered different operations, or other arguments, as operation i of g. */
void zp_trace_report_mismatch(judge *j, group *g, int64_t i, const inst *x);
/* any_source.c: a rank enters a receive from any source; the trace records the source of one; the
 * judge assumes that one receives from the sender of g (returns 1 if there was one). */
void zp_trace_from_any(judge *j, player *p, member m, const zp_trace_sig *sig, zp_trace_at at,
                       int32_t link);
void zp_trace_source(judge *j, player *p, int64_t record, int32_t place);
int zp_trace_assume_source(judge *j, group *g);
/* Assumes all sources that it can, for the waiting senders by rank. Returns 1 if there was one. */
int zp_trace_assume_sources(judge *j);
void zp_trace_free_any(player *p);
/* From now on, no rank waits for this place of g. */
void zp_trace_drop_member(judge *j, group *g, int32_t place);
/* Whether members that are waited for have not entered operation i. */
int zp_trace_is_open(const group *g, int64_t i);

static inline int zp_trace_known_differ(int64_t a, int64_t b, int64_t unknown)
{
  return a != b && a != unknown && b != unknown;
}

/* Whether operations agree in all arguments that are known. */
static inline int zp_trace_same(const zp_trace_sig *a, const zp_trace_sig *b)
{
  const int p2p = a->op >= ZP_TRACE_SEND;
  if (!p2p && (a->op != b->op || zp_trace_known_differ(a->redop, b->redop, 0) ||
               zp_trace_known_differ(a->root, b->root, -1)))
    return 0;
  return !zp_trace_known_differ(a->count, b->count, -1) &&
         !zp_trace_known_differ(a->dtype, b->dtype, 0);
}
/* The group with a key; the pair of two places of a group. NULL: it does not exist. */
group *zp_trace_find_group(judge *j, const char *key);
group *zp_trace_find_pair(judge *j, const group *parent, int32_t from, int32_t to);
/* The place of a rank in a group that an item defines, or -1. */
int32_t zp_trace_listed_position(const zp_trace_item *item, int32_t rank);

/* waits.c: the rank waits for the last operation of m that it entered. */
void zp_trace_add_wait(judge *j, player *p, member m, zp_trace_at at, int32_t async, int32_t link);
/* The waits of p, also detached ones, by record: at most cap. Returns how many there are. */
int32_t zp_trace_open_waits(const player *p, int32_t *wait, int32_t cap);
/* Operation i of g is complete: ends the wait of the rank at `place`, which becomes ready if that
 * was its last one. Operations of a group complete in order. */
void zp_trace_end_waits(judge *j, group *g, int32_t place, int64_t i);
/* A rank stops waiting for wait w; it waits again for the operation of a record, if it is open. */
void zp_trace_detach(judge *j, player *p, int32_t w);
void zp_trace_wait_again(judge *j, player *p, int64_t record);
/* The entry of wait w of p; whether the wait of an entry still lasts. */
zp_trace_entry zp_trace_entry_of(const player *p, int32_t w);
int zp_trace_lasts(const judge *j, const zp_trace_entry *e);
/* A place of g has a rank from now on: its members may wait for that rank. */
void zp_trace_rewind(judge *j, group *g);
void zp_trace_free_waits(player *p);
static inline inst *zp_trace_inst(const group *g, int64_t i)
{
  return &g->ring[i & (g->cap - 1)];
}
/* "'default_pg'", the label of the group of g in the traces, or else its key. Returns text. */
enum { ZP_TRACE_GROUP_TEXT = ZP_TRACE_NAME + 3 };
const char *zp_trace_group_text(const group *g, char *text);
/* "'default_pg' {0–3}": of a group whose members are known. text: ZP_TRACE_MEMBERS_TEXT bytes */
enum { ZP_TRACE_MEMBERS_TEXT = ZP_TRACE_GROUP_TEXT + ZP_TRACE_RUNS + 4 };
const char *zp_trace_members_text(const group *g, char *text);
/* "all_reduce sum of 96 fp32 (number 3 in 'tp' {0, 1})" */
void zp_trace_where(const group *g, int64_t i, const zp_trace_sig *s, char *text, size_t cap);

/* Called if no rank is ready. Reports why and makes a rank ready; returns 0 at the end of all. */
int zp_trace_stall(judge *j);
/* explain.c: called at the first error, before the judge goes on: searches its causes and adds them
 * to the verdict. Later calls do nothing. */
void zp_trace_explain(judge *j);
void zp_trace_explain_free(judge *j);
/* If no cause was found, the first errors are the causes. Called at the end. */
void zp_trace_explain_rest(judge *j);
/* explain_text.c: a finding is the first cause. */
void zp_trace_first_cause(judge *j, const zp_trace_finding *f);
/* explain_past.c: makes room for more of the rank's past. */
void zp_trace_grow_past(judge *j, player *p);
enum { ZP_TRACE_NO_LINK = UINT16_MAX };
/* Elements of player.past that are no links are steps: -2 - the number, limited to a value that
 * means an unknown one. */
enum { ZP_TRACE_PAST_STEP = -2 };
static inline int32_t zp_trace_past_of_step(int64_t step)
{
  return step < INT32_MAX - 1 ? (int32_t)(ZP_TRACE_PAST_STEP - step) : INT32_MIN;
}
static inline int64_t zp_trace_past_step(int32_t element)
{
  return element == INT32_MIN ? -1 : (int64_t)ZP_TRACE_PAST_STEP - element;
}
/* Notes an operation, by its link, or a step. */
static inline void zp_trace_note_past(judge *j, player *p, int32_t link)
{
  if (p->past_n == p->past_cap && p->past_cap < j->past_most) zp_trace_grow_past(j, p);
  p->past[p->past_n++ & (p->past_cap - 1)] = link;
}
/* lag.c: notes that `late` places of w's group never enter the operation that rank `by` waits
 * for. */
void zp_trace_note_gap(judge *j, const wait *w, int32_t by, const int32_t *late, int32_t n_late);
/* Reports ranks whose traces end before an operation for which other ranks wait. */
void zp_trace_report_behind(judge *j);
/* Reports ranks that enter fewer or more operations of a group than its other members. */
void zp_trace_report_short(judge *j);
/* shifted.c: if there are no errors, warns of ranks that may have skipped one of several equal
 * operations, or entered one more, as call sites and steps show. */
void zp_trace_report_shifted(judge *j);
/* exits.c: reports ranks that ended with an exit status or by an exception: an error if other ranks
 * wait for operations that the rank never enters. After the two reports above. */
void zp_trace_report_exits(judge *j);

/* values.c: a fingerprint that p recorded; at the end, reports the first values that differ. */
void zp_trace_add_value(judge *j, player *p);
void zp_trace_report_values(judge *j);
/* If the cause is a value that differs: its step, tensor and operation. After
 * zp_trace_explain_rest. */
void zp_trace_value_cause(judge *j);
void zp_trace_free_values(judge *j);

void zp_trace_add_finding(judge *j, const char *kind, int32_t rank, int64_t record, int warning,
                          const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Sets the n ranks, in ascending order, that the last finding concerns. */
void zp_trace_set_ranks(judge *j, const int32_t *rank, int32_t n);
/* Sets the step of the last finding. */
void zp_trace_set_step(judge *j, int64_t step);
/* "rank 7", "3 ranks (0, 2, 3)", "9999 ranks (0, 2, 3, 4, 5, 6, 7, ...)": text of NAMES bytes */
enum { ZP_TRACE_RANKS = 80 };
const char *zp_trace_ranks(const int32_t *rank, int32_t n, char *text);
/* "record 3", "record 3 (step 1)": text of ZP_TRACE_AT bytes */
enum { ZP_TRACE_AT = 64 };
const char *zp_trace_at_text(zp_trace_at at, char *text);

#endif
