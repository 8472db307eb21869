/* Matches the k-th operations of all members of a group. conformance/TRACE.md, LEDG-2 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "judge.h"

/* Limits that hold for files of any size: members of all groups (128 groups of the largest world);
 * the ids of groups in a file; members that are searched for repetitions. */
enum { SPARE_MEMBERS = 1 << 24, SPARE_IDS = 1024, SEARCHED = 1 << 28, SEARCHED_A_BYTE = 64 };

/* What identifies a group: its name, or the places of a pair. */
typedef struct identity {
  const char *name; /* NULL: of a pair */
  const group *parent;
  int32_t from, to;
} identity;

static int is(const group *g, const identity *id)
{
  if (id->name != NULL) return g->key != NULL && strcmp(g->key, id->name) == 0;
  return g->parent == id->parent && g->from == id->from && g->to == id->to;
}

static uint32_t hash_of(const judge *j, const identity *id)
{
  const int64_t places[3] = {id->parent ? id->parent->index : 0, id->from, id->to};
  const void *key = id->name != NULL ? (const void *)id->name : places;
  const size_t length = id->name != NULL ? strlen(id->name) : sizeof places;
  return (uint32_t)XXH3_64bits_withSeed(key, length, j->seed);
}

/* The slot of a group of that hash; id NULL: an empty one. */
static slot *find_slot(const judge *j, uint32_t hash, const identity *id)
{
  const uint32_t mask = (uint32_t)j->cap - 1;
  uint32_t i = hash & mask;
  for (; j->table[i].group != 0; i = (i + 1) & mask)
    if (id != NULL && j->table[i].hash == hash && is(j->all[j->table[i].group - 1], id)) break;
  return &j->table[i];
}

static void grow_table(judge *j)
{
  const int64_t old = j->cap, n = old ? old * 2 : 1024;
  slot *was = j->table, *table = zp_trace_grow(&j->failure, NULL, 0, (size_t)n, sizeof *table);
  j->table = table;
  j->cap = n;
  for (int64_t i = 0; i < old; i++)
    if (was[i].group != 0) *find_slot(j, was[i].hash, NULL) = was[i];
  free(was);
  /* the table is at most half full */
  j->all = zp_trace_grow(&j->failure, j->all, (size_t)old / 2, (size_t)n / 2, sizeof(group *));
}

/* A group and its arrays in one allocation, since a run may have many pairs. */
static group *new_group(judge *j, int32_t size)
{
  const size_t n = (size_t)size, words = (size_t)zp_trace_set_words(size);
  group *g = zp_trace_grow(&j->failure, NULL, 0, 1,
                           sizeof *g + n * (sizeof *g->pos + 3 * sizeof *g->rank + 1) +
                               words * sizeof *g->present.word);
  g->pos = (int64_t *)(g + 1);
  g->present = (zp_trace_set){(uint64_t *)(g->pos + n), size};
  g->rank = (int32_t *)(g->present.word + words);
  g->last_wait = g->rank + n;
  g->gone = g->last_wait + n;
  g->absent = (uint8_t *)(g->gone + n);
  g->size = g->unknown = size;
  for (int32_t i = 0; i < size; i++) g->rank[i] = -1;
  return g;
}

static group *find_group(judge *j, const identity *id, int32_t size)
{
  if (2 * j->groups >= j->cap) grow_table(j);
  const uint32_t hash = hash_of(j, id);
  slot *at = find_slot(j, hash, id);
  if (at->group != 0) return j->all[at->group - 1];
  group *g = new_group(j, size);
  g->index = j->groups;
  j->all[j->groups++] = g;
  *at = (slot){hash, (uint32_t)j->groups};
  if (id->name != NULL) {
    g->key = zp_trace_grow(&j->failure, NULL, 0, strlen(id->name) + 1, 1);
    strcpy(g->key, id->name);
  }
  return g;
}

group *zp_trace_find_group(judge *j, const char *key)
{
  const identity id = {key, NULL, 0, 0};
  const slot *at = j->cap == 0 ? NULL : find_slot(j, hash_of(j, &id), &id);
  return at == NULL || at->group == 0 ? NULL : j->all[at->group - 1];
}

