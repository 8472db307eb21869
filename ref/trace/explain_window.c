/* The windows of the search for causes: of each rank, the operations that are not complete, and the
 * records that follow, as events. conformance/TRACE.md */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "explain.h"

/* Events of all windows; of one window, at least and at most; members of all teams. */
enum { EVENTS = 1 << 19, LEAST = 8, MOST = 4096, MEMBERS = 1 << 22 };

/* ---- Names ----------------------------------------------------------------------------------- */

/* The one copy of a text; NULL if it is empty. */
static const char *intern(explain *x, const char *text)
{
  if (text == NULL || text[0] == 0) return NULL;
  if (2 * x->texts >= x->texts_cap) {
    const int32_t n = x->texts_cap ? 2 * x->texts_cap : 256;
    const char **table = zp_explain_take(x, (size_t)n * sizeof *table);
    for (int32_t i = 0; i < x->texts_cap; i++) {
      if (x->text[i] == NULL) continue;
      uint32_t k = (uint32_t)XXH3_64bits(x->text[i], strlen(x->text[i]));
      while (table[k & (uint32_t)(n - 1)] != NULL) k++;
      table[k & (uint32_t)(n - 1)] = x->text[i];
    }
    x->text = table;
    x->texts_cap = n;
  }
  const uint32_t mask = (uint32_t)x->texts_cap - 1;
  uint32_t k = (uint32_t)XXH3_64bits(text, strlen(text)) & mask;
  for (; x->text[k] != NULL; k = (k + 1) & mask)
    if (strcmp(x->text[k], text) == 0) return x->text[k];
  char *copy = zp_explain_take(x, strlen(text) + 1);
  strcpy(copy, text);
  x->texts++;
  return x->text[k] = copy;
}

/* ---- Teams ----------------------------------------------------------------------------------- */

static int32_t new_team(explain *x, const char *key, int32_t size)
{
  zp_trace_failure *f = &x->j->failure;
  if (x->teams == x->teams_cap) {
    const int32_t n = x->teams_cap ? 2 * x->teams_cap : 64;
    x->team = zp_trace_grow(f, x->team, (size_t)x->teams_cap, (size_t)n, sizeof *x->team);
    x->teams_cap = n;
  }
  team *t = &x->team[x->teams];
  *t = (team){.key = key, .parent = -1, .size = size};
  x->members += size;
  if (x->members <= MEMBERS) {
    t->rank = zp_explain_take(x, (size_t)size * sizeof *t->rank);
    for (int32_t q = 0; q < size; q++) t->rank[q] = -1;
  } else t->size = 0;
  return x->teams++;
}

static void fill_team(explain *x, int32_t at, const group *g)
{
  team *t = &x->team[at];
  t->known = g;
  for (int32_t q = 0; q < t->size; q++)
    t->rank[q] = g->absent[q] || g->rank[q] >= x->world ? -1 : g->rank[q];
}

static int32_t team_of(explain *x, const group *g)
{
  if (x->team_of[g->index] != 0) return x->team_of[g->index] - 1;
  const int32_t parent = g->parent == NULL ? -1 : team_of(x, g->parent);
  const int32_t at = new_team(x, g->parent == NULL ? g->key : g->parent->key, g->size);
  fill_team(x, at, g);
  x->team[at].parent = parent;
  x->team[at].from = g->from;
  x->team[at].to = g->to;
  x->team_of[g->index] = at + 1;
  return at;
}

static uint32_t hash_of(const char *key, int32_t parent, int32_t from, int32_t to)
{
  const int32_t places[3] = {parent, from, to};
  return (uint32_t)(parent < 0 ? XXH3_64bits(key, strlen(key))
                               : XXH3_64bits(places, sizeof places));
}

