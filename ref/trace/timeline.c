/* Reads when the operations of some ranks were entered and returned, and aligns the clocks by the
 * operations that ranks have in common: conformance/TRACE.md, "Pictures". */
#define _GNU_SOURCE
#include "timeline.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { ALIGNED = 256, KEY = 2 * ZP_TRACE_NAME };
#define LATEST ((int64_t)1 << 57) /* ns: four years; later times are damaged */

/* ---- Groups and pairs, by key ---------------------------------------------------------------- */

typedef struct keyed_set {
  const char *key;
  int32_t set;
} keyed_set;

static int by_key(const void *a, const void *b)
{
  return strcmp(((const keyed_set *)a)->key, ((const keyed_set *)b)->key);
}

static int32_t add_set(zp_timeline *t, const char *key)
{
  if (t->sets == t->sets_cap) {
    const int32_t cap = t->sets_cap ? 2 * t->sets_cap : 16;
    t->count =
        zp_trace_grow(t->failure, t->count, (size_t)t->sets_cap, (size_t)cap, sizeof *t->count);
    t->sets_cap = cap;
  }
  const size_t length = strlen(key) + 1;
  keyed_set *k = zp_trace_grow(t->failure, NULL, 0, sizeof *k + length, 1);
  k->key = memcpy(k + 1, key, length);
  k->set = t->sets;
  if (tsearch(k, &t->keys, by_key) == NULL) {
    free(k);
    zp_trace_fail(t->failure, ZP_E_MEMORY, "no memory for %zu bytes.", sizeof *k + length);
  }
  return t->sets++;
}

/* A trace can have a set for each operation, so a set is not searched in a list. */
static int32_t set_of(zp_timeline *t, const char *key)
{
  const keyed_set wanted = {.key = key};
  keyed_set *const *found = tfind(&wanted, &t->keys, by_key);
  return found != NULL ? (*found)->set : add_set(t, key);
}

typedef struct known { /* a group of the file that is read */
  char key[ZP_TRACE_NAME];
  int32_t place; /* -1: the members are unknown */
  int32_t lost;  /* the rank entered a receive from an unknown source */
} known;

typedef struct scan {
  zp_timeline *t;
  zp_timed_rank *r;
  known *group;
  int32_t groups;
} scan;

static void add_group(scan *s, const zp_trace_item *item)
{
  if (item->number < 0 || item->number >= ZP_TRACE_WORLD) return;
  const int32_t id = (int32_t)item->number;
  if (id >= s->groups) {
    const int32_t n = id < 8 ? 16 : 2 * id;
    s->group =
        zp_trace_grow(s->t->failure, s->group, (size_t)s->groups, (size_t)n, sizeof *s->group);
    s->groups = n;
  }
  strcpy(s->group[id].key, item->name);
  s->group[id].place = item->size == 0    ? -1
                       : item->place >= 0 ? item->place
                                          : zp_trace_listed_position(item, s->r->rank);
}

/* The set of the receives of the rank from another place of a group, or of its sends to it; -1. */
static int32_t set_of_pair(const scan *s, const known *g, int32_t peer, int sends)
{
  char key[KEY];
  if (g->place < 0 || peer < 0) return -1;
  snprintf(key, sizeof key, "%s\n%d %d", g->key, (int)(sends ? g->place : peer),
           (int)(sends ? peer : g->place));
  return set_of(s->t, key);
}

/* A group of the file that has a key, or NULL. */
static known *group_of(const scan *s, int32_t id)
{
  return id < 0 || id >= s->groups || s->group[id].key[0] == 0 ? NULL : &s->group[id];
}

/* The set of an operation, or -1. A definition remembers it as its link. */
static int32_t set_of_def(const scan *s, zp_trace_def *d)
{
  const known *g = group_of(s, d->group);
  if (d->link >= 0) return d->link;
  if (g == NULL) return -1;
  return d->link = d->sig.op < ZP_TRACE_SEND
                       ? set_of(s->t, g->key)
                       : set_of_pair(s, g, d->sig.root, d->sig.op == ZP_TRACE_SEND);
}

/* The trace records the source of an earlier receive from any source. */
static void set_source(const scan *s, const zp_trace_item *item)
{
  zp_timed_rank *r = s->r;
  if (item->number < 1 || item->number > r->n) return;
  zp_timed_op *op = &r->op[r->n - item->number];
  const known *g = group_of(s, op->row);
  if (g != NULL && op->op == ZP_TRACE_RECV && op->set < 0)
    op->set = set_of_pair(s, g, item->source, 0);
}

