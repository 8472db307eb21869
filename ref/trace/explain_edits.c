/* Edits of windows: which could remove a contradiction, and how they change the events of a rank.
 * conformance/TRACE.md */
#include <stdlib.h>
#include <string.h>

#include "explain.h"

/* Ranks of a cycle, and of one side of an operation, for which edits are tried. */
enum { RANKS = 32, SIDE = 16, OPTIONS = 1024 };

/* ---- Lists ----------------------------------------------------------------------------------- */

static int equal(const edit *a, const edit *b)
{
  return a->kind == b->kind && a->rank == b->rank && a->at == b->at && a->from == b->from &&
         a->what.team == b->what.team &&
         (a->kind > EDIT_REPLACE_ALL ||
          memcmp(&a->what.sig, &b->what.sig, sizeof a->what.sig) == 0);
}

static void add_option(explain *x, const edit *e, int32_t n)
{
  for (int32_t i = 0; i < x->options && n == 1; i++)
    if (x->option[i].n == 1 && equal(x->option[i].edit, e)) return;
  if (x->options >= OPTIONS) return;
  if (x->options == x->options_cap) {
    const int32_t cap = x->options_cap ? 2 * x->options_cap : 64;
    x->option = zp_trace_grow(&x->j->failure, x->option, (size_t)x->options_cap, (size_t)cap,
                              sizeof *x->option);
    x->options_cap = cap;
  }
  edit *copy = zp_explain_take(x, (size_t)n * sizeof *copy);
  memcpy(copy, e, (size_t)n * sizeof *copy);
  x->option[x->options++] = (option){.edit = copy, .n = n};
}

/* ---- Edits of one rank ----------------------------------------------------------------------- */

/* The place of a rank in the team of a match, or -1. */
static int32_t position_of(const explain *x, int32_t m, int32_t rank)
{
  const team *t = &x->team[x->match[m].team];
  for (int32_t q = 0; q < t->size; q++)
    if (t->rank[q] == rank) return q;
  return -1;
}

/* What a member enters in a match, according to the others. */
static event expected(const explain *x, int32_t m, int32_t place, const zp_trace_sig *sig)
{
  const team *t = &x->team[x->match[m].team];
  event e = {.kind = EVENT_OP, .team = x->match[m].team, .place = place, .of = -1, .sig = *sig};
  e.at = (zp_trace_at){-1, -1};
  if (t->parent >= 0) {
    e.sig.op = place ? ZP_TRACE_RECV : ZP_TRACE_SEND;
    e.sig.root = place ? t->from : t->to;
  }
  e.sig.flags = 0;
  return e;
}

static edit insertion(const explain *x, int32_t rank, int32_t at, int32_t m)
{
  edit e = {.kind = EDIT_INSERT, .rank = rank, .at = at, .match = m};
  e.what = expected(x, m, position_of(x, m, rank), &x->match[m].sig);
  return e;
}

static edit removal(const explain *x, int32_t rank, int32_t at, int32_t m)
{
  return (edit){.kind = EDIT_REMOVE,
                .rank = rank,
                .at = at,
                .from = -1,
                .match = m,
                .what = x->track[rank].event[at]};
}

static int same_event(const event *a, const event *b)
{
  return a->kind == b->kind && a->team == b->team && a->place == b->place &&
         memcmp(&a->sig, &b->sig, sizeof a->sig) == 0;
}

/* The place after event `from` where events a and b follow each other again; *second: that of b.
 * 0: they do not. There are `between` operations between them. */
static int32_t repeats(const track *t, const event *a, const event *b, int32_t between,
                       int32_t from, int32_t *second)
{
  if (a->kind != EVENT_OP) return 0;
  for (int32_t i = from + 1; i < t->n; i++) {
    if (!same_event(&t->event[i], a)) continue;
    int32_t left = between;
    for (*second = i + 1; *second < t->n; ++*second)
      if (t->event[*second].kind == EVENT_OP && left-- == 0) break;
    if (*second < t->n && same_event(&t->event[*second], b)) return i;
  }
  return 0;
}

static int32_t operations(const track *t, int32_t from, int32_t to)
{
  int32_t n = 0;
  for (int32_t i = from; i < to; i++) n += t->event[i].kind == EVENT_OP;
  return n;
}

