/* Receives from any source. A rank enters one without a peer; when it has completed, the trace
 * records the source, and the receive is matched with a send of that place. If the source is never
 * recorded (the run stopped, or the program did not query it), the judge assumes a sender that has
 * no other receive left. conformance/TRACE.md, PIPE-3 */
#include <stdlib.h>
#include <string.h>

#include "judge.h"

/* ---- The receives of a rank ------------------------------------------------------------------ */

/* The queue of a member's receives, or NULL. */
static any_queue *queue_of(const player *p, member m)
{
  const int32_t q = m.g->queue == NULL ? 0 : m.g->queue[m.place];
  return q == 0 ? NULL : &p->queue[q - 1];
}

static void clear(any_queue *q)
{
  for (int list = 0; list < 2; list++) q->first[list] = q->last[list] = -1;
}

static any_queue *make_queue(judge *j, player *p, member m)
{
  any_queue *q = queue_of(p, m);
  if (q != NULL) return q;
  if (m.g->queue == NULL)
    m.g->queue = zp_trace_grow(&j->failure, NULL, 0, (size_t)m.g->size, sizeof *m.g->queue);
  if (p->queues == p->queues_cap) {
    const int32_t n = p->queues_cap ? 2 * p->queues_cap : 2;
    p->queue =
        zp_trace_grow(&j->failure, p->queue, (size_t)p->queues_cap, (size_t)n, sizeof *p->queue);
    p->queues_cap = n;
  }
  m.g->queue[m.place] = ++p->queues;
  clear(&p->queue[p->queues - 1]);
  return &p->queue[p->queues - 1];
}

static void append(player *p, int32_t i)
{
  any *a = &p->any[i];
  any_queue *q = queue_of(p, a->m);
  const int32_t list = a->assumed;
  a->next = -1;
  a->prev = q->last[list];
  if (a->prev >= 0) p->any[a->prev].next = i;
  else q->first[list] = i;
  q->last[list] = i;
}

static void take_out(player *p, int32_t i)
{
  const any *a = &p->any[i];
  any_queue *q = queue_of(p, a->m);
  if (a->prev >= 0) p->any[a->prev].next = a->next;
  else q->first[a->assumed] = a->next;
  if (a->next >= 0) p->any[a->next].prev = a->prev;
  else q->last[a->assumed] = a->prev;
}

static void set_assumed(player *p, int32_t i, int32_t assumed)
{
  take_out(p, i);
  p->any[i].assumed = assumed;
  append(p, i);
}

/* Removes the receives whose source is known, once they are the majority. */
static void pack(player *p)
{
  int32_t n = 0;
  if (p->anys < 16 || 2 * p->any_open > p->anys) return;
  for (int32_t i = 0; i < p->anys; i++)
    if (p->any[i].m.g != NULL) clear(queue_of(p, p->any[i].m));
  for (int32_t i = 0; i < p->anys; i++) {
    if (p->any[i].m.g == NULL) continue;
    p->any[n] = p->any[i];
    append(p, n++);
  }
  p->anys = n;
}

/* The first of the parked pairs becomes a candidate, if there is a receive. */
static void wake(judge *j, any_queue *q)
{
  if (q->first[0] >= 0 && q->parked.n > 0) zp_trace_make_candidate(j, zp_trace_pop(&q->parked).g);
}

void zp_trace_from_any(judge *j, player *p, member m, const zp_trace_sig *sig, zp_trace_at at,
                       int32_t link)
{
  if (p->anys == p->any_cap) {
    const int32_t n = p->any_cap ? 2 * p->any_cap : 4;
    p->any = zp_trace_grow(&j->failure, p->any, (size_t)p->any_cap, (size_t)n, sizeof *p->any);
    p->any_cap = n;
  }
  any_queue *q = make_queue(j, p, m);
  p->any[p->anys] = (any){.m = m, .sig = *sig, .at = at, .link = link};
  append(p, p->anys++);
  p->any_open++;
  wake(j, q);
}

/* The receive of a record, or -1. */
static int32_t find_any(const player *p, int64_t record)
{
  int32_t lo = 0, hi = p->anys;
  while (lo < hi) {
    const int32_t mid = lo + (hi - lo) / 2;
    if (p->any[mid].at.record < record) lo = mid + 1;
    else hi = mid;
  }
  return lo < p->anys && p->any[lo].at.record == record && p->any[lo].m.g != NULL ? lo : -1;
}

void zp_trace_free_any(player *p)
{
  for (int32_t q = 0; q < p->queues; q++) free(p->queue[q].parked.at);
  free(p->any);
  free(p->queue);
  free(p->candidate);
}

