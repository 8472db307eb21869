/* The replay of the windows. An operation blocks until all members of its team have entered it; an
 * asynchronous one blocks only the wait for it. What is left at the end are contradictions: members
 * that entered different operations, ranks that wait in a cycle, and ranks that ended although
 * others wait for them. A rank whose trace was cut while it waited is no contradiction: nothing is
 * known about what it would have entered next. conformance/TRACE.md */
#include <string.h>

#include "explain.h"

/* ---- The replay ------------------------------------------------------------------------------ */

int zp_explain_complete(const explain *x, int32_t m)
{
  return x->match[m].entered >= x->team[x->match[m].team].members;
}

int zp_explain_entered(const explain *x, int32_t m, int32_t place)
{
  const team *t = &x->team[x->match[m].team];
  return x->pos[t->first_pos + place] > m - t->first_match;
}

int32_t zp_explain_event_in(const explain *x, int32_t rank, int32_t m)
{
  const track *t = &x->track[rank];
  for (int32_t i = 0; i < t->n; i++)
    if (t->event[i].kind == EVENT_OP && t->match[i] == m + 1) return i;
  return -1;
}

static void add_trouble(explain *x, trouble t)
{
  x->left++;
  if (x->troubles < EXPLAIN_TROUBLES) x->trouble[x->troubles++] = t;
}

static void complete(explain *x, int32_t m)
{
  const team *t = &x->team[x->match[m].team];
  for (int32_t q = 0; q < t->size; q++) {
    if (t->rank[q] < 0) continue;
    track *other = &x->track[t->rank[q]];
    if (other->state != TRACK_WAITS || other->on != m) continue;
    other->state = TRACK_RUNS;
    x->ready[x->n_ready++] = t->rank[q];
  }
}

/* Enters the operation of event i of a track. */
static void enter(explain *x, track *r, int32_t i)
{
  const event *e = &r->event[i];
  team *t = &x->team[e->team];
  r->match[i] = -1;
  if (t->loose || t->members < 2) return;
  const int32_t k = x->pos[t->first_pos + e->place];
  if (k >= t->matches) return;
  x->pos[t->first_pos + e->place]++;
  const int32_t at = t->first_match + k;
  match *m = &x->match[at];
  r->match[i] = at + 1;
  if (m->entered == 0) {
    m->sig = e->sig;
    m->team = e->team;
  } else if (zp_trace_same(&m->sig, &e->sig)) {
    if (m->sig.count < 0) m->sig.count = e->sig.count;
    if (m->sig.dtype == 0) m->sig.dtype = e->sig.dtype;
    if (m->sig.redop == 0) m->sig.redop = e->sig.redop;
    if (m->sig.op < ZP_TRACE_SEND && m->sig.root < 0) m->sig.root = e->sig.root;
  } else if (!m->differs) {
    m->differs = 1;
    add_trouble(x, (trouble){TROUBLE_MISMATCH, at, -1, 0, 0});
  }
  if (++m->entered == t->members) complete(x, at);
}

static int is_open(const explain *x, const track *t, int32_t i)
{
  return t->match[i] > 0 && !zp_explain_complete(x, t->match[i] - 1);
}

/* The first operation that is not complete, of those for which the rank waits at its next event;
 * -1: it does not wait. */
static int32_t waits_on(const explain *x, const track *t)
{
  const event *e = &t->event[t->pc];
  int32_t from = t->pc, to = t->pc + 1;
  if (e->kind == EVENT_WAIT) from = e->of, to = e->of + 1;
  else if (e->kind == EVENT_CALL_END) from = e->of, to = t->pc;
  else if (e->kind != EVENT_OP || e->async || t->in_call) return -1;
  if (from < 0) return -1;
  for (int32_t i = from; i < to; i++)
    if (t->event[i].kind == EVENT_OP && (to == from + 1 || !t->event[i].async) && is_open(x, t, i))
      return i;
  return -1;
}

