/* Ranks that entered fewer or more operations of a group than its other members. If most members
 * agree, the others are reported; if the two sides are equal, the side that entered fewer.
 * LEDG-2, LEDG-7, conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { WHERE = 560 };

static int is_missing(const judge *j, int32_t rank)
{
  return j->p[rank].reader.state == ZP_TRACE_MISSING;
}

/* The number of members that entered operation i, if they are the minority and all others stopped
 * right before it; otherwise 0. */
static int32_t few_early(const judge *j, const group *g, int64_t i, const int32_t *late, int32_t n)
{
  int32_t early = 0, known = 0, waiting = g->size - g->absents;
  for (int32_t q = -1; (q = zp_trace_least(&g->present, q + 1)) >= 0;) early += g->pos[q] > i;
  for (int32_t k = 0; k < n; k++) {
    if (is_missing(j, g->rank[late[k]])) continue;
    if (g->pos[late[k]] != i) return 0;
    known++;
  }
  return early + n == waiting && early < known ? early : 0;
}

void zp_trace_note_gap(judge *j, const wait *w, int32_t by, const int32_t *late, int32_t n_late)
{
  group *g = w->g;
  int32_t known = 0;
  for (int32_t k = 0; k < n_late; k++) known += !is_missing(j, g->rank[late[k]]);
  if (known == 0) return; /* already reported as missing */
  j->on_error(j);
  if (j->gaps == j->gaps_cap) {
    const int32_t n = j->gaps_cap ? 2 * j->gaps_cap : 8;
    j->gap = zp_trace_grow(&j->failure, j->gap, (size_t)j->gaps_cap, (size_t)n, sizeof *j->gap);
    j->gaps_cap = n;
  }
  const inst *x = zp_trace_inst(g, w->i);
  gap *a = &j->gap[j->gaps++];
  *a = (gap){.g = g,
             .i = w->i,
             .at = x->at,
             .round = j->stalls,
             .sig = x->sig,
             .by = by,
             .first = x->first};
  a->late = zp_trace_grow(&j->failure, NULL, 0, (size_t)known, sizeof *a->late);
  for (int32_t k = 0; k < n_late; k++)
    if (!is_missing(j, g->rank[late[k]])) a->late[a->n_late++] = late[k];
  a->n_early = few_early(j, g, w->i, late, n_late);
  if (a->n_early > 0)
    a->early = zp_trace_grow(&j->failure, NULL, 0, (size_t)a->n_early, sizeof *a->early);
  for (int32_t q = -1, k = 0; k < a->n_early;) {
    q = zp_trace_least(&g->present, q + 1);
    if (g->pos[q] > w->i) a->early[k++] = q;
  }
  if (j->first_round == 0) j->first_round = j->stalls;
}

static int by_rank(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* The ranks of places, in order. */
static int32_t *ranks_of(judge *j, const group *g, const int32_t *place, int32_t n)
{
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)n, sizeof *rank);
  for (int32_t k = 0; k < n; k++) rank[k] = g->rank[place[k]];
  qsort(rank, (size_t)n, sizeof *rank, by_rank);
  return rank;
}

/* Whether a majority's traces show how many operations the program has: they all ended normally, or
 * the whole run was killed. Truncated traces of a majority do not. */
static int comparable(const judge *j, const int32_t *rank, int32_t n)
{
  for (int32_t k = 0; k < n; k++) {
    const zp_trace_state s = j->p[rank[k]].reader.state;
    if (s != ZP_TRACE_ENDED && (s != ZP_TRACE_STOPPED || j->ended > 0)) return 0;
  }
  return 1;
}

/* The ranks `early` entered the operation of a; `late`, the majority, did not. */
static void report_ahead(judge *j, const gap *a, int64_t record, int64_t more, const int32_t *early,
                         int32_t n_early, const int32_t *late, int32_t n_late)
{
  char where[WHERE], who[ZP_TRACE_RANKS], most[ZP_TRACE_RANKS], at[ZP_TRACE_AT];
  zp_trace_where(a->g, a->i, &a->sig, where, sizeof where);
  const int killed = j->p[late[0]].reader.state == ZP_TRACE_STOPPED;
  zp_trace_add_finding(
      j, "ahead", early[0], record, 0,
      "%s enter%s %" PRId64 " operation%s more than most of the group: %s %s %s%s; rank %d "
      "enters it at its %s",
      zp_trace_ranks(early, n_early, who), n_early > 1 ? "" : "s", more, more > 1 ? "s" : "",
      zp_trace_ranks(late, n_late, most), killed ? "had not entered" : "never enter", where,
      killed ? " when their traces stopped" : "", (int)a->first, zp_trace_at_text(a->at, at));
  zp_trace_set_ranks(j, early, n_early);
  zp_trace_set_step(j, a->at.step);
}

static int is_later(const judge *j, const player *p, const gap *a)
{
  /* if all traces stop without an end mark, later stops are a consequence of the first */
  return p->reader.state != ZP_TRACE_ENDED && j->ended == 0 && a->round > j->first_round;
}