/* The slot of a team that only the windows have: a group by its key, or a pair of a team. */
static int32_t *slot_of(explain *x, const char *key, int32_t parent, int32_t from, int32_t to)
{
  if (2 * x->slots_used >= x->slots) {
    const int32_t n = x->slots ? 2 * x->slots : 256, *old = x->slot;
    int32_t *table = zp_explain_take(x, (size_t)n * sizeof *table);
    for (int32_t i = 0; i < x->slots; i++) {
      if (old[i] == 0) continue;
      const team *t = &x->team[old[i] - 1];
      uint32_t k = hash_of(t->key, t->parent, t->from, t->to);
      while (table[k & (uint32_t)(n - 1)] != 0) k++;
      table[k & (uint32_t)(n - 1)] = old[i];
    }
    x->slot = table;
    x->slots = n;
  }
  const uint32_t mask = (uint32_t)x->slots - 1;
  uint32_t k = hash_of(key, parent, from, to) & mask;
  for (; x->slot[k] != 0; k = (k + 1) & mask) {
    const team *t = &x->team[x->slot[k] - 1];
    if (t->parent == parent &&
        (parent < 0 ? strcmp(t->key, key) == 0 : t->from == from && t->to == to))
      break;
  }
  return &x->slot[k];
}

static int32_t pair_of(explain *x, int32_t parent, int32_t from, int32_t to)
{
  const team *p = &x->team[parent];
  if (from < 0 || to < 0 || from >= p->size || to >= p->size) return -1;
  const group *g = p->known ? zp_trace_find_pair(x->j, p->known, from, to) : NULL;
  if (g != NULL) return team_of(x, g);
  int32_t *slot = slot_of(x, p->key, parent, from, to);
  if (*slot != 0) return *slot - 1;
  const int32_t at = new_team(x, p->key, 2);
  team *t = &x->team[at];
  t->parent = parent;
  t->from = from;
  t->to = to;
  if (t->size == 2) {
    t->rank[0] = x->team[parent].rank[from];
    t->rank[1] = x->team[parent].rank[to];
  }
  x->slots_used++;
  *slot = at + 1;
  return at;
}

/* The team that an item of a window defines, and the place of the rank; -1: it is not judged. */
static int32_t join(explain *x, const zp_trace_item *item, int32_t rank, int32_t *place)
{
  *place = item->place >= 0 ? item->place : zp_trace_listed_position(item, rank);
  if (item->size == 0 || item->size > x->world || *place < 0 || *place >= item->size) return -1;
  const group *g = zp_trace_find_group(x->j, item->name);
  int32_t at;
  if (g != NULL) at = team_of(x, g);
  else {
    int32_t *slot = slot_of(x, item->name, -1, 0, 0);
    if (*slot == 0) {
      const int32_t made = new_team(x, intern(x, item->name), item->size);
      x->slots_used++;
      *slot = made + 1;
    }
    at = *slot - 1;
  }
  team *t = &x->team[at];
  if (t->size != item->size) return -1;
  int32_t q = 0;
  for (int32_t i = 0; i < item->runs; i++)
    for (int32_t k = 0; k < item->run[i].length; k++, q++)
      if (t->rank[q] < 0 && (g == NULL || !g->absent[q]))
        t->rank[q] = item->run[i].first + k * item->run[i].stride;
  if (t->rank[*place] < 0) t->rank[*place] = rank;
  return t->rank[*place] == rank ? at : -1;
}

/* ---- One window ------------------------------------------------------------------------------ */

typedef struct named { /* a group that the window defines */
  int64_t id;
  int32_t team, place;
} named;

typedef struct builder {
  explain *x;
  player *p;
  event *event;
  int32_t n, cap, call;
  int64_t step;
  named *named;
  int32_t names, names_cap;
  int32_t *wait;
} builder;

static event *add(builder *b, event_kind kind, int64_t record)
{
  event *e = &b->event[b->n++];
  *e = (event){.kind = (uint8_t)kind, .team = -1, .of = -1, .at = {record, b->step}};
  return e;
}

