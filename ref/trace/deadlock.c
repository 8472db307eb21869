/* No rank can continue: which ranks are missing, or which ranks wait in a cycle. LEDG-7,
 * conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { WHERE = 560, LISTED = 4 };

/* Stops waiting for the members that never enter the operation of w. Returns 1 if there were
 * some. */
static int give_up(judge *j, const player *p, const wait w)
{
  inst *x = zp_trace_inst(w.g, w.i);
  if (x->seen == j->stalls) return 0;
  x->seen = j->stalls;
  x->awaited = -1;
  int32_t n = 0, *late = NULL;
  for (int32_t q = 0; q < w.g->size; q++) {
    if (w.g->pos[q] > w.i || w.g->absent[q]) continue;
    const int32_t rank = zp_trace_rank_at(w.g, q);
    if (rank < 0) continue;
    if (j->p[rank].reader.state == ZP_TRACE_READING || j->p[rank].waits > 0) {
      if (x->awaited < 0) x->awaited = rank;
      continue;
    }
    if (late == NULL)
      late = zp_trace_grow(&j->failure, NULL, 0, (size_t)(w.g->size - q), sizeof *late);
    late[n++] = q;
  }
  if (n == 0) return 0;
  zp_trace_note_gap(j, &w, p->reader.rank, late, n);
  /* the last one completes the operation, which invalidates x */
  for (int32_t k = 0; k < n; k++) zp_trace_drop_member(j, w.g, late[k]);
  free(late);
  return 1;
}

static int all_give_up(judge *j)
{
  int gave = 0;
  for (int32_t r = 0; r < j->world; r++) {
    const player *p = &j->p[r];
    for (int32_t w = zp_trace_first_wait(p); w >= 0; w = zp_trace_next_wait(p, w))
      gave |= give_up(j, p, p->wait[w]);
  }
  return gave;
}

/* The wait of p that another rank can still end, or -1. */
static int32_t next_wait(const player *p)
{
  for (int32_t w = zp_trace_first_wait(p); w >= 0; w = zp_trace_next_wait(p, w))
    if (zp_trace_inst(p->wait[w].g, p->wait[w].i)->awaited >= 0) return w;
  return -1;
}

static void report_cycle(judge *j, int32_t from, int async)
{
  char text[LISTED * (WHERE + 64)] = "", where[WHERE];
  size_t n = 0;
  int32_t r = from, length = 0;
  do {
    const player *p = &j->p[r];
    const wait *w = &p->wait[next_wait(p)];
    zp_trace_where(w->g, w->i, &zp_trace_inst(w->g, w->i)->sig, where, sizeof where);
    if (length < LISTED)
      n += (size_t)snprintf(text + n, sizeof text - n,
                            "%srank %d waits at its record %" PRId64 " in %s for rank %d",
                            length ? "; " : "", (int)r, w->record, where, (int)p->next);
    length++;
    r = p->next;
  } while (r != from);
  zp_trace_add_finding(
      j, "cycle", from, j->p[from].wait[next_wait(&j->p[from])].record, async,
      "a cycle of %d ranks%s: %s%s", (int)length,
      async ? " through asynchronous operations, which would deadlock on a device that runs "
              "them in order"
            : "",
      text, length > LISTED ? "; and so on" : "");
}

/* Follows the waits of the ranks from r on and breaks the cycle that it reaches. Returns 1 if there
 * is one. */
static int follow(judge *j, int32_t r)
{
  const int32_t walk = r + 1;
  while (j->p[r].mark == 0) {
    const int32_t w = next_wait(&j->p[r]);
    if (w < 0) return 0;
    j->p[r].mark = walk;
    const wait *at = &j->p[r].wait[w];
    j->p[r].next = zp_trace_inst(at->g, at->i)->awaited;
    r = j->p[r].next;
  }
  if (j->p[r].mark != walk) return 0;
  int async = 0;
  int32_t q = r;
  do {
    async |= j->p[q].wait[next_wait(&j->p[q])].async;
    q = j->p[q].next;
  } while (q != r);
  if (j->first_cycle == 0) j->first_cycle = j->p[r].wait[next_wait(&j->p[r])].record;
  if (async ? j->warnings++ == 0 : j->cycles++ == 0) report_cycle(j, r, async);
  do {
    player *p = &j->p[q];
    const int32_t w = next_wait(p);
    q = p->next;
    if (!async || p->wait[w].async) zp_trace_detach(j, p, w);
  } while (q != r);
  return 1;
}

static int break_cycles(judge *j)
{
  int broke = 0;
  for (int32_t r = 0; r < j->world; r++) j->p[r].mark = 0;
  for (int32_t r = 0; r < j->world; r++)
    if (j->p[r].mark == 0 && j->p[r].waits > 0) broke |= follow(j, r);
  return broke;
}

/* Stops waiting for the places of w's group that no trace names and that have not entered. Reports
 * them and returns 1 if there are some. */
static int drop_places(judge *j, int32_t r, const wait w)
{
  int32_t n = 0, first = -1;
  for (int32_t q = 0; q < w.g->size; q++) {
    if (w.g->pos[q] > w.i || w.g->absent[q] || zp_trace_rank_at(w.g, q) >= 0) continue;
    if (n++ == 0) first = q;
    zp_trace_drop_member(j, w.g, q);
  }
  if (n > 0 && j->missing == 0)
    zp_trace_add_finding(j, "absent", r, w.record, 0,
                         "rank %d waits at its record %" PRId64
                         " for place %d%s of group %s, which no "
                         "rank has joined",
                         (int)r, w.record, (int)first, n > 1 ? " and others" : "",
                         w.g->parent ? w.g->parent->key : w.g->key);
  return n > 0;
}

/* Stops waiting for members that no trace names: their trace is missing, or they never joined. Ends
 * at the first wait that makes a rank ready, since that rank may join groups. */
static int drop_unknown(judge *j)
{
  int dropped = 0;
  for (int32_t r = 0; r < j->world && j->n_ready == 0; r++) {
    const player *p = &j->p[r];
    for (int32_t w = zp_trace_first_wait(p); w >= 0 && j->n_ready == 0;
         w = zp_trace_next_wait(p, w))
      dropped |= drop_places(j, r, p->wait[w]);
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