/* "rank 0", "2 ranks (0, 2)": the members that entered the operation of a. Returns how many. */
static int32_t waiting(judge *j, const gap *a, char *text)
{
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)a->g->size, sizeof *rank), n = 0;
  for (int32_t q = 0; q < a->g->size; q++) {
    const int32_t r = a->g->rank[q];
    if (r >= 0 && a->g->pos[q] > a->i) rank[n++] = r;
  }
  if (n == 0) rank[n++] = a->by;
  qsort(rank, (size_t)n, sizeof *rank, by_rank);
  zp_trace_ranks(rank, n, text);
  free(rank);
  return n;
}

/* Whether a rank's process has ended before its program was complete. */
static int has_ended(const judge *j, int32_t rank)
{
  const player *p = &j->p[rank];
  if (p->reader.exit.how != ZP_TRACE_NO_EXIT) return 1;
  return p->reader.state == ZP_TRACE_STOPPED &&
         zp_trace_writer_of(&p->reader, j->host, p->locked) == ZP_WRITER_ENDED;
}

/* Whether the late ranks, whose traces end as that of `late` does, may yet enter the operation of
 * a, and complete it: no member of the group has ended. `by` has an end if it passed the operation
 * without them, and others if their process ended in it, for example because it waited for too
 * long. */
static int may_continue(const judge *j, const gap *a, int32_t late)
{
  if (j->flight.world > 0) return 0; /* dumps are made after all ranks have stopped */
  if (j->p[a->by].reader.state != ZP_TRACE_STOPPED) return 0;
  if (j->p[late].reader.state != ZP_TRACE_STOPPED) return 0;
  for (int32_t q = 0; q < a->g->size; q++)
    if (a->g->rank[q] >= 0 && has_ended(j, a->g->rank[q])) return 0;
  return 1;
}

static void report_late(judge *j, const gap *a, const int32_t *rank, int32_t n, int64_t most)
{
  char where[WHERE], who[ZP_TRACE_RANKS], by[ZP_TRACE_RANKS], records[64], fewer[64] = "as many as";
  const zp_trace_state state = j->p[rank[0]].reader.state;
  const int many = n > 1;
  int64_t least = INT64_MAX, last = 0;
  for (int32_t k = 0; k < n; k++) {
    const int64_t has = j->p[rank[k]].reader.records;
    if (has < least) least = has;
    if (has > last) last = has;
  }
  snprintf(records, sizeof records, "%" PRId64, least);
  if (last > least) snprintf(records, sizeof records, "%" PRId64 " to %" PRId64, least, last);
  if (most > least)
    snprintf(fewer, sizeof fewer, "%s%" PRId64 " fewer than", last > least ? "up to " : "",
             most - least);
  zp_trace_where(a->g, a->i, &a->sig, where, sizeof where);
  const int32_t n_by = waiting(j, a, by);
  zp_trace_add_finding(j, "behind", rank[0], least - 1, 0,
                       "%s %s after %s record%s, %s the longest trace: %s wait%s for %s in %s",
                       zp_trace_ranks(rank, n, who),
                       state == ZP_TRACE_ENDED ? (many ? "finish" : "finishes")
                       : state == ZP_TRACE_DAMAGED
                           ? (many ? "have traces that are damaged" : "has a trace that is damaged")
                           : (many ? "have traces that stop" : "has a trace that stops"),
                       records, last == 1 ? "" : "s", fewer, by, n_by == 1 ? "s" : "",
                       many ? "them" : who, where);
  zp_trace_set_ranks(j, rank, n);
  for (int32_t k = n; k-- > 0;)
    if (j->p[rank[k]].reader.records == least) zp_trace_set_step(j, j->p[rank[k]].step);
  j->verdict->finding[j->verdict->findings - 1].unfinished = may_continue(j, a, rank[0]);
}

/* Reports the ranks that never enter the operation of a, grouped by how their traces end. Returns
 * the number of those that stopped as a consequence of another rank. */
static int64_t report_gap(judge *j, const gap *a, const int32_t *late, int64_t most)
{
  static const zp_trace_state states[] = {ZP_TRACE_ENDED, ZP_TRACE_STOPPED, ZP_TRACE_DAMAGED};
  int64_t later = 0;
  int32_t *some = zp_trace_grow(&j->failure, NULL, 0, (size_t)a->n_late, sizeof *some);
  for (size_t s = 0; s < sizeof states / sizeof *states; s++) {
    int32_t n = 0;
    for (int32_t k = 0; k < a->n_late; k++) {
      player *p = &j->p[late[k]];
      if (p->behind || p->reader.state != states[s]) continue;
      p->behind = 1;
      if (is_later(j, p, a)) later++;
      else some[n++] = late[k];
    }
    if (n > 0) report_late(j, a, some, n, most);
  }
  free(some);
  return later;
}