/* Fills in an operation of a place of a team. */
static void fill(builder *b, event *e, int32_t at, int32_t place, const zp_trace_def *d,
                 const zp_trace_reader *r)
{
  explain *x = b->x;
  e->sig = d->sig;
  e->async = (d->sig.flags & ZP_TRACE_ASYNC) != 0;
  e->site = intern(x, zp_trace_text(r, &r->sites, d->site));
  e->phase = intern(x, zp_trace_text(r, &r->phases, d->phase));
  e->team = at;
  e->place = place;
  if (at < 0 || d->group < 0) return;
  team *t = &x->team[x->team[at].parent < 0 ? at : x->team[at].parent];
  if (t->label == NULL) t->label = intern(x, zp_trace_text(r, &r->labels, d->group));
}

/* The definition of an operation of a group. A receive from any source has the source that the
 * trace recorded. */
static zp_trace_def linked_def(const player *p, int32_t link, const group *g)
{
  zp_trace_def d = p->known[link];
  if ((d.sig.flags & ZP_TRACE_ANY) && g->parent != NULL) {
    d.sig.root = g->from;
    d.sig.flags &= (uint8_t)~ZP_TRACE_ANY;
  }
  return d;
}

/* The definition of an operation that is not complete. */
static zp_trace_def def_of(const player *p, const wait *w)
{
  if (w->link != ZP_TRACE_NO_LINK) return linked_def(p, w->link, w->g);
  const inst *i = zp_trace_inst(w->g, w->i);
  zp_trace_def d = {.sig = i->n_odd > 0 && i->odd_first == p->reader.rank ? i->odd : i->sig,
                    .group = -1};
  d.sig.flags &= (uint8_t)~ZP_TRACE_VARIED;
  return d;
}

static int by_record(const void *a, const void *b, void *waits)
{
  const wait *w = waits;
  const int64_t p = w[*(const int32_t *)a].at.record, q = w[*(const int32_t *)b].at.record;
  return p < q ? -1 : p > q;
}

/* The link of the operation that completes others, or -1. */
static int32_t entering_link(const judge *j)
{
  const player *p = j->entering;
  if (j->entering_link > 0) return j->entering_link - 1;
  const int32_t link = p->past_n == 0 ? -1 : p->past[(p->past_n - 1) & (p->past_cap - 1)];
  return link >= 0 && p->link[link].g == j->entered.g ? link : -1;
}

/* The operations that the rank has entered and that are not complete. They precede the waits for
 * them, as later ones may have been entered before the rank waited. Returns 0 if there are too
 * many. */
static int add_open(builder *b)
{
  player *p = b->p;
  const judge *j = b->x->j;
  int32_t all = zp_trace_open_waits(p, b->wait, b->x->limit), waits = 0;
  const int32_t n = all < b->x->limit ? all : b->x->limit;
  int calls = 0;
  qsort_r(b->wait, (size_t)n, sizeof *b->wait, by_record, p->wait);
  for (int32_t k = 0; k < n; k++) {
    const wait *w = &p->wait[b->wait[k]];
    const int waits_for = w->live && !w->async;
    if (waits_for && p->in_call && !calls++) b->call = b->n, add(b, EVENT_CALL, -1);
    event *e = add(b, EVENT_OP, w->at.record);
    const zp_trace_def d = def_of(p, w);
    fill(b, e, team_of(b->x, w->g), w->place, &d, &p->reader);
    e->at = w->at;
    e->async = !(waits_for && p->in_call);
    if (waits_for && !p->in_call) b->wait[waits++] = b->n - 1;
  }
  if (j->entering == p && j->entered.g != NULL) {
    if (p->in_call && !calls++) b->call = b->n, add(b, EVENT_CALL, -1);
    event *e = add(b, EVENT_OP, p->reader.records - 1);
    const int32_t link = entering_link(j);
    zp_trace_def d = {.sig = *j->entering_sig, .group = -1};
    if (link >= 0) d = linked_def(p, link, j->entered.g);
    fill(b, e, team_of(b->x, j->entered.g), j->entered.place, &d, &p->reader);
    if (!e->async && !p->in_call) e->async = 1, b->wait[waits++] = b->n - 1;
  }
  if (p->in_call && !calls) b->call = b->n, add(b, EVENT_CALL, -1);
  for (int32_t k = 0; k < waits; k++) add(b, EVENT_WAIT, -1)->of = b->wait[k];
  return all == n;
}