group *zp_trace_find_pair(judge *j, const group *parent, int32_t from, int32_t to)
{
  const identity id = {NULL, parent, from, to};
  const slot *at = j->cap == 0 ? NULL : find_slot(j, hash_of(j, &id), &id);
  return at == NULL || at->group == 0 ? NULL : j->all[at->group - 1];
}

/* ---- Members --------------------------------------------------------------------------------- */

/* The place of g, which had no rank, has one. */
static void set_rank(judge *j, group *g, int32_t place, int32_t rank)
{
  player *p = &j->p[rank];
  g->rank[place] = rank;
  if (!g->absent[place]) {
    g->unknown--;
    zp_trace_put(&g->present, place);
    if (p->gone) zp_trace_add_gone(j, g, place);
  }
  if (!p->gone) {
    if (p->joined_n == p->joined_cap) {
      const int32_t n = p->joined_cap ? 2 * p->joined_cap : 4;
      p->joined = zp_trace_grow(&j->failure, p->joined, (size_t)p->joined_cap, (size_t)n,
                                sizeof *p->joined);
      p->joined_cap = n;
    }
    p->joined[p->joined_n++] = (membership){(uint32_t)g->index, place};
  }
  if (g->searched > g->base) zp_trace_rewind(j, g);
  if (g->parent != NULL && place == 1 && g->senders > 0) zp_trace_add_candidate(j, g);
}

/* The same, and for the pairs with that place. */
static void set_member(judge *j, group *g, int32_t place, int32_t rank)
{
  if (g->rank[place] >= 0) return;
  set_rank(j, g, place, rank);
  if (g->orphan == NULL) return;
  for (group *pair = g->orphan[place]; pair != NULL; pair = pair->next_orphan)
    set_rank(j, pair, pair->rank[0] >= 0, rank);
  g->orphan[place] = NULL;
}

/* The ranks of a new pair. */
static void set_pair(judge *j, group *pair)
{
  group *g = pair->parent;
  for (int32_t side = 0; side < 2; side++) {
    const int32_t place = side ? pair->to : pair->from;
    if (g->rank[place] >= 0) {
      set_rank(j, pair, side, g->rank[place]);
      continue;
    }
    if (g->orphan == NULL)
      g->orphan = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof(group *));
    pair->next_orphan = g->orphan[place];
    g->orphan[place] = pair;
  }
}

/* ---- Definitions of groups ------------------------------------------------------------------- */

/* The rank at a place, or -1. */
/* The rank at a place of a group that an item defines, or -1. */
static int32_t listed_rank(const zp_trace_item *item, int32_t place)
{
  for (int32_t i = 0; i < item->runs; i++) {
    if (place < item->run[i].length) return item->run[i].first + place * item->run[i].stride;
    place -= item->run[i].length;
  }
  return -1;
}

int32_t zp_trace_listed_position(const zp_trace_item *item, int32_t rank)
{
  int32_t place = 0;
  for (int32_t i = 0; i < item->runs; i++) {
    const zp_trace_run *run = &item->run[i];
    const int32_t far = rank - run->first, stride = run->stride;
    const int32_t k = stride != 0 ? far / stride : 0;
    if (k >= 0 && k < run->length && k * stride == far) return place + k;
    place += run->length;
  }
  return -1;
}

/* A rank that is a member twice, or -1. */
static int32_t repeated_rank(judge *j, const zp_trace_item *item)
{
  /* a single run, which recorders write for most groups, needs no table */
  if (item->runs == 1 && (item->run->stride != 0 || item->size == 1)) return -1;
  /* a few bytes of a file can name many members, again and again */
  j->searched += j->world;
  if (j->searched > SEARCHED + SEARCHED_A_BYTE * j->bytes) return -1;
  uint8_t *seen = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, 1);
  int32_t found = -1;
  for (int32_t i = 0; i < item->runs && found < 0; i++)
    for (int32_t k = 0; k < item->run[i].length && found < 0; k++) {
      const int32_t rank = item->run[i].first + k * item->run[i].stride;
      if (seen[rank]++) found = rank;
    }
  free(seen);
  return found;
}

