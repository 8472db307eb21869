/* Lists of what has changed, for the next stall. */
#include <stdlib.h>

#include "judge.h"

void zp_trace_make_candidate(judge *j, group *g)
{
  player *p = &j->p[g->rank[0]];
  if (p->candidates == p->candidates_cap) {
    const int32_t n = p->candidates_cap ? 2 * p->candidates_cap : 2;
    p->candidate = zp_trace_grow(&j->failure, p->candidate, (size_t)p->candidates_cap, (size_t)n,
                                 sizeof(group *));
    p->candidates_cap = n;
  }
  p->candidate[p->candidates++] = g;
  zp_trace_put(&j->senders, p->reader.rank);
}

void zp_trace_add_candidate(judge *j, group *g)
{
  if (g->candidate) return;
  g->candidate = 1;
  zp_trace_make_candidate(j, g);
}

void zp_trace_add_gone(judge *j, group *g, int32_t place)
{
  g->gone[g->gones++] = place;
  if (g->count > 0) zp_trace_stir(j, g);
}

void zp_trace_stir(judge *j, group *g)
{
  if (g->stirred) return;
  if (j->stirs == j->stirred_cap) {
    const int32_t n = j->stirred_cap ? 2 * j->stirred_cap : 4;
    j->stirred =
        zp_trace_grow(&j->failure, j->stirred, (size_t)j->stirred_cap, (size_t)n, sizeof(group *));
    j->stirred_cap = n;
  }
  g->stirred = 1;
  j->stirred[j->stirs++] = g;
}

void zp_trace_gone(judge *j, player *p)
{
  if (p->gone) return;
  p->gone = 1;
  j->all_changed = 1;
  for (int32_t k = 0; k < p->joined_n; k++) {
    group *g = j->all[p->joined[k].group];
    if (!g->absent[p->joined[k].place]) zp_trace_add_gone(j, g, p->joined[k].place);
  }
  free(p->joined);
  p->joined = NULL;
}

void zp_trace_note_moved(judge *j, group *g, int64_t i)
{
  if (j->moves == j->moved_cap) {
    const int32_t n = j->moved_cap ? 2 * j->moved_cap : 4;
    j->moved =
        zp_trace_grow(&j->failure, j->moved, (size_t)j->moved_cap, (size_t)n, sizeof *j->moved);
    j->moved_cap = n;
  }
  j->moved[j->moves++] = (moved){g, i};
}