static void copy_texts(explain *x, zp_trace_texts *to, const zp_trace_texts *from)
{
  if (from->n == 0) return;
  *to = (zp_trace_texts){.n = from->n, .cap = from->n};
  to->at = zp_trace_grow(&x->j->failure, NULL, 0, (size_t)from->n, sizeof *to->at);
  memcpy(to->at, from->at, (size_t)from->n * sizeof *to->at);
}

static void fork_reader(explain *x, const zp_trace_reader *r)
{
  enum { BUFFER = 16384 };
  zp_trace_failure *f = &x->j->failure;
  zp_trace_close(&x->reader);
  x->reader = (zp_trace_reader){.failure = f,
                                .dir = r->dir,
                                .rank = r->rank,
                                .world = r->world,
                                .at = r->at,
                                .have = r->have,
                                .offset = r->offset,
                                .records = r->records,
                                .bytes = r->bytes,
                                .state = r->state,
                                .site = r->site,
                                .exit = r->exit};
  copy_texts(x, &x->reader.phases, &r->phases);
  copy_texts(x, &x->reader.sites, &r->sites);
  copy_texts(x, &x->reader.labels, &r->labels);
  if (r->text_n > 0) {
    x->reader.text = zp_trace_grow(f, NULL, 0, (size_t)r->text_n, 1);
    memcpy(x->reader.text, r->text, (size_t)r->text_n);
    x->reader.text_n = x->reader.text_cap = r->text_n;
  }
  if (r->buffer == NULL) return;
  x->reader.buffer = zp_trace_grow(f, NULL, 0, BUFFER, 1);
  memcpy(x->reader.buffer, r->buffer, (size_t)r->have);
  if (r->defs == 0) return;
  x->reader.def = zp_trace_grow(f, NULL, 0, (size_t)r->defs, sizeof *r->def);
  memcpy(x->reader.def, r->def, (size_t)r->defs * sizeof *r->def);
  x->reader.defs = r->defs;
}

static void add_op(builder *b, const zp_trace_def *d)
{
  const player *p = b->p;
  explain *x = b->x;
  event *e = add(b, EVENT_NONE, x->reader.records - 1);
  int32_t at = -1, place = -1;
  for (int32_t k = b->names; k-- > 0 && place < 0;)
    if (b->named[k].id == d->group) at = b->named[k].team, place = b->named[k].place;
  if (d->link >= 0) {
    const member m = p->link[d->link];
    if (m.g == NULL) return;
    fill(b, e, team_of(x, m.g), m.place, d, &x->reader);
    e->kind = (d->sig.flags & ZP_TRACE_ANY) ? EVENT_NONE : EVENT_OP;
    return;
  }
  if (place < 0 && d->group < p->groups && p->group[d->group].g != NULL) {
    at = team_of(x, p->group[d->group].g);
    place = p->group[d->group].place;
  }
  if (at < 0) return;
  fill(b, e, at, place, d, &x->reader);
  if (d->sig.flags & ZP_TRACE_ANY) return;
  if (d->sig.op >= ZP_TRACE_SEND) {
    const int sends = d->sig.op == ZP_TRACE_SEND;
    e->team = pair_of(x, at, sends ? place : d->sig.root, sends ? d->sig.root : place);
    e->place = !sends;
  }
  if (e->team >= 0) e->kind = EVENT_OP;
}

/* The event of a record, or -1. */
static int32_t find_record(const builder *b, int64_t record)
{
  for (int32_t i = b->n; i-- > 0;)
    if (b->event[i].kind <= EVENT_NONE && b->event[i].at.record == record &&
        b->event[i].kind != EVENT_WAIT && b->event[i].kind != EVENT_STEP)
      return i;
  return -1;
}