/* The rank enters a later operation before event at: the next one, and the one that is expected. */
static void add_orders(explain *x, int32_t rank, int32_t at, int32_t m, const event *wanted)
{
  const track *t = &x->track[rank];
  int next = t->event[at].kind == EVENT_OP;
  for (int32_t i = at + 1; i < t->n; i++) {
    const event *e = &t->event[i];
    if (e->kind != EVENT_OP) continue;
    const int fits = e->team == wanted->team && zp_trace_same(&e->sig, &wanted->sig);
    if (next || fits) {
      edit order = {.kind = EDIT_ORDER, .rank = rank, .at = at, .from = i, .match = m, .what = *e};
      add_option(x, &order, 1);
      order.kind = EDIT_ORDER_ALL;
      int32_t second;
      if (repeats(t, &t->event[at], e, operations(t, at + 1, i), i, &second))
        add_option(x, &order, 1);
    }
    if (fits) return;
    next = 0;
  }
}

/* The rank enters the operation of event at after a few more, not only after the next. */
static void add_later(explain *x, int32_t rank, int32_t at, int32_t m)
{
  enum { FARTHEST = 4 };
  const track *t = &x->track[rank];
  edit e = {.kind = EDIT_LATER, .rank = rank, .at = at, .match = m};
  int32_t n = 0, second;
  if (t->event[at].kind != EVENT_OP) return;
  for (int32_t i = at + 1; i < t->n && n < FARTHEST; i++) {
    if (t->event[i].kind != EVENT_OP) continue;
    if (n++ == 0) e.what = t->event[i];
    if (n == 1) continue;
    e.kind = EDIT_LATER;
    e.from = i;
    add_option(x, &e, 1);
    e.kind = EDIT_LATER_ALL;
    if (repeats(t, &t->event[at], &t->event[i], n - 1, i, &second)) add_option(x, &e, 1);
  }
}

/* Rank enters in match m what a member at another place entered, sig. */
static void add_replacements(explain *x, int32_t rank, int32_t at, int32_t m,
                             const zp_trace_sig *sig)
{
  const event *e = &x->track[rank].event[at];
  edit r = {.kind = EDIT_REPLACE, .rank = rank, .at = at, .match = m, .was = e->sig};
  r.what = *e;
  r.what.sig = expected(x, m, e->place, sig).sig;
  r.what.sig.flags = e->sig.flags;
  add_option(x, &r, 1);
  r.kind = EDIT_REPLACE_ALL;
  for (int32_t i = at + 1; i < x->track[rank].n; i++) {
    const event *later = &x->track[rank].event[i];
    if (later->kind != EVENT_OP || later->team != e->team || later->place != e->place ||
        memcmp(&later->sig, &e->sig, sizeof e->sig) != 0)
      continue;
    add_option(x, &r, 1);
    return;
  }
}

/* ---- Members that entered different operations ----------------------------------------------- */

typedef struct side { /* members that entered the same */
  zp_trace_sig sig;
  int32_t n, rank[SIDE], at[SIDE];
} side;

static int32_t sides_of(explain *x, int32_t m, side *s, int32_t cap)
{
  const team *t = &x->team[x->match[m].team];
  int32_t n = 0;
  for (int32_t q = 0; q < t->size; q++) {
    if (t->rank[q] < 0 || !zp_explain_entered(x, m, q)) continue;
    const int32_t at = zp_explain_event_in(x, t->rank[q], m);
    if (at < 0) continue;
    const zp_trace_sig *sig = &x->track[t->rank[q]].event[at].sig;
    int32_t k = 0;
    while (k < n && !zp_trace_same(&s[k].sig, sig)) k++;
    if (k == cap) continue;
    if (k == n) s[n++] = (side){.sig = *sig};
    if (s[k].n < SIDE) {
      s[k].rank[s[k].n] = t->rank[q];
      s[k].at[s[k].n] = at;
    }
    s[k].n++;
  }
  return n;
}

static void add_odd(explain *x, int32_t m, int32_t rank, int32_t at, const zp_trace_sig *sig)
{
  add_replacements(x, rank, at, m, sig);
  edit e = insertion(x, rank, at, m);
  e.what.sig = expected(x, m, e.what.place, sig).sig;
  add_option(x, &e, 1);
  add_orders(x, rank, at, m, &e.what);
  add_later(x, rank, at, m);
  e = removal(x, rank, at, m);
  add_option(x, &e, 1);
}

