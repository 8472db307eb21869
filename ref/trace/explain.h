/* The search for the cause of an error. When the judge finds the first one, it takes a window of
 * each trace: the operations that the rank entered and that are not complete, and the records that
 * follow. The search replays the windows again and again, each time with the trace of one rank
 * edited (an operation inserted, removed, replaced, or moved, or the end of the trace ignored), and
 * prefers the edits that leave the fewest contradictions. conformance/TRACE.md */
#ifndef ZP_TRACE_EXPLAIN_H
#define ZP_TRACE_EXPLAIN_H

#include "judge.h"

typedef enum event_kind {
  EVENT_OP,
  EVENT_WAIT,
  EVENT_CALL,
  EVENT_CALL_END,
  EVENT_STEP,
  EVENT_NONE
} event_kind;

typedef struct event {
  uint8_t kind, async;
  int32_t team, place; /* of an operation */
  int32_t of;          /* of a wait or the end of a call: the event of the operation or call; -1 */
  zp_trace_sig sig;
  zp_trace_at at;           /* record -1: inserted */
  const char *site, *phase; /* NULL: unknown */
} event;

/* How a window ends. */
typedef enum ending {
  END_UNKNOWN, /* the rank waited in an operation, or the window is too short: nothing is known */
  END_NORMAL,  /* end mark */
  END_EXIT,    /* the process ended, not normally */
  END_STOPPED, /* the trace stops, although the rank was not waiting */
  END_DAMAGED
} ending;

typedef struct track { /* the window of a rank */
  event *event;
  int32_t n, head; /* head: of them, those that the rank had entered before the window */
  int32_t *match;  /* [n] of an operation: 1 + its match; 0: not entered; -1: matches nothing */
  int32_t pc, on;  /* the next event; the match for which the rank waits */
  uint8_t state, in_call, ending, mark; /* mark: the trace has an end mark */
  zp_trace_exit exit;
} track;
enum { TRACK_RUNS, TRACK_WAITS, TRACK_DONE };

typedef struct team { /* a group in the windows */
  const char *key;
  const char *label; /* the name that people know, or NULL */
  const group *known;
  int32_t parent, from, to; /* of a pair; parent -1: it is no pair */
  int32_t size, members;    /* members: those that are ranks of the run */
  int32_t *rank;            /* [size] -1: unknown */
  int32_t first_pos, first_match, matches;
  uint8_t loose; /* receives from any source: nothing is matched */
} team;

typedef struct match { /* the k-th operations of the members of a team */
  zp_trace_sig sig;
  int32_t team, entered;
  uint8_t differs, awaited;
} match;
/* awaited: a rank waits for it; or entered it, so that no member completes without it. */
enum { AWAITED = 1, AWAITED_IF_COMPLETED = 2 };

typedef enum trouble_kind { TROUBLE_MISMATCH, TROUBLE_CYCLE, TROUBLE_ENDED } trouble_kind;
typedef struct trouble { /* a contradiction that a replay has left */
  trouble_kind kind;
  int32_t match, rank; /* rank: of those that ended */
  int32_t first, n;    /* of a cycle: its ranks in explain.cycle */
} trouble;

typedef enum edit_kind {
  EDIT_REPLACE,
  EDIT_REPLACE_ALL, /* also its later operations with the same arguments */
  EDIT_ORDER,
  EDIT_ORDER_ALL, /* also where the same operations follow each other later */
  EDIT_LATER,
  EDIT_LATER_ALL,
  EDIT_END,
  EDIT_INSERT,
  EDIT_REMOVE
} edit_kind;

typedef struct spot { /* which of several equal operations a rank skipped, or entered in addition */
  const char *site, *phase, *next_site; /* next: what it entered instead; NULL: unknown */
  int64_t step, next_step, record;      /* record: of its operation there; -1: unknown */
  int64_t number, back; /* in the group; by how many it precedes the place of the edit */
  int64_t order, room;  /* order: its place in the sequence of the rank; room: what the rank entered
                           in other groups since the operation before */
  int32_t ties, gain;   /* ties: as likely ones; gain: lines and steps that agree more */
  uint8_t known, open, earlier; /* open: it may be another one of ties; earlier: or one before */
} spot;

typedef struct zp_explain_call { /* an operation of a rank in a team */
  zp_trace_sig sig;
  int64_t record, step, order;
  const char *site, *phase;
  uint64_t line; /* of the site; 0: unknown */
} zp_explain_call;

typedef struct zp_explain_calls {
  zp_explain_call *at;   /* [n] */
  int64_t n, cap, first; /* first: the number of the first one in the team */
  int64_t past;          /* those before the window, and in its head */
} zp_explain_calls;