/* Numbers the operations of each set. Sources are recorded later than their receives, and in
 * another order. After a receive whose source is unknown, the numbers of the rank's receives in
 * that group are unknown, too. */
static void number_sets(const scan *s)
{
  zp_timed_rank *r = s->r;
  zp_timeline *t = s->t;
  for (int64_t k = 0; k < r->n; k++) /* not all sets: each rank can add some */
    if (r->op[k].set >= 0) t->count[r->op[k].set] = 0;
  for (int64_t k = 0; k < r->n; k++) {
    zp_timed_op *op = &r->op[k];
    known *g = group_of(s, op->row);
    if (op->op == ZP_TRACE_RECV && g != NULL) {
      g->lost |= op->set < 0;
      if (g->lost) op->set = -1;
    }
    if (op->set >= 0) op->seq = t->count[op->set]++;
  }
}

/* ---- One rank -------------------------------------------------------------------------------- */

static uint8_t role_of(const scan *s, const zp_trace_def *d)
{
  const int root = d->group >= 0 && d->group < s->groups && d->sig.root == s->group[d->group].place;
  switch (d->sig.op) {
  case ZP_TRACE_SEND: return ZP_ROLE_SOURCE;
  case ZP_TRACE_RECV: return ZP_ROLE_TARGET;
  case 5: /* broadcast and scatter: all wait for the root */
  case 7: return root ? ZP_ROLE_SOURCE : ZP_ROLE_TARGET;
  case 4: /* reduce and gather: the root waits for all */
  case 6: return root ? ZP_ROLE_TARGET : ZP_ROLE_SOURCE;
  default: return ZP_ROLE_ALL;
  }
}

static void add_op(scan *s, zp_trace_def *d, int64_t now)
{
  zp_timed_rank *r = s->r;
  if (r->n == r->cap) {
    const int64_t cap = r->cap ? 2 * r->cap : 256;
    r->op = zp_trace_grow(s->t->failure, r->op, (size_t)r->cap, (size_t)cap, sizeof *r->op);
    r->cap = cap;
  }
  const int32_t set = set_of_def(s, d);
  r->op[r->n++] = (zp_timed_op){.enter = now,
                                .leave = -1,
                                .seq = -1,
                                .set = set,
                                .row = d->group,
                                .op = d->sig.op,
                                .async = (d->sig.flags & ZP_TRACE_ASYNC) != 0,
                                .role = role_of(s, d)};
}

static int64_t time_of(const zp_trace_reader *in)
{
  const int64_t now = in->ns ? in->ns : in->records * 1000;
  return now < LATEST ? now : LATEST;
}

/* Which operation is open after an item. What follows in a trace shows that one has returned. */
static void follow(zp_timed_rank *r, const zp_trace_item *item, int64_t now)
{
  const int64_t of = r->n - item->number;
  if (item->kind == ZP_TRACE_END) {
    r->ended = 1;
    return;
  }
  if (item->kind == ZP_TRACE_RETURNED) {
    r->op[of].leave = now;
    if (of == r->open) r->open = -1;
    return;
  }
  if (r->open >= 0) r->bare = 1;
  if (item->kind == ZP_TRACE_OP) r->open = r->op[r->n - 1].async ? -1 : r->n - 1;
  else if (item->kind == ZP_TRACE_WAIT && of < r->n && r->op[of].leave < 0) r->open = of;
  else r->open = -1;
}

/* Without times, an operation lasts one unit: each has the number of its record. */
static void read_rank(zp_timeline *t, zp_timed_rank *r)
{
  zp_trace_item *item = zp_trace_grow(t->failure, NULL, 0, 1, sizeof *item);
  scan s = {.t = t, .r = r};
  zp_trace_reader *in = &t->reader;
  in->want_returns = 1;
  r->open = -1;
  while (zp_trace_next(in, item)) {
    const int64_t now = time_of(in);
    if (item->kind == ZP_TRACE_GROUP) add_group(&s, item);
    if (item->kind == ZP_TRACE_OP) add_op(&s, item->op, now);
    if (item->kind == ZP_TRACE_SOURCE) set_source(&s, item);
    follow(r, item, now);
  }
  r->last = time_of(in);
  r->timed = in->ns > 0;
  r->exited = in->exit.how != ZP_TRACE_NO_EXIT;
  number_sets(&s);
  free(s.group);
  free(item);
}

/* ---- Common operations ----------------------------------------------------------------------- */