static void add_mismatch(explain *x, int32_t m)
{
  enum { SIDES = 8 };
  side s[SIDES];
  const int32_t n = sides_of(x, m, s, SIDES);
  int32_t most = 0;
  for (int32_t k = 0; k < n; k++)
    if (s[k].n > most) most = s[k].n;
  for (int32_t right = 0; right < n; right++) {
    if (s[right].n < most) continue;
    for (int32_t k = 0; k < n; k++) {
      const int32_t ranks = s[k].n < SIDE ? s[k].n : SIDE;
      edit all[SIDE];
      if (k == right) continue;
      for (int32_t i = 0; i < ranks; i++) {
        add_odd(x, m, s[k].rank[i], s[k].at[i], &s[right].sig);
        all[i] = (edit){.kind = EDIT_REPLACE,
                        .rank = s[k].rank[i],
                        .at = s[k].at[i],
                        .match = m,
                        .what = x->track[s[k].rank[i]].event[s[k].at[i]]};
        all[i].was = all[i].what.sig;
        all[i].what.sig = expected(x, m, all[i].what.place, &s[right].sig).sig;
        all[i].what.sig.flags = all[i].was.flags;
      }
      if (s[k].n > 1 && s[k].n <= SIDE) add_option(x, all, s[k].n);
    }
  }
}

/* ---- Cycles ---------------------------------------------------------------------------------- */

/* Removes an operation for which the rank waits. */
static void add_blocking(explain *x, int32_t rank)
{
  const track *t = &x->track[rank];
  const event *e = &t->event[t->pc];
  const int32_t from = e->kind == EVENT_OP ? t->pc : e->of,
                to = e->kind == EVENT_CALL_END ? t->pc : from + 1;
  int32_t n = 0;
  for (int32_t i = from; i < to && n < SIDE; i++) {
    if (i < 0 || t->event[i].kind != EVENT_OP || t->match[i] <= 0) continue;
    if (zp_explain_complete(x, t->match[i] - 1)) continue;
    const edit gone = removal(x, rank, i, t->match[i] - 1);
    add_option(x, &gone, 1);
    n++;
  }
}

/* The event before which a rank that waits could have entered another operation. */
static int32_t before_wait(const track *t)
{
  const event *e = &t->event[t->pc];
  const int head = e->kind == EVENT_WAIT && t->pc < t->head && e->of >= 0;
  return e->kind == EVENT_CALL_END || head ? e->of : t->pc;
}

typedef struct suspect {
  int32_t rank, others;
} suspect;