typedef struct edit {
  edit_kind kind;
  int32_t rank, at; /* at: the event of its window as it was before the edit */
  int32_t from;  /* order: the event that is moved before `at`; later: after which `at` is moved */
  int32_t match; /* the operation that it concerns */
  event what;    /* the operation inserted, removed, or entered instead; order: `from`;
                       later: the first of those that come before it */
  zp_trace_sig was; /* replace: what the rank entered */
  int32_t support;  /* how much better its earlier steps agree with it */
  int32_t before;   /* insert: the event before which it fits best; -1: one before the window */
  spot spot;        /* insert, remove */
} edit;

enum { EXPLAIN_EDITS = 12, EXPLAIN_PLANS = 16, EXPLAIN_TROUBLES = 64 };

typedef struct option { /* edits of one kind, one for each rank of a set */
  edit *edit;
  int32_t n, left; /* left: contradictions after it */
  int64_t done;    /* events that the ranks get through */
} option;

typedef struct plan {
  option option[EXPLAIN_EDITS];
  int32_t n, ranks, edits, left, support;
  int32_t exits; /* ends of processes that failed: these are known deviations */
} plan;

typedef struct explain_block {
  struct explain_block *next;
} explain_block;

typedef struct explain {
  judge *j;
  explain_block *block; /* memory that lasts as long as this */
  char *free_at;
  size_t free_n;
  zp_trace_reader reader; /* a copy of a rank's, which reads its window */
  int32_t world, limit, cut;
  track *track; /* [world] */
  track *saved; /* [edited] the tracks before the edits, and whose */
  int32_t *saved_rank, edited, saved_cap;
  team *team;
  int32_t teams, teams_cap;
  int32_t *team_of; /* [groups] 1 + the team of a group of the judge */
  int64_t members;
  int32_t *slot, slots, slots_used; /* teams that the judge does not know, by hash */
  const char **text;                /* interned texts, by hash */
  int32_t texts, texts_cap;
  int32_t *pos; /* [positions] operations that a place of a team entered */
  int32_t positions;
  match *match;
  int32_t matches;
  int32_t *ready, n_ready;
  trouble trouble[EXPLAIN_TROUBLES];
  int32_t troubles, left; /* left: all troubles, also those that are not listed */
  int32_t *cycle, cycles; /* ranks of cycles */
  int32_t *low, *index, *stack, *iterator, *frame; /* [world + matches] of the search of cycles */
  uint8_t *on_stack, *counted;                     /* counted [world]: the ended rank is counted */
  option *option;
  int32_t options, options_cap;
  int64_t spent, done; /* events replayed: in all, by the last replay */
  int64_t compared;    /* symbols computed and compared, for all edits */
  uint64_t *past[2];   /* the symbols of two ranks */
  int64_t past_cap[2];
  int32_t by_line;           /* symbols distinguish call sites */
  zp_explain_calls calls[2]; /* of two ranks */
  int32_t *score;            /* [scores] of explain_shift.c */
  int64_t scores;
} explain;

/* explain_memory.c: memory that lasts until zp_trace_explain_free; cleared. */
void *zp_explain_take(explain *x, size_t bytes);

/* explain_window.c: fills x->track and x->team from the judge's state. Returns 0 if the run has too
 * many members for it. */
int zp_explain_windows(explain *x);

/* explain_replay.c: replays the windows; fills the list of troubles. */
void zp_explain_replay(explain *x);
void zp_explain_judge(explain *x);
/* Sets how the windows end, after a replay without edits. */
void zp_explain_endings(explain *x);
/* Whether all members have entered a match; whether the rank at a place has. */
int zp_explain_complete(const explain *x, int32_t match);
int zp_explain_entered(const explain *x, int32_t match, int32_t place);
/* The event of a rank in a match, or -1. */
int32_t zp_explain_event_in(const explain *x, int32_t rank, int32_t match);

/* explain_edits.c: lists the edits that could remove the troubles of the last replay. */
void zp_explain_options(explain *x);
/* Applies an option; undoes the last n edits. */
void zp_explain_apply(explain *x, const option *o);
void zp_explain_undo(explain *x, int32_t n);

/* explain_past.c: how much better the rank's sequence of operations agrees, after the edit, with
 * its own earlier ones and with those of other ranks. */
int32_t zp_explain_support(explain *x, edit *e);

/* explain_shift.c: sets edit.spot of an option that is not applied. */
void zp_explain_locate(explain *x, option *o);
/* A hash of a call site; 0: unknown. */
uint64_t zp_explain_line(const char *site);

/* explain_text.c: adds the causes of a plan to the verdict. plans: those that are equally likely,
 * the best first. */
void zp_explain_report(explain *x, plan *const *plan, int32_t plans);

#endif
