/* The operations that a rank waits for: a list for each rank, in the order in which it entered
 * them, and a queue for each rank and group. The operations of a group complete in order, so that
 * each step here takes constant time, however many a grouped call leaves open. */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>

#include "judge.h"

/* ---- The rank's list ------------------------------------------------------------------------- */

zp_trace_entry zp_trace_entry_of(const player *p, int32_t w)
{
  return (zp_trace_entry){p->wait[w].g, p->reader.rank, w, p->wait[w].seq};
}

int zp_trace_lasts(const judge *j, const zp_trace_entry *e)
{
  const wait *w = &j->p[e->rank].wait[e->wait];
  return w->live && w->seq == e->seq;
}

static void link_wait(judge *j, player *p, int32_t w)
{
  wait *x = &p->wait[w];
  group *g = x->g;
  x->live = 1;
  x->seq = p->seq++;
  x->next = -1;
  x->prev = p->waits > 0 ? p->last_wait : -1;
  if (p->waits++ > 0) p->wait[p->last_wait].next = w;
  p->last_wait = w;
  if (p->edge < 0) p->edge = w;
  if (g->gones > 0) zp_trace_stir(j, g);
  if (g->unknown > 0) zp_trace_push(&j->failure, &j->strange, zp_trace_entry_of(p, w));
  if (g->parent == NULL || x->place != 0) return;
  g->senders++;
  zp_trace_add_candidate(j, g);
}

static void unlink_wait(judge *j, player *p, int32_t w)
{
  wait *x = &p->wait[w];
  if (x->prev >= 0) p->wait[x->prev].next = x->next;
  if (x->next >= 0) p->wait[x->next].prev = x->prev;
  else p->last_wait = x->prev;
  x->live = 0;
  x->g->senders -= x->g->parent != NULL && x->place == 0;
  p->waits--;
  if (p->edge != w) return;
  p->edge = x->next;
  zp_trace_put(&j->changed, p->reader.rank);
}

/* Sets the edge of p back to the first of its waits in g that was searched. */
static void rewind_edge(judge *j, player *p, const group *g, int32_t last)
{
  int32_t w = last;
  do {
    w = p->wait[w].later;
    if (p->wait[w].i >= g->searched) break;
    if (!p->wait[w].live) continue;
    if (p->edge >= 0) {
      const zp_trace_entry mine = zp_trace_entry_of(p, w), edge = zp_trace_entry_of(p, p->edge);
      if (!zp_trace_precedes(&mine, &edge)) continue;
    }
    p->edge = w;
  } while (w != last);
  zp_trace_put(&j->changed, p->reader.rank);
}