/* The source of a receive: it is an operation of a pair from then on. */
static void add_source(builder *b, int64_t record, int32_t place)
{
  int32_t i = find_record(b, record);
  event *e = i >= 0 ? &b->event[i] : NULL;
  if (e == NULL) {
    for (int32_t k = 0; k < b->p->anys; k++) {
      const any *a = &b->p->any[k];
      if (a->at.record != record || a->m.g == NULL) continue;
      e = add(b, EVENT_NONE, record);
      fill(b, e, team_of(b->x, a->m.g), a->m.place, &b->p->known[a->link], &b->x->reader);
      break;
    }
  }
  if (e == NULL || e->team < 0 || !(e->sig.flags & ZP_TRACE_ANY)) return;
  const int32_t pair = pair_of(b->x, e->team, place, e->place);
  if (pair < 0) return;
  e->kind = EVENT_OP;
  e->async = 1;
  e->team = pair;
  e->place = 1;
  e->sig.root = place;
  e->sig.flags &= (uint8_t)~ZP_TRACE_ANY;
}

static void add_item(builder *b, const zp_trace_item *item)
{
  explain *x = b->x;
  switch (item->kind) {
  case ZP_TRACE_OP: add_op(b, item->op); break;
  case ZP_TRACE_CALL:
    b->call = b->n;
    add(b, EVENT_CALL, -1);
    break;
  case ZP_TRACE_CALL_END: add(b, EVENT_CALL_END, -1)->of = b->call; break;
  case ZP_TRACE_WAIT: {
    const int32_t of = find_record(b, x->reader.records - item->number);
    if (of >= 0 && b->event[of].kind == EVENT_OP) add(b, EVENT_WAIT, -1)->of = of;
    break;
  }
  case ZP_TRACE_SOURCE: add_source(b, x->reader.records - item->number, item->source); break;
  case ZP_TRACE_STEP:
    b->step = item->number;
    add(b, EVENT_STEP, -1);
    break;
  case ZP_TRACE_GROUP:
    if (b->names == b->names_cap) {
      const int32_t n = b->names_cap ? 2 * b->names_cap : 8;
      named *more = zp_explain_take(x, (size_t)n * sizeof *more);
      if (b->names > 0) memcpy(more, b->named, (size_t)b->names * sizeof *more);
      b->named = more;
      b->names_cap = n;
    }
    named *d = &b->named[b->names++];
    d->id = item->number;
    d->team = join(x, item, b->p->reader.rank, &d->place);
    if (d->place < 0) d->place = 0;
    break;
  default: break;
  }
}

static void build(builder *b, int32_t rank)
{
  explain *x = b->x;
  track *t = &x->track[rank];
  zp_trace_item *item = &x->j->item;
  b->p = &x->j->p[rank];
  b->n = b->call = b->names = 0;
  b->step = b->p->step;
  if (b->p->reader.state == ZP_TRACE_MISSING) return;
  const int whole = add_open(b);
  t->head = b->n;
  fork_reader(x, &b->p->reader);
  const int32_t most = b->n + x->limit;
  int more = whole;
  while (more && b->n < most && (more = zp_trace_next(&x->reader, item)) != 0) add_item(b, item);
  t->ending = END_UNKNOWN;
  if (!whole || more) x->cut = 1;
  else if (x->reader.exit.how != ZP_TRACE_NO_EXIT) t->ending = END_EXIT;
  else
    t->ending = x->reader.state == ZP_TRACE_ENDED     ? END_NORMAL
                : x->reader.state == ZP_TRACE_DAMAGED ? END_DAMAGED
                                                      : END_STOPPED;
  t->exit = x->reader.exit;
  t->mark = t->ending == END_NORMAL;
  t->n = b->n;
  t->event = zp_explain_take(x, (size_t)b->n * sizeof *t->event + 1);
  memcpy(t->event, b->event, (size_t)b->n * sizeof *t->event);
  t->match = zp_explain_take(x, (size_t)b->n * sizeof *t->match + 1);
}

/* ---- All windows ----------------------------------------------------------------------------- */