/* Returns 1 for a valid definition of a group; else reports the error. */
static int is_valid_group(judge *j, const player *p, const zp_trace_item *item)
{
  const int32_t me = p->reader.rank;
  const int64_t at = p->reader.records;
  int32_t double_rank;
  if (item->size > (j->world_known ? j->world : ZP_TRACE_WORLD))
    zp_trace_add_finding(
        j, "group", me, at, 0,
        "rank %d joins '%s' with %d members, expected at most %d, the ranks of the run: "
        "the group is not judged",
        (int)me, item->name, (int)item->size, (int)j->world);
  else if ((double_rank = repeated_rank(j, item)) >= 0)
    zp_trace_add_finding(j, "group", me, at, 0,
                         "rank %d joins '%s', which lists rank %d twice: the group is not judged",
                         (int)me, item->name, (int)double_rank);
  else return 1;
  return 0;
}

/* A group takes memory in proportion to its members, of which a few bytes of a file can name many.
 * In a complete run, the file of each member defines the group, so the files have at least one byte
 * per member. */
static int has_room(judge *j, const zp_trace_item *item)
{
  const identity id = {item->name, NULL, 0, 0};
  if (find_slot(j, hash_of(j, &id), &id)->group != 0) return 1;
  if (j->members + item->size > SPARE_MEMBERS + j->bytes) {
    if (!j->crowded)
      zp_trace_add_finding(j, "group", -1, 0, 0,
                           "the groups of the traces have more members than files of %" PRId64
                           " bytes can define: '%s' and later groups are not judged",
                           j->bytes, item->name);
    j->crowded = 1;
    return 0;
  }
  j->members += item->size;
  return 1;
}

/* The entry of a group id, or NULL if the id is too large for the number of groups in the file. */
static member *numbered(player *p, int64_t id)
{
  if (id >= SPARE_IDS + 8 * ++p->joins || id > INT32_MAX / 2) return NULL;
  if (id >= p->groups) {
    const int32_t n = (int32_t)(id + 1 > 2 * (int64_t)p->groups ? id + 1 : 2 * (int64_t)p->groups);
    p->group =
        zp_trace_grow(p->reader.failure, p->group, (size_t)p->groups, (size_t)n, sizeof *p->group);
    p->groups = n;
  }
  p->group[id] = (member){NULL, -1};
  return &p->group[id];
}

void zp_trace_join(judge *j, player *p, const zp_trace_item *item)
{
  const int32_t me = p->reader.rank;
  member *m = numbered(p, item->number);
  if (m == NULL) return; /* its operations are not judged */
  const int32_t place = item->place >= 0 ? item->place : zp_trace_listed_position(item, me);
  if (item->size == 0 || !is_valid_group(j, p, item)) return;
  if (place < 0 || place >= item->size) return;
  if (j->cap == 0) grow_table(j);
  if (!has_room(j, item)) return;
  group *g = find_group(j, &(identity){item->name, NULL, 0, 0}, item->size);
  if (g->size != item->size) {
    zp_trace_add_finding(j, "group", me, p->reader.records, 0,
                         "rank %d joins '%s' with %d members, expected %d as on other ranks",
                         (int)me, item->name, (int)item->size, (int)g->size);
    return;
  }
  const int32_t theirs = item->members ? listed_rank(item, place) : me;
  if ((g->rank[place] >= 0 && g->rank[place] != me) || theirs != me) {
    zp_trace_add_finding(j, "group", me, p->reader.records, 0,
                         "rank %d joins '%s' as group rank %d, which belongs to rank %d", (int)me,
                         item->name, (int)place, (int)(theirs != me ? theirs : g->rank[place]));
    return;
  }
  int32_t q = 0;
  for (int32_t i = 0; i < item->runs && !g->named; i++)
    for (int32_t k = 0; k < item->run[i].length; k++, q++)
      set_member(j, g, q, item->run[i].first + k * item->run[i].stride);
  g->named |= item->runs > 0;
  set_member(j, g, place, me);
  if (g->named_by == NULL) g->named_by = &p->reader, g->id = (int32_t)item->number;
  *m = (member){g, place};
}

