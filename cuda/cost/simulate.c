#include "simulate.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS = 8 }; /* pieces that are active on a rank at a time: at most one a stream */

/* A piece of work that has begun. */
typedef struct piece {
  double left, since, rate; /* seconds of work left at time `since`, and how fast they pass */
  int32_t version;          /* events of earlier versions are void */
  int32_t active;           /* 1: it uses resources */
  int32_t waits;            /* 1: a communication in its latency: only its blocks are there */
  int64_t rank, ranks;      /* of member[]: the ranks that it runs on */
} piece;

typedef struct event {
  double time;
  int32_t node, version;
} event;

typedef struct active_set {
  int32_t n, dirty;
  int32_t node[STREAMS];
  double rate[STREAMS];
} active_set;

typedef struct simulation {
  const zp_hb_plan *p;
  const zp_work *work;
  zp_times times;
  double now;
  piece *piece;     /* [n] */
  int32_t *waits;   /* [n] predecessors that have not ended */
  int32_t *member;  /* ranks of all pieces */
  active_set *rank; /* [world] */
  int32_t *dirty;   /* [world] ranks whose active set has changed */
  int32_t n_dirty;
  int32_t *ended; /* [n] a stack: nodes that have ended now */
  int32_t n_ended;
  event *heap;
  int64_t n_heap, cap_heap;
  int32_t failed;
} simulation;

/* ---- Events ---------------------------------------------------------------------------------- */

/* Earlier, or at the same time of a smaller node: the order does not depend on the heap. */
static int is_before(const event *a, const event *b)
{
  return a->time < b->time || (a->time <= b->time && a->node < b->node);
}