static int by_others(const void *a, const void *b)
{
  const suspect *x = a, *y = b;
  if (x->others != y->others) return x->others < y->others ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Moves the ranks of a cycle that are likely to deviate to the front: those that wait with few
 * others, or of which an operation that nearly all have entered waits for few. */
static void sort_cycle(explain *x, const trouble *c)
{
  int32_t *rank = x->cycle + c->first;
  if (c->n <= RANKS) return;
  suspect *s = zp_trace_grow(&x->j->failure, NULL, 0, (size_t)c->n, sizeof *s);
  int32_t *others = x->low; /* not in use between searches */
  for (int32_t i = 0; i < c->n; i++) others[rank[i]] = x->match[x->track[rank[i]].on].entered;
  for (int32_t i = 0; i < c->n; i++) {
    const int32_t m = x->track[rank[i]].on;
    const team *t = &x->team[x->match[m].team];
    const int32_t missing = t->members - x->match[m].entered;
    if (missing > SIDE || x->index[x->world + m] < 0) continue;
    x->index[x->world + m] = -1; /* seen */
    for (int32_t q = 0; q < t->size; q++)
      if (t->rank[q] >= 0 && !zp_explain_entered(x, m, q) && others[t->rank[q]] > missing)
        others[t->rank[q]] = missing;
  }
  for (int32_t i = 0; i < c->n; i++) s[i] = (suspect){rank[i], others[rank[i]]};
  qsort(s, (size_t)c->n, sizeof *s, by_others);
  for (int32_t i = 0; i < c->n; i++) rank[i] = s[i].rank;
  free(s);
}

static void add_cycle(explain *x, const trouble *c)
{
  sort_cycle(x, c);
  const int32_t n = c->n < RANKS ? c->n : RANKS;
  for (int32_t i = 0; i < n; i++) {
    const int32_t rank = x->cycle[c->first + i], at = before_wait(&x->track[rank]);
    add_blocking(x, rank);
    add_later(x, rank, at, x->track[rank].on);
    for (int32_t k = 0; k < n; k++) {
      const track *other = &x->track[x->cycle[c->first + k]];
      const int32_t from =
          other->event[other->pc].kind == EVENT_CALL_END ? other->event[other->pc].of : -1;
      for (int32_t w = from < 0 ? other->pc : from; w <= other->pc; w++) {
        const int32_t m = from < 0 ? other->on : other->match[w] - 1;
        if (k == i || m < 0 || (from >= 0 && other->event[w].kind != EVENT_OP)) continue;
        const int32_t place = position_of(x, m, rank);
        if (place < 0 || zp_explain_complete(x, m) || zp_explain_entered(x, m, place)) continue;
        const edit e = insertion(x, rank, at, m);
        add_option(x, &e, 1);
        add_orders(x, rank, at, m, &e.what);
      }
    }
  }
}

/* ---- Ranks that ended ------------------------------------------------------------------------ */

/* The members that have entered match m, or those that have not and have ended: at most cap. */
static int32_t members_of(const explain *x, int32_t m, int entered, int32_t *rank, int32_t cap)
{
  const team *t = &x->team[x->match[m].team];
  int32_t n = 0;
  for (int32_t q = 0; q < t->size; q++) {
    const int32_t r = t->rank[q];
    if (r < 0 || zp_explain_entered(x, m, q) != entered) continue;
    if (!entered && (x->track[r].state != TRACK_DONE || x->track[r].ending == END_UNKNOWN))
      continue;
    if (n < cap) rank[n] = r;
    n++;
  }
  return n;
}

static void add_ended(explain *x, const trouble *c)
{
  int32_t rank[RANKS];
  edit all[RANKS];
  track *t = &x->track[c->rank];
  const edit end = {.kind = EDIT_END, .rank = c->rank, .at = t->n, .match = c->match};
  add_option(x, &end, 1);
  int32_t n = members_of(x, c->match, 0, rank, RANKS);
  for (int32_t i = 0; n > 1 && n <= RANKS && i < n; i++) {
    all[i] = end;
    all[i].rank = rank[i];
    all[i].at = x->track[rank[i]].n;
  }
  if (n > 1 && n <= RANKS) add_option(x, all, n);
  if (t->ending == END_NORMAL) {
    const edit e = insertion(x, c->rank, t->n, c->match);
    add_option(x, &e, 1);
    for (int32_t i = 0; n > 1 && n <= RANKS && i < n; i++)
      all[i] = insertion(x, rank[i], x->track[rank[i]].n, c->match);
    if (n > 1 && n <= RANKS) add_option(x, all, n);
  }
  n = members_of(x, c->match, 1, rank, SIDE);
  for (int32_t i = 0; n <= SIDE && i < n; i++) {
    const int32_t at = zp_explain_event_in(x, rank[i], c->match);
    if (at < 0) return;
    all[i] = removal(x, rank[i], at, c->match);
    add_option(x, &all[i], 1);
  }
  if (n > 1 && n <= SIDE) add_option(x, all, n);
}

void zp_explain_options(explain *x)
{
  int32_t mismatches = 0, ended = 0;
  x->options = 0;
  for (int32_t i = 0; i < x->troubles; i++) {
    const trouble *t = &x->trouble[i];
    if (t->kind == TROUBLE_MISMATCH && mismatches++ < 3) add_mismatch(x, t->match);
    if (t->kind == TROUBLE_CYCLE) add_cycle(x, t);
    if (t->kind == TROUBLE_ENDED && ended++ < 8) add_ended(x, t);
  }
}

/* ---- Applying -------------------------------------------------------------------------------- */

/* Where event i is after an event was inserted (by 1) or removed (by -1) at `at`. */
static int32_t shifted(int32_t i, int32_t at, int32_t by)
{
  if (by < 0 && i == at) return -1;
  return i >= at ? i + by : i;
}

static void insert(track *t, int32_t at, const event *e)
{
  memmove(t->event + at + 1, t->event + at, (size_t)(t->n - at) * sizeof *t->event);
  t->n++;
  for (int32_t i = 0; i < t->n; i++)
    if (i != at && t->event[i].of >= 0) t->event[i].of = shifted(t->event[i].of, at, 1);
  t->event[at] = *e;
}

static void take_away(track *t, int32_t at)
{
  memmove(t->event + at, t->event + at + 1, (size_t)(t->n - at - 1) * sizeof *t->event);
  t->n--;
  for (int32_t i = 0; i < t->n; i++)
    if (t->event[i].of >= 0) t->event[i].of = shifted(t->event[i].of, at, -1);
}

/* Moves event at after event `to`. A wait for it that would precede it is dropped: it blocks. */
static void move_later(track *t, int32_t at, int32_t to)
{
  event e = t->event[at];
  for (int32_t i = at + 1; i <= to; i++)
    if (t->event[i].of == at) {
      t->event[i].of = -1;
      e.async = 0;
    }
  for (int32_t i = at; i < to; i++) t->event[i] = t->event[i + 1];
  t->event[to] = e;
  for (int32_t i = 0; i < t->n; i++) {
    int32_t *of = &t->event[i].of;
    if (*of == at) *of = to;
    else if (*of > at && *of <= to) --*of;
  }
}

/* Moves event `from` before event `at`. Waits for it move along. */
static void move(track *t, int32_t at, int32_t from)
{
  const event e = t->event[from];
  for (int32_t i = from; i > at; i--) t->event[i] = t->event[i - 1];
  t->event[at] = e;
  for (int32_t i = 0; i < t->n; i++) {
    int32_t *of = &t->event[i].of;
    if (*of == from) *of = at;
    else if (*of >= at && *of < from) ++*of;
  }
}

static void change_order(track *t, const edit *e)
{
  const event a = t->event[e->at], b = t->event[e->from];
  const int32_t between = operations(t, e->at + 1, e->from);
  const int later = e->kind == EDIT_LATER || e->kind == EDIT_LATER_ALL;
  for (int32_t i = e->at, from = e->from;;) {
    if (later) move_later(t, i, from);
    else move(t, i, from);
    if (e->kind == EDIT_ORDER || e->kind == EDIT_LATER) return;
    i = repeats(t, &a, &b, between, from, &from);
    if (i == 0) return;
  }
}

static void apply(explain *x, const edit *e)
{
  zp_trace_failure *f = &x->j->failure;
  if (x->edited == x->saved_cap) {
    const int32_t n = x->saved_cap ? 2 * x->saved_cap : 16;
    x->saved = zp_trace_grow(f, x->saved, (size_t)x->saved_cap, (size_t)n, sizeof *x->saved);
    x->saved_rank =
        zp_trace_grow(f, x->saved_rank, (size_t)x->saved_cap, (size_t)n, sizeof *x->saved_rank);
    x->saved_cap = n;
  }
  track *t = &x->track[e->rank];
  event *events = zp_trace_grow(f, NULL, 0, (size_t)t->n + 1, sizeof *events);
  if (t->n > 0) memcpy(events, t->event, (size_t)t->n * sizeof *events);
  x->saved_rank[x->edited] = e->rank;
  x->saved[x->edited++] = *t;
  t->event = events;
  t->match = NULL;
  t->match = zp_trace_grow(f, NULL, 0, (size_t)t->n + 1, sizeof *t->match);
  switch (e->kind) {
  case EDIT_INSERT: insert(t, e->at, &e->what); break;
  case EDIT_REMOVE: take_away(t, e->at); break;
  case EDIT_ORDER:
  case EDIT_ORDER_ALL:
  case EDIT_LATER:
  case EDIT_LATER_ALL: change_order(t, e); break;
  case EDIT_REPLACE: t->event[e->at].sig = e->what.sig; break;
  case EDIT_REPLACE_ALL:
    for (int32_t i = e->at; i < t->n; i++) {
      event *later = &t->event[i];
      if (later->kind == EVENT_OP && later->team == e->what.team && later->place == e->what.place &&
          memcmp(&later->sig, &e->was, sizeof e->was) == 0)
        later->sig = e->what.sig;
    }
    break;
  case EDIT_END: t->ending = END_UNKNOWN; break;
  }
}

void zp_explain_apply(explain *x, const option *o)
{
  for (int32_t i = 0; i < o->n; i++) apply(x, &o->edit[i]);
}

void zp_explain_undo(explain *x, int32_t n)
{
  while (n-- > 0) {
    track *t = &x->track[x->saved_rank[--x->edited]];
    free(t->event);
    free(t->match);
    *t = x->saved[x->edited];
  }
}
