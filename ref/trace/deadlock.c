/* No rank can continue: which ranks are missing, or which ranks wait in a cycle. LEDG-7,
 * conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { WHERE = 560, LISTED = 4 };

/* ---- Members that are gone ------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* Stops waiting for the members that never enter the operation of w. Returns 1 if there were
 * some. */
static int give_up(judge *j, const zp_trace_entry *e)
{
  const wait w = j->p[e->rank].wait[e->wait];
  group *g = w.g;
  int32_t n = 0, kept = 0;
  int32_t *late = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->gones + 1, sizeof *late);
  for (int32_t k = 0; k < g->gones; k++)
    if (g->pos[g->gone[k]] <= w.i) late[n++] = g->gone[k];
    else g->gone[kept++] = g->gone[k];
  g->gones = kept;
  qsort(late, (size_t)n, sizeof *late, ascending);
  if (n > 0) zp_trace_note_gap(j, &w, e->rank, late, n);
  for (int32_t k = 0; k < n; k++) zp_trace_drop_member(j, g, late[k]);
  free(late);
  return n > 0;
}

/* The first wait of the rank at place q of g in operation i or later; wait -1: none. */
static zp_trace_entry wait_from(const judge *j, const group *g, int32_t q, int64_t i)
{
  const player *p = &j->p[g->rank[q]];
  if (p->waits == 0) return (zp_trace_entry){.wait = -1};
  for (int32_t last = g->last_wait[q] - 1, w = last; w >= 0;) {
    w = p->wait[w].later;
    if (p->wait[w].live && p->wait[w].i >= i) return zp_trace_entry_of(p, w);
    if (w == last) break;
  }
  return (zp_trace_entry){.wait = -1};
}

/* Finds the first wait in g for a rank that is gone. An operation with a wait up to `now` is left
 * to the next stall: each stall examines the operations once, in the order of their waits. */
static void find_due(judge *j, const group *g, const zp_trace_entry *now)
{
  zp_trace_entry due = {.wait = -1}, later = due;
  int64_t i = INT64_MAX;
  for (int32_t k = 0; k < g->gones; k++)
    if (g->pos[g->gone[k]] < i) i = g->pos[g->gone[k]];
  if (i >= g->base + g->count) return;
  for (int32_t q = -1; (q = zp_trace_least(&g->present, q + 1)) >= 0;) {
    const zp_trace_entry e = wait_from(j, g, q, i);
    zp_trace_entry *best = zp_trace_precedes(now, &e) ? &due : &later;
    if (e.wait >= 0 && (best->wait < 0 || zp_trace_precedes(&e, best))) *best = e;
  }
  const int examined = due.wait < 0 || (later.wait >= 0 && j->p[later.rank].wait[later.wait].i ==
                                                               j->p[due.rank].wait[due.wait].i);
  if (!examined) zp_trace_push(&j->failure, &j->due, due);
  else if (later.wait >= 0) zp_trace_push(&j->failure, &j->later, later);
}

/* Stops waiting for ranks that are gone, in the order of the waits. Returns 1 if there were any. */
static int all_give_up(judge *j)
{
  zp_trace_entry now = {.rank = -1};
  int gave = 0;
  while (j->later.n > 0) zp_trace_push(&j->failure, &j->due, zp_trace_pop(&j->later));
  for (;;) {
    for (int32_t k = 0; k < j->stirs; k++) {
      j->stirred[k]->stirred = 0;
      find_due(j, j->stirred[k], &now);
    }
    j->stirs = 0;
    if (j->due.n == 0) return gave;
    const zp_trace_entry e = zp_trace_pop(&j->due);
    if (zp_trace_lasts(j, &e)) {
      now = e;
      gave |= give_up(j, &e);
    }
    if (e.g->gones > 0) zp_trace_stir(j, e.g);
  }
}

/* ---- Cycles ---------------------------------------------------------------------------------- */