/* Pairs to a place that receives from any source are not matched. */
static void loosen(explain *x)
{
  for (int32_t r = 0; r < x->world; r++) {
    const track *t = &x->track[r];
    const player *p = &x->j->p[r];
    int any_source = p->any_open > 0;
    for (int32_t i = 0; i < t->n; i++)
      any_source |= t->event[i].kind == EVENT_NONE && (t->event[i].sig.flags & ZP_TRACE_ANY);
    x->counted[r] = any_source != 0;
  }
  for (int32_t i = 0; i < x->teams; i++) {
    team *t = &x->team[i];
    if (t->parent >= 0 && t->size == 2 && t->rank[1] >= 0) t->loose = x->counted[t->rank[1]];
  }
  memset(x->counted, 0, (size_t)x->world);
}

/* The number of matches of each team, with room for operations that edits insert. */
static void count(explain *x)
{
  zp_trace_failure *f = &x->j->failure;
  for (int32_t i = 0; i < x->teams; i++) {
    team *t = &x->team[i];
    t->first_pos = x->positions;
    x->positions += t->size;
    for (int32_t q = 0; q < t->size; q++) t->members += t->rank[q] >= 0;
  }
  x->pos = zp_trace_grow(f, NULL, 0, (size_t)x->positions + 1, sizeof *x->pos);
  for (int32_t r = 0; r < x->world; r++)
    for (int32_t i = 0; i < x->track[r].n; i++) {
      const event *e = &x->track[r].event[i];
      if (e->kind != EVENT_OP) continue;
      team *t = &x->team[e->team];
      const int32_t n = ++x->pos[t->first_pos + e->place];
      if (n > t->matches) t->matches = n;
    }
  for (int32_t i = 0; i < x->teams; i++) {
    x->team[i].first_match = x->matches;
    x->team[i].matches += EXPLAIN_EDITS;
    x->matches += x->team[i].matches;
  }
}

int zp_explain_windows(explain *x)
{
  judge *j = x->j;
  zp_trace_failure *f = &j->failure;
  int32_t files = 1;
  for (int32_t r = 0; r < x->world; r++) files += j->p[r].reader.state != ZP_TRACE_MISSING;
  x->limit = EVENTS / files < LEAST ? LEAST : EVENTS / files > MOST ? MOST : EVENTS / files;
  x->track = zp_trace_grow(f, NULL, 0, (size_t)x->world, sizeof *x->track);
  x->counted = zp_trace_grow(f, NULL, 0, (size_t)x->world, 1);
  x->team_of = zp_trace_grow(f, NULL, 0, (size_t)j->groups + 1, sizeof *x->team_of);
  builder b = {.x = x, .cap = 3 * x->limit + 16};
  b.event = zp_explain_take(x, (size_t)b.cap * sizeof *b.event);
  b.wait = zp_explain_take(x, ((size_t)x->limit + 1) * sizeof *b.wait);
  for (int32_t r = 0; r < x->world && x->members <= MEMBERS; r++) build(&b, r);
  if (x->members > MEMBERS) return 0;
  loosen(x);
  count(x);
  const size_t nodes = (size_t)x->world + (size_t)x->matches;
  x->match = zp_trace_grow(f, NULL, 0, (size_t)x->matches + 1, sizeof *x->match);
  x->ready = zp_trace_grow(f, NULL, 0, (size_t)x->world, sizeof *x->ready);
  x->cycle = zp_trace_grow(f, NULL, 0, (size_t)x->world, sizeof *x->cycle);
  x->low = zp_trace_grow(f, NULL, 0, nodes, sizeof *x->low);
  x->index = zp_trace_grow(f, NULL, 0, nodes, sizeof *x->index);
  x->stack = zp_trace_grow(f, NULL, 0, nodes, sizeof *x->stack);
  x->iterator = zp_trace_grow(f, NULL, 0, nodes, sizeof *x->iterator);
  x->frame = zp_trace_grow(f, NULL, 0, nodes, sizeof *x->frame);
  x->on_stack = zp_trace_grow(f, NULL, 0, nodes, 1);
  return 1;
}