static void run(explain *x, int32_t rank)
{
  track *t = &x->track[rank];
  for (; t->pc < t->n; t->pc++, x->done++) {
    const event *e = &t->event[t->pc];
    if (e->kind == EVENT_OP && t->match[t->pc] == 0) enter(x, t, t->pc);
    if (e->kind == EVENT_CALL) t->in_call = 1;
    const int32_t open = waits_on(x, t);
    if (open >= 0) {
      t->on = t->match[open] - 1;
      t->state = TRACK_WAITS;
      return;
    }
    if (e->kind == EVENT_CALL_END) t->in_call = 0;
  }
  t->state = TRACK_DONE;
}

void zp_explain_replay(explain *x)
{
  x->troubles = x->left = x->n_ready = x->cycles = 0;
  x->done = 0;
  memset(x->pos, 0, (size_t)x->positions * sizeof *x->pos);
  memset(x->match, 0, (size_t)x->matches * sizeof *x->match);
  for (int32_t r = x->world; r-- > 0;) {
    track *t = &x->track[r];
    t->pc = 0;
    t->in_call = 0;
    t->state = TRACK_RUNS;
    if (t->n > 0) memset(t->match, 0, (size_t)t->n * sizeof *t->match);
    x->ready[x->n_ready++] = r;
  }
  while (x->n_ready > 0) run(x, x->ready[--x->n_ready]);
  x->spent += x->done + x->matches + x->world;
}

/* ---- What is left ---------------------------------------------------------------------------- */

/* A rank whose trace was cut while it waited: nothing is known about the rest. */
void zp_explain_endings(explain *x)
{
  for (int32_t r = 0; r < x->world; r++) {
    track *t = &x->track[r];
    if (t->n == 0 || t->ending == END_UNKNOWN || t->ending == END_DAMAGED) continue;
    const event *last = &t->event[t->n - 1];
    int waited = t->state == TRACK_WAITS;
    if (waited && t->pc < t->n - 1)
      waited =
          t->ending != END_NORMAL && (last->kind == EVENT_WAIT || last->kind == EVENT_CALL_END ||
                                      (last->kind == EVENT_OP && !last->async));
    int32_t i = last->kind == EVENT_WAIT || last->kind == EVENT_CALL_END ? last->of : t->n - 1;
    const int32_t to = last->kind == EVENT_WAIT ? i + 1 : t->n;
    /* operations that differ may block all members */
    for (; t->ending != END_NORMAL && i >= 0 && i < to; i++)
      waited |=
          t->event[i].kind == EVENT_OP && t->match[i] > 0 && x->match[t->match[i] - 1].differs;
    if (waited) t->ending = END_UNKNOWN;
  }
}

/* Marks the operations that a rank left open: no other rank may have completed without them. */
static void mark_open(explain *x)
{
  int completed = 0;
  for (int32_t r = 0; r < x->world; r++) completed |= x->track[r].ending == END_NORMAL;
  for (int32_t r = 0; r < x->world && completed; r++) {
    const track *t = &x->track[r];
    for (int32_t i = 0; i < t->n && i <= t->pc; i++)
      if (t->event[i].kind == EVENT_OP && is_open(x, t, i))
        x->match[t->match[i] - 1].awaited = AWAITED_IF_COMPLETED;
  }
}

/* Marks the operations for which a rank waits at the end: also those that a rank left open. */
static void mark_awaited(explain *x)
{
  mark_open(x);
  for (int32_t r = 0; r < x->world; r++) {
    const track *t = &x->track[r];
    int32_t from = 0, to = 0;
    if (t->state == TRACK_WAITS) {
      x->match[t->on].awaited = AWAITED;
      if (t->event[t->pc].kind == EVENT_CALL_END) from = t->event[t->pc].of, to = t->pc;
    } else if (t->ending == END_NORMAL) to = t->n;
    for (int32_t i = from < 0 ? 0 : from; i < to; i++)
      if (t->event[i].kind == EVENT_OP && is_open(x, t, i))
        x->match[t->match[i] - 1].awaited = AWAITED;
  }
}

static int has_ended(const track *t)
{
  return t->state == TRACK_DONE && t->ending != END_UNKNOWN;
}