/* The rank at the first place that has not entered operation i, or -1. Only ranks that are not gone
 * are left when the judge searches cycles. */
static int32_t awaited(group *g, int64_t i)
{
  inst *x = zp_trace_inst(g, i);
  int32_t q = x->awaited < 0 ? 0 : x->awaited;
  while ((q = zp_trace_least(&g->present, q)) >= 0 && g->pos[q] > i) q++;
  x->awaited = q < 0 ? g->size : q;
  if (g->searched <= i) g->searched = i + 1;
  return q < 0 ? -1 : g->rank[q];
}

/* The first wait of p that another rank can still end, or -1. */
static int32_t next_wait(player *p)
{
  while (p->edge >= 0 && awaited(p->wait[p->edge].g, p->wait[p->edge].i) < 0)
    p->edge = p->wait[p->edge].next;
  return p->edge;
}

static void report_cycle(judge *j, int32_t from, int async)
{
  char text[LISTED * (WHERE + 64 + ZP_TRACE_AT)] = "", where[WHERE], at[ZP_TRACE_AT];
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, sizeof *rank);
  size_t n = 0;
  int32_t r = from, length = 0;
  do {
    player *p = &j->p[r];
    const wait *w = &p->wait[next_wait(p)];
    zp_trace_where(w->g, w->i, &zp_trace_inst(w->g, w->i)->sig, where, sizeof where);
    if (length < LISTED)
      n += (size_t)snprintf(text + n, sizeof text - n,
                            "%srank %d waits at its %s in %s for rank %d", length ? "; " : "",
                            (int)r, zp_trace_at_text(w->at, at), where, (int)p->next);
    rank[length++] = r;
    r = p->next;
  } while (r != from);
  const zp_trace_at first = j->p[from].wait[next_wait(&j->p[from])].at;
  zp_trace_add_finding(
      j, "cycle", from, first.record, async, "a cycle of %d ranks%s: %s%s", (int)length,
      async ? " through asynchronous operations, which would deadlock on a device that runs "
              "them in order"
            : "",
      text, length > LISTED ? "; and so on" : "");
  zp_trace_set_step(j, first.step);
  zp_trace_set_ranks(j, rank, length);
  free(rank);
}

/* Marks the ranks for which r waits, directly or through others, that no walk since `before` has
 * marked. Returns a rank of the cycle that it reaches, or -1. */
static int32_t follow(judge *j, int32_t r, int64_t before)
{
  const int64_t walk = ++j->walks;
  while (j->p[r].mark <= before) {
    player *p = &j->p[r];
    const int32_t w = next_wait(p);
    if (w < 0) return -1;
    p->mark = walk;
    p->next = awaited(p->wait[w].g, p->wait[w].i);
    r = p->next;
  }
  return j->p[r].mark == walk ? r : -1;
}

/* Whether an operation of the cycle of r is asynchronous. */
static int is_async(judge *j, int32_t r)
{
  int async = 0;
  int32_t q = r;
  do {
    async |= j->p[q].wait[next_wait(&j->p[q])].async;
    q = j->p[q].next;
  } while (q != r);
  return async;
}

static void break_cycle(judge *j, int32_t r)
{
  const int async = is_async(j, r);
  const int64_t record = j->p[r].wait[next_wait(&j->p[r])].at.record;
  if (!async) j->on_error(j);
  if (j->cycles + j->warnings == 0 || record < j->first_cycle) j->first_cycle = record;
  if (async ? j->warnings++ == 0 : j->cycles++ == 0) report_cycle(j, r, async);
  int32_t q = r;
  do {
    player *p = &j->p[q];
    const int32_t w = next_wait(p);
    q = p->next;
    if (!async || p->wait[w].async) zp_trace_detach(j, p, w);
  } while (q != r);
}

/* Moves the ranks whose waits lead elsewhere since the last search to j->start. Returns their
 * number. */