/* ---- Their sources --------------------------------------------------------------------------- */

/* Compares the earliest send of g with an assumed receive with the receive that the trace
 * records. */
static void compare_ahead(judge *j, const player *p, group *g, const zp_trace_sig *sig,
                          zp_trace_at at)
{
  ahead a = g->ahead[g->ahead_first++];
  if (g->ahead_first == g->aheads) g->ahead_first = g->aheads = 0;
  a.x.odd = *sig;
  a.x.odd_first = p->reader.rank;
  a.x.odd_at = at;
  a.x.n = a.x.n_odd = 1;
  zp_trace_compare(j, g, a.i, &a.x);
}

void zp_trace_source(judge *j, player *p, int64_t record, int32_t place)
{
  const int32_t i = find_any(p, record);
  if (i < 0) return; /* its group is unknown */
  const any a = p->any[i];
  take_out(p, i);
  p->any[i].m.g = NULL;
  p->any_open--;
  zp_trace_sig sig = a.sig;
  sig.root = place;
  sig.flags &= (uint8_t)~ZP_TRACE_ANY;
  const member m = zp_trace_pair(j, p, &a.m, &sig, record);
  if (m.g != NULL) {
    /* Keeps the number of assumed receives equal to that of the sends matched by assumption. */
    const int ahead = m.g->ahead_first < m.g->aheads;
    const int32_t other = ahead == a.assumed ? -1 : queue_of(p, a.m)->first[ahead];
    if (other >= 0) set_assumed(p, other, !ahead);
    if (other >= 0 && ahead) wake(j, queue_of(p, a.m));
    j->entering_link = a.link + 1;
    if (ahead) compare_ahead(j, p, m.g, &sig, a.at);
    else if (zp_trace_enter(j, p, m, &sig, a.at)) zp_trace_add_wait(j, p, m, a.at, 0, a.link);
    j->entering_link = 0;
  }
  pack(p);
}

/* The receives of the rank at place 1 of g from any source, or NULL. */
static any_queue *receives(const judge *j, const group *g)
{
  return g->rank[1] < 0 ? NULL : queue_of(&j->p[g->rank[1]], (member){g->parent, g->to});
}

int zp_trace_assume_source(judge *j, group *g)
{
  const any_queue *q = receives(j, g);
  const int32_t i = q == NULL ? -1 : q->first[0];
  if (i < 0 || g->pos[1] >= g->pos[0] || !zp_trace_is_open(g, g->pos[1])) return 0;
  player *p = &j->p[g->rank[1]];
  set_assumed(p, i, 1);
  if (g->aheads == g->ahead_cap) {
    const int32_t n = g->ahead_cap ? 2 * g->ahead_cap : 2;
    g->ahead =
        zp_trace_grow(&j->failure, g->ahead, (size_t)g->ahead_cap, (size_t)n, sizeof *g->ahead);
    g->ahead_cap = n;
  }
  g->ahead[g->aheads++] = (ahead){*zp_trace_inst(g, g->pos[1]), g->pos[1]};
  const zp_trace_sig sig = {-1, g->from, ZP_TRACE_RECV, 0, 0, 0};
  (void)zp_trace_enter(j, p, (member){g, 1}, &sig, p->any[i].at);
  return 1;
}

/* Pair g has no receive. It is a candidate again when its receiver enters one, or is known. */
static void park(judge *j, group *g)
{
  player *p = g->rank[1] < 0 ? NULL : &j->p[g->rank[1]];
  if (p == NULL || p->gone) {
    g->candidate = 0;
    return;
  }
  any_queue *q = make_queue(j, p, (member){g->parent, g->to});
  zp_trace_push(&j->failure, &q->parked, (zp_trace_entry){g, g->rank[0], -1, 0});
}

/* Assumes sources for the sends of one rank. */
static int assume_sources_of(judge *j, player *p)
{
  int32_t assumed = 0;
  for (int32_t k = 0; k < p->candidates; k++) {
    group *g = p->candidate[k];
    while (g->senders > 0 && zp_trace_assume_source(j, g)) assumed = 1;
    if (g->senders > 0) {
      park(j, g);
      continue;
    }
    g->candidate = 0;
    any_queue *q = receives(j, g);
    if (q != NULL) wake(j, q);
  }
  p->candidates = 0;
  return assumed;
}

int zp_trace_assume_sources(judge *j)
{
  int assumed = 0;
  for (int32_t r; (r = zp_trace_least(&j->senders, 0)) >= 0;) {
    assumed |= assume_sources_of(j, &j->p[r]);
    zp_trace_remove(&j->senders, r);
  }
  return assumed;
}