static void find_ended(explain *x)
{
  memset(x->counted, 0, (size_t)x->world);
  for (int32_t m = 0; m < x->matches; m++) {
    if (!x->match[m].awaited) continue;
    const team *t = &x->team[x->match[m].team];
    for (int32_t q = 0; q < t->size; q++) {
      const int32_t r = t->rank[q];
      if (r < 0 || x->counted[r] || zp_explain_entered(x, m, q) || !has_ended(&x->track[r]))
        continue;
      if (x->match[m].awaited != AWAITED && x->track[r].ending != END_NORMAL) continue;
      x->counted[r] = 1;
      add_trouble(x, (trouble){TROUBLE_ENDED, m, r, 0, 0});
    }
  }
}

/* ---- Cycles: strongly connected components of ranks and the operations they wait for ---- */

/* The next node for which node v waits, or -1. A rank waits for operations, and an operation for
 * the ranks that have not entered it. */
static int32_t next_node(explain *x, int32_t v)
{
  if (v < x->world) {
    const track *t = &x->track[v];
    if (t->state != TRACK_WAITS) return -1;
    if (t->event[t->pc].kind != EVENT_CALL_END)
      return x->iterator[v]++ == 0 ? x->world + t->on : -1;
    for (int32_t i = t->event[t->pc].of + x->iterator[v]; i < t->pc; i++) {
      x->iterator[v]++;
      if (t->event[i].kind == EVENT_OP && !t->event[i].async && is_open(x, t, i))
        return x->world + t->match[i] - 1;
    }
    return -1;
  }
  const int32_t m = v - x->world;
  const team *t = &x->team[x->match[m].team];
  while (x->iterator[v] < t->size) {
    const int32_t q = x->iterator[v]++;
    if (t->rank[q] >= 0 && !zp_explain_entered(x, m, q)) return t->rank[q];
  }
  return -1;
}

typedef struct search {
  int32_t stacked, frames, next;
} search;

/* Takes a component off the stack. Its ranks form a cycle if there are several nodes. */
static void take_component(explain *x, search *s, int32_t v)
{
  const int32_t first = x->cycles;
  int32_t m = -1, w;
  do {
    w = x->stack[--s->stacked];
    x->on_stack[w] = 0;
    if (w < x->world) x->cycle[x->cycles++] = w;
    else m = w - x->world;
  } while (w != v);
  if (x->cycles - first > 0 && m >= 0)
    add_trouble(x, (trouble){TROUBLE_CYCLE, m, -1, first, x->cycles - first});
  else x->cycles = first;
}

static void push(explain *x, search *s, int32_t v)
{
  x->index[v] = x->low[v] = ++s->next;
  x->iterator[v] = 0;
  x->stack[s->stacked++] = v;
  x->on_stack[v] = 1;
  x->frame[s->frames++] = v;
}

static void visit(explain *x, search *s, int32_t root)
{
  push(x, s, root);
  while (s->frames > 0) {
    const int32_t v = x->frame[s->frames - 1], w = next_node(x, v);
    if (w >= 0 && x->index[w] == 0) push(x, s, w);
    else if (w >= 0) {
      if (x->on_stack[w] && x->index[w] < x->low[v]) x->low[v] = x->index[w];
    } else {
      s->frames--;
      if (s->frames > 0 && x->low[v] < x->low[x->frame[s->frames - 1]])
        x->low[x->frame[s->frames - 1]] = x->low[v];
      if (x->low[v] == x->index[v]) take_component(x, s, v);
    }
  }
}

static void find_cycles(explain *x)
{
  search s = {0};
  memset(x->index, 0, ((size_t)x->world + (size_t)x->matches) * sizeof *x->index);
  for (int32_t r = 0; r < x->world; r++)
    if (x->track[r].state == TRACK_WAITS && x->index[r] == 0) visit(x, &s, r);
}

void zp_explain_judge(explain *x)
{
  mark_awaited(x);
  find_cycles(x);
  find_ended(x);
}