static int32_t take_changed(judge *j)
{
  int32_t n = 0;
  for (int32_t k = 0; k < j->moves; k++) {
    const moved m = j->moved[k];
    if (!zp_trace_is_open(m.g, m.i)) continue;
    const int32_t next = awaited(m.g, m.i);
    if (next >= 0) zp_trace_put(&j->changed, next);
    for (int32_t q = -1; next < 0 && (q = zp_trace_least(&m.g->present, q + 1)) >= 0;)
      zp_trace_put(&j->changed, m.g->rank[q]);
  }
  j->moves = 0;
  for (int32_t r = -1; j->all_changed && (r = zp_trace_least(&j->files, r + 1)) >= 0;)
    zp_trace_put(&j->changed, r);
  j->all_changed = 0;
  for (int32_t r = -1; (r = zp_trace_least(&j->changed, r + 1)) >= 0;) {
    zp_trace_remove(&j->changed, r);
    if (j->p[r].waits > 0) j->start[n++] = r;
  }
  return n;
}

/* Moves one rank of each cycle to j->start. Returns how many. A new cycle contains a rank whose
 * waits lead elsewhere since the last search. */
static int32_t find_cycles(judge *j)
{
  const int64_t before = j->walks;
  const int32_t n = take_changed(j);
  int32_t cycles = 0;
  for (int32_t k = 0; k < n; k++) {
    if (j->p[j->start[k]].mark > before) continue;
    const int32_t r = follow(j, j->start[k], before);
    if (r >= 0) j->start[cycles++] = r;
  }
  return cycles;
}

static int break_cycles(judge *j)
{
  int again = 0;
  int32_t n = find_cycles(j);
  /* a report begins where the search from the lowest rank of all enters the cycle */
  for (int32_t k = 0; k < n && !again; k++)
    again = (is_async(j, j->start[k]) ? j->warnings : j->cycles) == 0;
  if (again) {
    j->all_changed = 1;
    n = find_cycles(j);
  }
  for (int32_t k = 0; k < n; k++) break_cycle(j, j->start[k]);
  return n > 0;
}

/* ---- Places without a rank ------------------------------------------------------------------- */

/* Stops waiting for the places of w's group that no trace names and that have not entered. Reports
 * them and returns 1 if there are some. */
static int drop_places(judge *j, int32_t r, const wait w)
{
  char at[ZP_TRACE_AT], name[ZP_TRACE_GROUP_TEXT];
  int32_t n = 0, first = -1;
  for (int32_t q = 0; w.g->unknown > 0 && q < w.g->size; q++) {
    if (w.g->absent[q] || w.g->rank[q] >= 0) continue;
    if (n++ == 0) first = q;
    zp_trace_drop_member(j, w.g, q);
  }
  if (n > 0 && j->missing == 0) {
    zp_trace_add_finding(j, "absent", r, w.at.record, 0,
                         "rank %d waits at its %s for group rank %d%s in %s, which no "
                         "rank has joined",
                         (int)r, zp_trace_at_text(w.at, at), (int)first, n > 1 ? " and others" : "",
                         zp_trace_group_text(w.g, name));
    zp_trace_set_step(j, w.at.step);
  }
  return n > 0;
}

/* Stops waiting for members that no trace names: their trace is missing, or they never joined. Ends
 * at the first wait that makes a rank ready, since that rank may join groups. */
static int drop_unknown(judge *j)
{
  int dropped = 0;
  while (j->n_ready == 0 && j->strange.n > 0) {
    const zp_trace_entry e = zp_trace_pop(&j->strange);
    if (zp_trace_lasts(j, &e)) dropped |= drop_places(j, e.rank, j->p[e.rank].wait[e.wait]);
  }
  return dropped;
}

int zp_trace_stall(judge *j)
{
  if (zp_trace_assume_sources(j)) return 1;
  j->stalls++;
  if (all_give_up(j)) return 1;
  return break_cycles(j) || drop_unknown(j);
}