void zp_trace_rewind(judge *j, group *g)
{
  for (int64_t i = g->base; i < g->searched; i++) zp_trace_inst(g, i)->awaited = -1;
  for (int32_t q = -1; (q = zp_trace_least(&g->present, q + 1)) >= 0;)
    if (g->last_wait[q] > 0) rewind_edge(j, &j->p[g->rank[q]], g, g->last_wait[q] - 1);
  g->searched = 0;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* An unused element of p->wait. */
static int32_t new_wait(player *p)
{
  if (p->unused_wait == 0) {
    const int32_t have = p->waits_cap, n = have ? 2 * have : 2;
    p->wait = zp_trace_grow(p->reader.failure, p->wait, (size_t)have, (size_t)n, sizeof *p->wait);
    for (int32_t w = have; w < n; w++) p->wait[w].later = w + 1 < n ? w + 2 : 0;
    p->unused_wait = have + 1;
    p->waits_cap = n;
  }
  const int32_t w = p->unused_wait - 1;
  p->unused_wait = p->wait[w].later;
  return w;
}

void zp_trace_add_wait(judge *j, player *p, member m, zp_trace_at at, int32_t async, int32_t link)
{
  group *g = m.g;
  const int32_t w = new_wait(p), last = g->last_wait[m.place] - 1;
  p->wait[w] =
      (wait){.g = g,
             .i = g->pos[m.place] - 1,
             .at = at,
             .place = m.place,
             .link = link < 0 || link > ZP_TRACE_NO_LINK ? ZP_TRACE_NO_LINK : (uint16_t)link,
             .async = async != 0};
  /* a ring: the last element's `later` is the first */
  p->wait[w].later = last < 0 ? w : p->wait[last].later;
  if (last >= 0) p->wait[last].later = w;
  g->last_wait[m.place] = w + 1;
  link_wait(j, p, w);
}

static void end_wait(judge *j, player *p, int32_t w)
{
  unlink_wait(j, p, w);
  if (p->waits > 0) return;
  if (p->reader.state != ZP_TRACE_READING) zp_trace_gone(j, p);
  if (p->blocked) {
    p->blocked = 0;
    j->ready[j->n_ready++] = p->reader.rank;
  }
}

typedef struct detached { /* in a tree, by record */
  int64_t record;
  int32_t wait;
} detached;

static int by_record(const void *a, const void *b)
{
  const detached *x = a, *y = b;
  return x->record < y->record ? -1 : x->record > y->record;
}

/* Takes the element of a record out of the tree; its wait, or -1. */
static int32_t reattach(player *p, int64_t record)
{
  const detached key = {record, -1};
  detached *const *found = tfind(&key, &p->detached, by_record), *d;
  if (found == NULL) return -1;
  d = *found;
  const int32_t w = d->wait;
  tdelete(&key, &p->detached, by_record);
  free(d);
  return w;
}

void zp_trace_end_waits(judge *j, group *g, int32_t place, int64_t i)
{
  if (g->last_wait[place] == 0) return;
  player *p = &j->p[g->rank[place]];
  const int32_t last = g->last_wait[place] - 1, w = p->wait[last].later;
  if (p->wait[w].i != i) return;
  if (p->wait[w].live) end_wait(j, p, w);
  else (void)reattach(p, p->wait[w].at.record);
  if (w == last) g->last_wait[place] = 0;
  else p->wait[last].later = p->wait[w].later;
  p->wait[w].later = p->unused_wait;
  p->unused_wait = w + 1;
}

/* ---- Asynchronous operations for which the rank stopped waiting ------------------------------ */

void zp_trace_detach(judge *j, player *p, int32_t w)
{
  detached *d = zp_trace_grow(&j->failure, NULL, 0, 1, sizeof *d);
  *d = (detached){p->wait[w].at.record, w};
  if (tsearch(d, &p->detached, by_record) == NULL) {
    free(d);
    zp_trace_fail(&j->failure, ZP_E_MEMORY, "no memory for %zu bytes.", sizeof *d);
  }
  end_wait(j, p, w);
}

void zp_trace_wait_again(judge *j, player *p, int64_t record)
{
  const int32_t w = reattach(p, record);
  if (w < 0) return; /* it is complete, or the rank waits for it already */
  p->wait[w].async = 0;
  link_wait(j, p, w);
}

typedef struct listing {
  int32_t *wait, n, cap;
} listing;

static _Thread_local listing *listed; /* twalk_r, which passes it on, came with glibc 2.30 */

static void list_detached(const void *node, VISIT visit, int depth)
{
  const detached *d = *(detached *const *)node;
  listing *l = listed;
  (void)depth;
  if (visit != postorder && visit != leaf) return;
  if (l->n < l->cap) l->wait[l->n] = d->wait;
  l->n++;
}

/* Both lists are in the order of records, but for operations for which the rank waits again. */
int32_t zp_trace_open_waits(const player *p, int32_t *wait, int32_t cap)
{
  listing l = {wait, 0, cap};
  listed = &l;
  twalk(p->detached, list_detached);
  listed = NULL;
  int32_t w = p->waits > 0 ? p->last_wait : -1;
  while (w >= 0 && p->wait[w].prev >= 0 && p->wait[w].prev != w) w = p->wait[w].prev;
  for (; w >= 0; w = p->wait[w].next) {
    if (l.n < cap) wait[l.n] = w;
    l.n++;
  }
  return l.n;
}

void zp_trace_free_waits(player *p)
{
  tdestroy(p->detached, free);
  free(p->wait);
}