static void push(simulation *s, double time, int32_t node)
{
  if (s->n_heap == s->cap_heap) {
    const int64_t cap = 2 * s->cap_heap + 64;
    event *more = realloc(s->heap, (size_t)cap * sizeof *more);
    if (!more) {
      s->failed = 1;
      return;
    }
    s->heap = more;
    s->cap_heap = cap;
  }
  int64_t i = s->n_heap++;
  const event e = {time, node, s->piece[node].version};
  for (; i > 0 && is_before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
    s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = e;
}

static event pop(simulation *s)
{
  const event top = s->heap[0], last = s->heap[--s->n_heap];
  int64_t i = 0;
  for (;;) {
    int64_t k = 2 * i + 1;
    if (k >= s->n_heap) break;
    if (k + 1 < s->n_heap && is_before(&s->heap[k + 1], &s->heap[k])) k++;
    if (!is_before(&s->heap[k], &last)) break;
    s->heap[i] = s->heap[k];
    i = k;
  }
  s->heap[i] = last;
  return top;
}

/* ---- Rates ----------------------------------------------------------------------------------- */

static void mark(simulation *s, int32_t rank)
{
  if (s->rank[rank].dirty) return;
  s->rank[rank].dirty = 1;
  s->dirty[s->n_dirty++] = rank;
}

/* What a piece takes of a resource for each second of progress; see share for a communication's
 * multiprocessors. */
static double uses(const simulation *s, int32_t node, int resource)
{
  const zp_work *w = &s->work[node];
  if (s->piece[node].waits || (w->comm && resource == ZP_USES_COMPUTE)) return 0;
  return w->use[resource];
}

/* Progressive filling. */
static void share(const simulation *s, active_set *a)
{
  double left[ZP_RESOURCES] = {1, 1}, level = 0;
  int32_t grows[STREAMS], growing = a->n;
  for (int32_t i = 0; i < a->n; i++) {
    const zp_work *w = &s->work[a->node[i]];
    grows[i] = 1;
    if (w->comm) left[ZP_USES_COMPUTE] -= w->use[ZP_USES_COMPUTE];
  }
  while (growing > 0) {
    double step = 1 - level;
    int full = -1;
    for (int k = 0; k < ZP_RESOURCES; k++) {
      double wanted = 0;
      for (int32_t i = 0; i < a->n; i++)
        if (grows[i]) wanted += uses(s, a->node[i], k);
      if (wanted > 0 && left[k] < step * wanted) {
        step = left[k] > 0 ? left[k] / wanted : 0;
        full = k;
      }
    }
    level += step;
    for (int32_t i = 0; i < a->n; i++) {
      if (!grows[i]) continue;
      for (int k = 0; k < ZP_RESOURCES; k++) left[k] -= step * uses(s, a->node[i], k);
      a->rate[i] = level;
    }
    for (int32_t i = 0; i < a->n; i++)
      if (grows[i] && (full < 0 || uses(s, a->node[i], full) > 0)) {
        grows[i] = 0;
        growing--;
      }
  }
}

static double rate_of(const simulation *s, int32_t node)
{
  const piece *x = &s->piece[node];
  double rate = 1;
  for (int64_t k = 0; k < x->ranks; k++) {
    const active_set *a = &s->rank[s->member[x->rank + k]];
    for (int32_t i = 0; i < a->n; i++)
      if (a->node[i] == node && a->rate[i] < rate) rate = a->rate[i];
  }
  return rate;
}

/* The end of a piece whose rate may have changed. */
static void set_rate(simulation *s, int32_t node)
{
  piece *x = &s->piece[node];
  const double rate = rate_of(s, node);
  if (x->rate == rate) return; /* the same number: the event that is waiting holds */
  x->left -= (s->now - x->since) * x->rate;
  if (x->left < 0) x->left = 0;
  x->since = s->now;
  x->rate = rate;
  x->version++;
  push(s, s->now + x->left / rate, node);
}

static void set_rates(simulation *s)
{
  for (int32_t i = 0; i < s->n_dirty; i++) share(s, &s->rank[s->dirty[i]]);
  for (int32_t i = 0; i < s->n_dirty; i++) {
    const active_set *a = &s->rank[s->dirty[i]];
    for (int32_t k = 0; k < a->n; k++) set_rate(s, a->node[k]);
  }
  for (int32_t i = 0; i < s->n_dirty; i++) s->rank[s->dirty[i]].dirty = 0;
  s->n_dirty = 0;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static void activate(simulation *s, int32_t node, double seconds)
{
  piece *x = &s->piece[node];
  x->left = seconds;
  x->since = s->now;
  x->rate = -1;
  if (x->active) { /* a communication whose latency is over */
    for (int64_t k = 0; k < x->ranks; k++) mark(s, s->member[x->rank + k]);
    return;
  }
  x->active = 1;
  for (int64_t k = 0; k < x->ranks; k++) {
    const int32_t r = s->member[x->rank + k];
    active_set *a = &s->rank[r];
    if (a->n == STREAMS) {
      s->failed = 1;
      return;
    }
    a->node[a->n++] = node;
    mark(s, r);
  }
}

static void deactivate(simulation *s, int32_t node)
{
  piece *x = &s->piece[node];
  x->active = 0;
  for (int64_t k = 0; k < x->ranks; k++) {
    const int32_t r = s->member[x->rank + k];
    active_set *a = &s->rank[r];
    int32_t i = 0;
    while (a->node[i] != node) i++;
    a->node[i] = a->node[--a->n];
    mark(s, r);
  }
}

static void begin(simulation *s, int32_t node)
{
  const zp_work *w = &s->work[node];
  s->times.begin[node] = s->now;
  if (w->fixed > 0 && w->comm) {
    s->piece[node].waits = 1;
    activate(s, node, w->fixed);
  } else if (w->fixed > 0) push(s, s->now + w->fixed, node);
  else if (w->seconds > 0) activate(s, node, w->seconds);
  else s->ended[s->n_ended++] = node;
}

/* A piece's fixed time is over, or its work. */
static void happen(simulation *s, event e)
{
  piece *x = &s->piece[e.node];
  if (x->version != e.version) return;
  x->version++;
  if ((!x->active || x->waits) && s->work[e.node].seconds > 0) {
    x->waits = 0;
    activate(s, e.node, s->work[e.node].seconds);
    return;
  }
  if (x->active) deactivate(s, e.node);
  s->ended[s->n_ended++] = e.node;
}

/* Ends what has ended now, and begins what waited for it. */
static void follow(simulation *s)
{
  const zp_hb_graph *g = &s->p->graph;
  while (s->n_ended > 0) {
    const int32_t v = s->ended[--s->n_ended];
    s->times.end[v] = s->now;
    for (int64_t k = g->first[v]; k < g->first[v + 1]; k++)
      if (--s->waits[g->edge[k].to] == 0) begin(s, g->edge[k].to);
  }
}

static void run(simulation *s)
{
  const zp_hb_graph *g = &s->p->graph;
  for (int32_t v = 0; v < g->n; v++)
    if (s->waits[v] == 0) begin(s, v);
  follow(s);
  set_rates(s);
  while (s->n_heap > 0 && !s->failed) {
    s->now = s->heap[0].time;
    while (s->n_heap > 0 && s->heap[0].time <= s->now) happen(s, pop(s));
    follow(s);
    set_rates(s);
  }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The ranks that each piece runs on: a communication on those of its members. */
static void find_ranks(simulation *s)
{
  const zp_hb_graph *g = &s->p->graph;
  int64_t n = 0;
  for (int32_t v = 0; v < g->n; v++) {
    piece *x = &s->piece[v];
    x->rank = n;
    if (s->p->node[v].chain >= 0) s->member[n++] = s->p->node[v].rank;
    else
      for (int64_t k = g->first[v]; k < g->first[v + 1]; k++)
        s->member[n++] = s->p->node[g->edge[k].to].rank;
    x->ranks = n - x->rank;
  }
}

static void simulation_close(simulation *s)
{
  free(s->piece);
  free(s->waits);
  free(s->member);
  free(s->rank);
  free(s->dirty);
  free(s->ended);
  free(s->heap);
}

static int simulation_open(simulation *s)
{
  const zp_hb_graph *g = &s->p->graph;
  const size_t n = (size_t)g->n + 1, world = (size_t)s->p->world;
  s->piece = calloc(n, sizeof *s->piece);
  s->waits = calloc(n, sizeof *s->waits);
  s->member = calloc(n + (size_t)g->edges, sizeof *s->member);
  s->rank = calloc(world, sizeof *s->rank);
  s->dirty = calloc(world, sizeof *s->dirty);
  s->ended = calloc(n, sizeof *s->ended);
  if (!s->piece || !s->waits || !s->member || !s->rank || !s->dirty || !s->ended) return -1;
  for (int64_t k = 0; k < g->edges; k++) s->waits[g->edge[k].to]++;
  find_ranks(s);
  return 0;
}

int zp_simulate(const zp_hb_plan *p, const zp_work *work, const zp_times *times)
{
  simulation s = {.p = p, .work = work, .times = *times};
  int failed = simulation_open(&s);
  if (!failed) {
    run(&s);
    failed = s.failed ? -1 : 0;
  }
  simulation_close(&s);
  return failed;
}