void zp_trace_report_behind(judge *j)
{
  int64_t most = 0, later = 0;
  for (int32_t r = 0; r < j->world; r++)
    if (j->p[r].reader.records > most) most = j->p[r].reader.records;
  for (int32_t i = 0; i < j->gaps; i++) {
    const gap *a = &j->gap[i];
    int32_t *late = ranks_of(j, a->g, a->late, a->n_late);
    if (a->n_early > 0 && comparable(j, late, a->n_late) && !is_later(j, &j->p[late[0]], a)) {
      int32_t *early = ranks_of(j, a->g, a->early, a->n_early);
      const int64_t more = a->g->pos[a->early[0]] - a->i;
      /* a rank that causes a cycle is reported before the cycle */
      const int64_t cycle = j->cycles + j->warnings > 0 ? j->first_cycle : a->at.record;
      const int64_t record = cycle < a->at.record ? cycle : a->at.record;
      report_ahead(j, a, record, more, early, a->n_early, late, a->n_late);
      free(early);
    } else later += report_gap(j, a, late, most);
    free(late);
  }
  if (later)
    zp_trace_add_finding(j, "consequence", -1, 0, 1,
                         "%" PRId64
                         " other ranks stop early, possibly because they waited for the first one, "
                         "directly or through other ranks",
                         later);
}

typedef struct standing { /* a member of a group, and how many operations it entered */
  int64_t pos;
  int32_t rank;
} standing;

static int by_pos(const void *a, const void *b)
{
  const standing *x = a, *y = b;
  if (x->pos != y->pos) return x->pos < y->pos ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void report_fewer(judge *j, group *g, int64_t pos, int64_t right, const int32_t *rank,
                         int32_t n)
{
  char where[WHERE], who[ZP_TRACE_RANKS];
  const int64_t fewer = right - pos;
  for (int32_t k = 0; k < n; k++) j->p[rank[k]].behind = 1;
  zp_trace_where(g, pos, &zp_trace_inst(g, pos)->sig, where, sizeof where);
  zp_trace_add_finding(j, "short", rank[0], j->first_cycle, 0,
                       "%s enter%s %" PRId64
                       " operation%s fewer than other members of the group: %s never "
                       "enter%s %s",
                       zp_trace_ranks(rank, n, who), n > 1 ? "" : "s", fewer, fewer > 1 ? "s" : "",
                       n > 1 ? "they" : "it", n > 1 ? "" : "s", where);
  zp_trace_set_ranks(j, rank, n);
}

/* The ranks of n standings; if fresh, only those that were not reported yet. */
static int32_t ranks_of_standings(const judge *j, const standing *s, int32_t n, int fresh,
                                  int32_t *rank)
{
  int32_t k = 0;
  for (int32_t i = 0; i < n; i++)
    if (!fresh || !j->p[s[i].rank].behind) rank[k++] = s[i].rank;
  return k;
}

/* The number of operations that members should have entered: that of the majority, or the
 * largest. */
static int64_t right_count(const judge *j, const standing *s, int32_t n, int32_t *rank)
{
  for (int32_t i = 0, end; i < n; i = end) {
    for (end = i; end < n && s[end].pos == s[i].pos;) end++;
    if (2 * (end - i) > n && comparable(j, rank, ranks_of_standings(j, s + i, end - i, 0, rank)))
      return s[i].pos;
  }
  return s[n - 1].pos;
}

/* Reports a group with an operation that not all members entered, though no rank waits for it. */
static void short_group(judge *j, group *g)
{
  standing *s = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *s);
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *rank), n = 0;
  for (int32_t q = 0; q < g->size; q++) {
    const int32_t r = g->rank[q];
    if (!g->absent[q] && r >= 0 && !is_missing(j, r)) s[n++] = (standing){g->pos[q], r};
  }
  if (n > 0) qsort(s, (size_t)n, sizeof *s, by_pos);
  const int64_t right = n > 0 ? right_count(j, s, n, rank) : 0;
  for (int32_t i = 0, end; i < n; i = end) {
    for (end = i; end < n && s[end].pos == s[i].pos;) end++;
    if (s[i].pos < right) {
      const int32_t fresh = ranks_of_standings(j, s + i, end - i, 1, rank);
      if (fresh > 0) report_fewer(j, g, s[i].pos, right, rank, fresh);
    } else if (s[i].pos == right && end < n) {
      /* standings after the majority's entered more: rank[] holds the majority, then these */
      const int32_t most = ranks_of_standings(j, s + i, end - i, 0, rank);
      const int32_t early = ranks_of_standings(j, s + end, n - end, 0, rank + most);
      const inst *x = zp_trace_inst(g, right);
      const gap a = {.g = g, .i = right, .at = x->at, .sig = x->sig, .first = x->first};
      qsort(rank + most, (size_t)early, sizeof *rank, by_rank);
      report_ahead(j, &a, j->first_cycle, s[end].pos - right, rank + most, early, rank, most);
    }
  }
  free(s);
  free(rank);
}

void zp_trace_report_short(judge *j)
{
  for (int64_t i = 0; i < j->groups; i++) {
    group *g = j->all[i];
    while (g->parent != NULL && zp_trace_assume_source(j, g)) continue;
    if (g->count > 0) j->on_error(j);
    if (g->count > 0) short_group(j, g);
  }
}
