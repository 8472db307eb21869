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
  p->queue[p->queues - 1] = (any_queue){{-1, -1}, {-1, -1}};
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
  for (int32_t q = 0; q < p->queues; q++) p->queue[q] = (any_queue){{-1, -1}, {-1, -1}};
  for (int32_t i = 0; i < p->anys; i++) {
    if (p->any[i].m.g == NULL) continue;
    p->any[n] = p->any[i];
    append(p, n++);
  }
  p->anys = n;
}

void zp_trace_from_any(judge *j, player *p, member m, const zp_trace_sig *sig, int64_t record)
{
  if (p->anys == p->any_cap) {
    const int32_t n = p->any_cap ? 2 * p->any_cap : 4;
    p->any = zp_trace_grow(&j->failure, p->any, (size_t)p->any_cap, (size_t)n, sizeof *p->any);
    p->any_cap = n;
  }
  (void)make_queue(j, p, m);
  p->any[p->anys] = (any){.m = m, .sig = *sig, .record = record};
  append(p, p->anys++);
  p->any_open++;
}

/* The receive of a record, or -1. */
static int32_t find_any(const player *p, int64_t record)
{
  int32_t lo = 0, hi = p->anys;
  while (lo < hi) {
    const int32_t mid = lo + (hi - lo) / 2;
    if (p->any[mid].record < record) lo = mid + 1;
    else hi = mid;
  }
  return lo < p->anys && p->any[lo].record == record && p->any[lo].m.g != NULL ? lo : -1;
}

void zp_trace_free_any(player *p)
{
  free(p->any);
  free(p->queue);
}

/* ---- Their sources --------------------------------------------------------------------------- */

/* Compares the earliest send of g with an assumed receive with the receive that the trace
 * records. */
static void compare_ahead(judge *j, const player *p, group *g, const zp_trace_sig *sig,
                          int64_t record)
{
  inst x = g->ahead[g->ahead_first++];
  if (g->ahead_first == g->aheads) g->ahead_first = g->aheads = 0;
  x.odd = *sig;
  x.odd_first = p->reader.rank;
  x.odd_record = record;
  x.n = x.n_odd = 1;
  zp_trace_compare(j, g, x.seen, &x);
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
    if (ahead) compare_ahead(j, p, m.g, &sig, record);
    else if (zp_trace_enter(j, p, m, &sig, record)) zp_trace_add_wait(j, p, m, record, 0);
  }
  pack(p);
}

/* A receive of the rank at place 1 of g, from any source and matched with no sender, or -1. */
static int32_t unmatched(const judge *j, const group *g)
{
  const int32_t rank = zp_trace_rank_at(g, 1);
  const any_queue *q = rank < 0 ? NULL : queue_of(&j->p[rank], (member){g->parent, g->to});
  return q == NULL ? -1 : q->first[0];
}

int zp_trace_assume_source(judge *j, group *g)
{
  const int32_t i = unmatched(j, g), rank = zp_trace_rank_at(g, 1);
  if (i < 0 || g->pos[1] >= g->pos[0] || !zp_trace_is_open(g, g->pos[1])) return 0;
  player *p = &j->p[rank];
  set_assumed(p, i, 1);
  g->rank[1] = rank;
  if (g->aheads == g->ahead_cap) {
    const int32_t n = g->ahead_cap ? 2 * g->ahead_cap : 2;
    g->ahead =
        zp_trace_grow(&j->failure, g->ahead, (size_t)g->ahead_cap, (size_t)n, sizeof *g->ahead);
    g->ahead_cap = n;
  }
  inst *x = &g->ahead[g->aheads++];
  *x = *zp_trace_inst(g, g->pos[1]);
  x->seen = g->pos[1]; /* its number, for compare_ahead */
  const zp_trace_sig sig = {-1, g->from, ZP_TRACE_RECV, 0, 0, 0};
  (void)zp_trace_enter(j, p, (member){g, 1}, &sig, p->any[i].record);
  return 1;
}

/* Assumes sources for the sends of one rank. */
static int assume_sources_of(judge *j, player *p)
{
  int32_t kept = 0, assumed = 0;
  for (int32_t k = 0; k < p->candidates; k++) {
    group *g = p->candidate[k];
    while (g->senders > 0 && zp_trace_assume_source(j, g)) assumed = 1;
    if (g->senders > 0) p->candidate[kept++] = g;
    else g->candidate = 0;
  }
  p->candidates = kept;
  return assumed;
}

int zp_trace_assume_sources(judge *j)
{
  int assumed = 0;
  for (int32_t k = 0; k < (j->world + 63) / 64; k++)
    for (uint64_t bits = j->senders[k]; bits != 0; bits &= bits - 1) {
      const int32_t bit = __builtin_ctzll(bits);
      player *p = &j->p[64 * k + bit];
      assumed |= assume_sources_of(j, p);
      if (p->candidates == 0) j->senders[k] &= ~((uint64_t)1 << bit);
    }
  return assumed;
}
