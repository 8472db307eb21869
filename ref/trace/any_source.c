/* Receives from any source. A rank enters one without a peer; when it has completed, the trace
 * records the source, and the receive is matched with a send of that place. If the source is never
 * recorded (the run stopped, or the program did not query it), the judge assumes a sender that has
 * no other receive left. conformance/TRACE.md, PIPE-3 */
#include <string.h>

#include "judge.h"

void zp_trace_from_any(player *p, member m, const zp_trace_sig *sig, int64_t record)
{
  if (p->anys == p->any_cap) {
    const int32_t n = p->any_cap ? 2 * p->any_cap : 4;
    p->any =
        zp_trace_grow(p->reader.failure, p->any, (size_t)p->any_cap, (size_t)n, sizeof *p->any);
    p->any_cap = n;
  }
  p->any[p->anys++] = (any){m, *sig, record, 0};
}

/* The first receive of the player in group g with this `assumed`, or -1. */
static int32_t one(const player *p, const group *g, int32_t assumed)
{
  for (int32_t i = 0; i < p->anys; i++)
    if (p->any[i].m.g == g && p->any[i].assumed == assumed) return i;
  return -1;
}

/* Compares the earliest send of g with an assumed receive with the receive that the trace
 * records. */
static void compare_ahead(judge *j, player *p, group *g, const zp_trace_sig *sig, int64_t record)
{
  inst x = g->ahead[0];
  memmove(g->ahead, g->ahead + 1, (size_t)--g->aheads * sizeof *g->ahead);
  x.odd = *sig;
  x.odd_first = p->reader.rank;
  x.odd_record = record;
  x.n = x.n_odd = 1;
  zp_trace_compare(j, g, x.seen, &x);
}

void zp_trace_source(judge *j, player *p, int64_t record, int32_t place)
{
  int32_t i = 0;
  while (i < p->anys && p->any[i].record != record) i++;
  if (i == p->anys) return; /* its group is unknown */
  const any a = p->any[i];
  p->any[i] = p->any[--p->anys];
  zp_trace_sig sig = a.sig;
  sig.root = place;
  sig.flags &= (uint8_t)~ZP_TRACE_ANY;
  const member m = zp_trace_pair(j, p, &a.m, &sig, record);
  if (m.g == NULL) return;
  /* Keeps the number of assumed receives equal to that of the sends matched by assumption. */
  const int ahead = m.g->aheads > 0;
  const int32_t other = ahead == a.assumed ? -1 : one(p, a.m.g, ahead);
  if (other >= 0) p->any[other].assumed = !ahead;
  if (ahead) compare_ahead(j, p, m.g, &sig, record);
  else if (zp_trace_enter(j, p, m, &sig, record))
    zp_trace_add_wait(p, (wait){m.g, m.g->pos[m.place] - 1, record, 0});
}

int zp_trace_assume_source(judge *j, group *g)
{
  const int32_t rank = zp_trace_rank_at(g, 1);
  player *p = rank < 0 ? NULL : &j->p[rank];
  const int32_t i = p == NULL ? -1 : one(p, g->parent, 0);
  if (i < 0 || g->pos[1] >= g->pos[0] || !zp_trace_is_open(g, g->pos[1])) return 0;
  p->any[i].assumed = 1;
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