static int by_set(const void *a, const void *b)
{
  const zp_member *x = a, *y = b;
  if (x->set != y->set) return x->set < y->set ? -1 : 1;
  if (x->seq != y->seq) return x->seq < y->seq ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void find_members(zp_timeline *t)
{
  int64_t n = 0;
  for (int32_t i = 0; i < t->n; i++) n += t->ranks[i].n;
  t->member = zp_trace_grow(t->failure, NULL, 0, (size_t)n + 1, sizeof *t->member);
  for (int32_t i = 0; i < t->n; i++)
    for (int64_t k = 0; k < t->ranks[i].n; k++) {
      const zp_timed_op *op = &t->ranks[i].op[k];
      if (op->set >= 0) t->member[t->members++] = (zp_member){op->seq, k, op->set, i};
    }
  qsort(t->member, (size_t)t->members, sizeof *t->member, by_set);
}

int64_t zp_timeline_entered(const zp_timeline *t, const zp_member *m)
{
  return t->ranks[m->rank].op[m->record].enter + t->ranks[m->rank].offset;
}

static int by_time(const void *a, const void *b, void *timeline)
{
  const zp_member *x = a, *y = b;
  const int64_t at = zp_timeline_entered(timeline, x), other = zp_timeline_entered(timeline, y);
  if (at != other) return at < other ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int64_t zp_timeline_run(const zp_timeline *t, int64_t i)
{
  const zp_member *m = t->member;
  int64_t end = i + 1;
  while (end < t->members && m[end].set == m[i].set && m[end].seq == m[i].seq) end++;
  return end;
}

/* Sorts the members of each operation by time. */
static void sort_runs(zp_timeline *t)
{
  for (int64_t i = 0, end; i < t->members; i = end) {
    end = zp_timeline_run(t, i);
    qsort_r(&t->member[i], (size_t)(end - i), sizeof *t->member, by_time, t);
  }
}

/* The rank of a returned from an operation only after the rank of b had entered it. */
static void limit(const zp_timeline *t, int64_t *bound, const zp_member *a, const zp_member *b)
{
  const zp_timed_op *mine = &t->ranks[a->rank].op[a->record],
                    *other = &t->ranks[b->rank].op[b->record];
  int64_t *at = &bound[(int64_t)b->rank * t->n + a->rank];
  if (a == b || a->rank == b->rank || mine->leave < 0) return;
  if (!(mine->role == ZP_ROLE_ALL ||
        (mine->role == ZP_ROLE_TARGET && other->role == ZP_ROLE_SOURCE)))
    return;
  if (mine->leave - other->enter < *at) *at = mine->leave - other->enter;
}

static void align(zp_timeline *t)
{
  const size_t n = (size_t)t->n;
  if (t->n > ALIGNED) return;
  int64_t *bound = zp_trace_grow(t->failure, NULL, 0, n * n + 1, sizeof *bound);
  int64_t *work = zp_trace_grow(t->failure, NULL, 0, n * n + 1, sizeof *work);
  int64_t *offset = zp_trace_grow(t->failure, NULL, 0, n + 1, sizeof *offset);
  for (size_t i = 0; i < n * n; i++) bound[i] = INT64_MAX;
  for (int64_t i = 0, end; i < t->members; i = end) {
    const zp_member *m = t->member;
    end = zp_timeline_run(t, i);
    for (int64_t a = i; a < end; a++)
      for (int64_t b = i; b < end; b++) limit(t, bound, &m[a], &m[b]);
  }
  t->violation = zp_clock_offsets(t->n, bound, work, offset);
  for (size_t i = 0; i < n; i++) t->ranks[i].offset = offset[i];
  free(bound);
  free(work);
  free(offset);
}

/* Operations of a row do not overlap: a blocking one ends before the next one of its row. */
static void clip(zp_timeline *t, zp_timed_rank *r)
{
  int64_t *row = NULL;
  int32_t rows = 0;
  for (int64_t k = r->n; k-- > 0;) {
    zp_timed_op *op = &r->op[k];
    const int32_t at = op->row;
    if (at < 0 || at >= ZP_TRACE_WORLD) continue;
    if (at >= rows) {
      row = zp_trace_grow(t->failure, row, (size_t)rows, (size_t)at + 16, sizeof *row);
      rows = at + 16;
    }
    if (row[at] > 0 && !op->async && op->leave > row[at] - 1) op->leave = row[at] - 1;
    row[at] = op->enter + 1;
  }
  free(row);
}

/* When another member of an operation returned, which requires that all members for which it waits
 * had entered; INT64_MIN: no return is recorded. */
static int64_t other_returned(const zp_timeline *t, int64_t i, int64_t end, int64_t of)
{
  int64_t latest = INT64_MIN;
  for (int64_t k = i; k < end; k++) {
    const zp_timed_rank *r = &t->ranks[t->member[k].rank];
    const zp_timed_op *op = &r->op[t->member[k].record];
    if (k != of && op->leave >= 0 && op->role != ZP_ROLE_SOURCE && op->leave + r->offset > latest)
      latest = op->leave + r->offset;
  }
  return latest;
}

/* A process that is killed has not written its last return. If another member returned from the
 * operation, it may have returned, too. */
static void find_unknown(zp_timeline *t)
{
  for (int64_t i = 0, end; i < t->members; i = end) {
    end = zp_timeline_run(t, i);
    for (int64_t k = i; k < end; k++) {
      const zp_timed_rank *r = &t->ranks[t->member[k].rank];
      zp_timed_op *op = &r->op[t->member[k].record];
      if (t->member[k].record != r->open || op->leave >= 0 || r->ended || r->exited) continue;
      const int64_t leave = other_returned(t, i, end, k);
      if (leave == INT64_MIN) continue;
      op->back = ZP_BACK_UNKNOWN;
      op->leave = leave - r->offset > op->enter ? leave - r->offset : op->enter;
    }
  }
}

/* A recorder writes a return with the next item. If it writes none, as before the format had them,
 * a blocking operation lasts until the next item. */
static void complete_rank(zp_timeline *t, zp_timed_rank *r)
{
  for (int64_t k = 0; k < r->n; k++) {
    zp_timed_op *op = &r->op[k];
    const int64_t next = k + 1 < r->n ? r->op[k + 1].enter : r->last;
    const int known = !r->ended && !(r->bare && (r->exited || op->async));
    if (op->leave < 0 && k == r->open && r->timed && known) op->back = ZP_BACK_NEVER;
    else if (op->leave < 0 && (!r->timed || op->async))
      op->leave = op->enter + (r->timed && next - op->enter < 1000 ? next - op->enter : 1000);
    else if (op->leave < 0) op->leave = next;
    if (op->enter + r->offset < t->first) t->first = op->enter + r->offset;
    if (op->enter + r->offset > t->last) t->last = op->enter + r->offset;
    if (op->leave >= 0 && op->leave + r->offset > t->last) t->last = op->leave + r->offset;
  }
  if (r->n > 0 && r->last + r->offset > t->last) t->last = r->last + r->offset;
}

/* What never returned lasts until the rank ended, or until the end of the picture, which is
 * somewhat later than the last item. */
static void end_open(const zp_timeline *t, zp_timed_rank *r)
{
  const int64_t span = t->last - t->first, margin = span / 20 > 1000 ? span / 20 : 1000;
  zp_timed_op *op = r->open >= 0 ? &r->op[r->open] : NULL;
  if (op == NULL || op->back != ZP_BACK_NEVER) return;
  op->leave = r->exited && r->last > op->enter ? r->last : t->last + margin - r->offset;
}

/* Sets when the operations ended whose returns are not recorded. */
static void complete(zp_timeline *t)
{
  t->first = INT64_MAX;
  t->last = 0;
  find_unknown(t);
  for (int32_t i = 0; i < t->n; i++) complete_rank(t, &t->ranks[i]);
  for (int32_t i = 0; i < t->n; i++) {
    end_open(t, &t->ranks[i]);
    clip(t, &t->ranks[i]);
  }
}

void zp_timeline_read(zp_timeline *t, const char *dir, const uint8_t *wanted, int32_t n)
{
  for (int32_t rank = 0; rank < n; rank++) {
    if (!wanted[rank]) continue;
    zp_trace_open(&t->reader, t->failure, dir, rank);
    if (t->reader.state == ZP_TRACE_READING) {
      if (t->n == t->cap) {
        const int32_t cap = t->cap ? 2 * t->cap : 16;
        t->ranks =
            zp_trace_grow(t->failure, t->ranks, (size_t)t->cap, (size_t)cap, sizeof *t->ranks);
        t->cap = cap;
      }
      zp_timed_rank *r = &t->ranks[t->n++];
      r->rank = rank;
      read_rank(t, r);
    }
    zp_trace_close(&t->reader);
  }
  find_members(t);
  align(t);
  sort_runs(t);
  complete(t);
}

void zp_timeline_free(zp_timeline *t)
{
  zp_trace_close(&t->reader);
  for (int32_t i = 0; i < t->n; i++) free(t->ranks[i].op);
  tdestroy(t->keys, free);
  free(t->ranks);
  free(t->count);
  free(t->member);
}