/* The sends from one place to another form a group of two. */
member zp_trace_pair(judge *j, player *p, const member *m, const zp_trace_sig *s, int64_t record)
{
  const int sends = s->op == ZP_TRACE_SEND;
  if (s->root < 0) return (member){NULL, -1}; /* the peer is not known */
  if (s->root >= m->g->size) {
    char name[ZP_TRACE_GROUP_TEXT];
    zp_trace_add_finding(j, "group", p->reader.rank, record, 0,
                         "rank %d %s group rank %d in %s, expected 0 to %d", (int)p->reader.rank,
                         sends ? "sends to" : "receives from", (int)s->root,
                         zp_trace_group_text(m->g, name), (int)m->g->size - 1);
    zp_trace_set_step(j, p->step);
    return (member){NULL, -1};
  }
  const int32_t from = sends ? m->place : s->root, to = sends ? s->root : m->place;
  group *g = find_group(j, &(identity){NULL, m->g, from, to}, 2);
  if (g->parent == NULL) {
    g->parent = m->g;
    g->from = from;
    g->to = to;
    set_pair(j, g);
  }
  return (member){g, !sends};
}

/* Operation i of g, which is new or incomplete. */
static inst *reach(judge *j, group *g, int64_t i)
{
  while (i >= g->base + g->count) {
    if (g->count == g->cap) {
      const int32_t n = g->cap ? 2 * g->cap : 1;
      inst *ring = zp_trace_grow(&j->failure, NULL, 0, (size_t)n, sizeof *ring);
      for (int64_t k = g->base; k < g->base + g->count; k++)
        ring[k & (n - 1)] = *zp_trace_inst(g, k);
      free(g->ring);
      g->ring = ring;
      g->cap = n;
    }
    const int64_t k = g->base + g->count++;
    *zp_trace_inst(g, k) = (inst){.awaited = -1};
  }
  return zp_trace_inst(g, i);
}

void zp_trace_compare(judge *j, group *g, int64_t i, const inst *x)
{
  if (!zp_trace_same(&x->sig, &x->odd)) zp_trace_report_mismatch(j, g, i, x);
}

/* Completes the operations that all members have entered. They are the first ones, as a member
 * enters them in order. */
static void complete(judge *j, group *g)
{
  while (g->count > 0 && !zp_trace_is_open(g, g->base)) {
    const inst *x = zp_trace_inst(g, g->base);
    if (x->n_odd > 0) zp_trace_report_mismatch(j, g, g->base, x);
    for (int32_t q = -1; (q = zp_trace_least(&g->present, q + 1)) >= 0;)
      zp_trace_end_waits(j, g, q, g->base);
    g->base++;
    g->count--;
  }
}

int zp_trace_is_open(const group *g, int64_t i)
{
  return i >= g->base && i < g->base + g->count &&
         zp_trace_inst(g, i)->entered < g->size - g->absents;
}

int zp_trace_enter(judge *j, player *p, member m, const zp_trace_sig *sig, zp_trace_at at)
{
  group *g = m.g;
  const int64_t i = g->pos[m.place]++;
  if (g->size == 1 || g->absent[m.place]) return 0;
  inst *x = reach(j, g, i);
  if (x->n == 0) {
    x->sig = *sig;
    x->first = p->reader.rank;
    x->at = at;
    x->n = 1;
  } else if (zp_trace_same(&x->sig, sig)) {
    x->n++;
    if (x->sig.count < 0) x->sig.count = sig->count;
    if (x->sig.dtype == 0) x->sig.dtype = sig->dtype;
    if (x->sig.redop == 0) x->sig.redop = sig->redop;
    if (x->sig.op < ZP_TRACE_SEND && x->sig.root < 0) x->sig.root = sig->root;
  } else if (x->n_odd++ == 0) {
    x->odd = *sig;
    x->odd_first = p->reader.rank;
    x->odd_at = at;
  } else if (!zp_trace_same(&x->odd, sig)) x->odd.flags |= ZP_TRACE_VARIED;
  if (x->awaited == m.place) zp_trace_note_moved(j, g, i);
  if (++x->entered < g->size - g->absents) return 1;
  j->entering = p;
  j->entered = m;
  j->entering_sig = sig;
  complete(j, g);
  j->entering = NULL;
  return 0;
}

void zp_trace_drop_member(judge *j, group *g, int32_t place)
{
  if (g->absent[place]) return;
  g->absent[place] = 1;
  g->absents++;
  if (g->rank[place] < 0) g->unknown--;
  else zp_trace_remove(&g->present, place);
  for (int64_t i = g->base; i < g->pos[place]; i++) zp_trace_inst(g, i)->entered--;
  complete(j, g);
}
