/* Finds the groups of a run in the dumps of its ranks, and which of their operations can be judged:
 * those from the first number that all members still have. What a ring buffer has overwritten is
 * unknown, and so is what a rank entered after its dump was made. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "flight.h"
#include "judge.h"

enum { TABLE = 1 << 16 };
enum { NAME = 200, HASH = 17 }; /* bytes of a key: at most of the name; of "/" and the hash */

/* Adds a warning about n ranks. */
__attribute__((format(printf, 4, 5))) static void note(zp_flight *f, const int32_t *rank, int32_t n,
                                                       const char *format, ...)
{
  char text[1024];
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  if (f->notes == f->notes_cap) {
    const int32_t cap = f->notes_cap ? 2 * f->notes_cap : 8;
    f->note =
        zp_trace_grow(f->failure, f->note, (size_t)f->notes_cap, (size_t)cap, sizeof *f->note);
    f->notes_cap = cap;
  }
  zp_flight_note *to = &f->note[f->notes++];
  to->text = zp_trace_grow(f->failure, NULL, 0, strlen(text) + 1, 1);
  memcpy(to->text, text, strlen(text) + 1);
  to->rank = zp_trace_grow(f->failure, NULL, 0, (size_t)n + 1, sizeof *to->rank);
  if (n > 0) memcpy(to->rank, rank, (size_t)n * sizeof *rank);
  to->ranks = n;
}

static void add_member(zp_flight *f, zp_flight_common *c, int32_t rank)
{
  if (c->members == c->members_cap) {
    const int32_t cap = c->members_cap ? 2 * c->members_cap : 8;
    c->member = zp_trace_grow(f->failure, c->member, (size_t)c->members_cap, (size_t)cap,
                              sizeof *c->member);
    c->members_cap = cap;
  }
  c->member[c->members++] = rank;
}

static int by_rank(const void *a, const void *b)
{
  return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b;
}

/* The key of a group: PyTorch's name, and a hash of the set of its members, since groups of one
 * split may have one name. Dumps may list the members in different orders. */
static void key_of(zp_flight *f, const zp_flight_group *g, char key[ZP_TRACE_NAME])
{
  if (g->members == 0) {
    memcpy(key, g->name, ZP_TRACE_NAME);
    return;
  }
  const size_t n = (size_t)g->members;
  int32_t *set = zp_trace_grow(f->failure, NULL, 0, n, sizeof *set);
  memcpy(set, g->member, n * sizeof *set);
  qsort(set, n, sizeof *set, by_rank);
  snprintf(key, ZP_TRACE_NAME, "%.*s/%016" PRIx64, NAME, g->name,
           (uint64_t)XXH3_64bits(set, n * sizeof *set));
  free(set);
}

static void add_group(zp_flight *f, const zp_flight_group *g, const char *key, uint64_t slot)
{
  if (f->groups == f->groups_cap) {
    const int32_t cap = f->groups_cap ? 2 * f->groups_cap : 8;
    f->group =
        zp_trace_grow(f->failure, f->group, (size_t)f->groups_cap, (size_t)cap, sizeof *f->group);
    f->groups_cap = cap;
  }
  zp_flight_common *c = &f->group[f->groups++];
  memcpy(c->key, key, ZP_TRACE_NAME);
  memcpy(c->label, g->label, sizeof c->label);
  c->end = INT64_MAX;
  c->next = f->table[slot] - 1;
  f->table[slot] = f->groups;
  for (int32_t i = 0; i < g->members; i++) add_member(f, c, g->member[i]);
  c->listed = g->members > 0;
}

static int32_t find_group(zp_flight *f, const zp_flight_group *g)
{
  char key[ZP_TRACE_NAME];
  key_of(f, g, key);
  const uint64_t slot = XXH3_64bits(key, strlen(key)) & (TABLE - 1);
  if (f->table == NULL)
    f->table = zp_trace_grow(f->failure, NULL, 0, TABLE, sizeof *f->table); /* 0: none */
  for (int32_t i = f->table[slot] - 1; i >= 0; i = f->group[i].next) {
    zp_flight_common *c = &f->group[i];
    if (strcmp(c->key, key) != 0) continue;
    if (g->members > 0 && memcmp(c->member, g->member, (size_t)g->members * sizeof *c->member) != 0)
      c->reordered = 1;
    return i;
  }
  add_group(f, g, key, slot);
  return f->groups - 1;
}

/* Lists the groups whose members are known by their names, without the hashes. */
static void link_names(zp_flight *f)
{
  f->names = zp_trace_grow(f->failure, NULL, 0, TABLE, sizeof *f->names); /* 0: none */
  for (int32_t i = 0; i < f->groups; i++) {
    zp_flight_common *c = &f->group[i];
    const uint64_t slot = XXH3_64bits(c->key, strlen(c->key) - HASH) & (TABLE - 1);
    c->next_name = f->names[slot] - 1;
    f->names[slot] = i + 1;
  }
}

/* The only group of that name that other dumps list and that has this rank, or -1. */
static int32_t find_listed(const zp_flight *f, const zp_flight_group *g, int32_t r)
{
  const size_t n = strnlen(g->name, NAME);
  int32_t found = -1;
  for (int32_t i = f->names[XXH3_64bits(g->name, n) & (TABLE - 1)] - 1; i >= 0;
       i = f->group[i].next_name) {
    const zp_flight_common *c = &f->group[i];
    int has = 0;
    if (strncmp(c->key, g->name, n) != 0 || strlen(c->key) != n + HASH) continue;
    for (int32_t k = 0; k < c->members && !has; k++) has = c->member[k] == r;
    if (has && found >= 0) return -1;
    if (has) found = i;
  }
  return found;
}

/* The default group has all ranks. The members of another group that no dump lists are the ranks
 * with operations in it. */
static void find_unlisted(zp_flight *f, zp_flight_group *g, int32_t r)
{
  g->common = find_listed(f, g, r);
  if (g->common >= 0) return;
  g->common = find_group(f, g);
  zp_flight_common *c = &f->group[g->common];
  if (!c->listed && strcmp(c->label, "default_pg") == 0) {
    for (int32_t k = 0; k < f->world; k++) add_member(f, c, k);
    c->listed = 1;
  } else if (!c->listed && (c->members == 0 || c->member[c->members - 1] != r)) {
    add_member(f, c, r);
  }
}

/* Dumps without a list join the groups that others list, so those come first. */
static void find_groups(zp_flight *f)
{
  for (int32_t r = 0; r < f->world; r++)
    for (int32_t i = 0; i < f->dump[r].groups; i++)
      if (f->dump[r].group[i].members > 0)
        f->dump[r].group[i].common = find_group(f, &f->dump[r].group[i]);
  link_names(f);
  for (int32_t r = 0; r < f->world; r++)
    for (int32_t i = 0; i < f->dump[r].groups; i++)
      if (f->dump[r].group[i].members == 0) find_unlisted(f, &f->dump[r].group[i], r);
}

/* Links the dumps' entries of each group of the run. If a dump has several of one group, its first
 * one is the last in the list. */
static void link_groups(zp_flight *f)
{
  for (int32_t r = 0; r < f->world; r++)
    for (int32_t i = 0; i < f->dump[r].groups; i++) {
      zp_flight_group *g = &f->dump[r].group[i];
      zp_flight_common *c = &f->group[g->common];
      g->rank = r;
      g->next = c->first;
      c->first = g;
    }
}

/* The last number of each group that a member has seen complete on all members. */
static void find_done(zp_flight *f)
{
  for (int32_t r = 0; r < f->world; r++)
    for (int32_t i = 0; i < f->dump[r].entries; i++) {
      const zp_flight_entry *e = &f->dump[r].entry[i];
      zp_flight_common *c = &f->group[f->dump[r].group[e->group].common];
      const int all = e->op >= 1 && e->op <= 3; /* each result depends on all members */
      if ((all || e->op == 8 || e->op == 9) && (e->flags & ZP_FLIGHT_COMPLETED) && e->seq > c->done)
        c->done = e->seq;
    }
}

/* f->own has the dumps' entries of the group. */
static void align(zp_flight *f, zp_flight_common *c, int32_t *who)
{
  int32_t whole = 0;
  for (int32_t i = 0; i < c->members; i++) {
    const int32_t r = c->member[i];
    if (r >= f->world || !f->dump[r].present) continue;
    const zp_flight_group *g = f->own[r];
    const int64_t last = g != NULL ? g->last : 0;
    const int64_t first = g != NULL && g->first > 0 ? g->first : f->dump[r].lost ? INT64_MAX : 0;
    if (first > c->start) c->start = first;
    if (last < c->done && last < c->end && first != INT64_MAX) c->end = last;
    whole++;
  }
  const char *name = c->label[0] ? c->label : c->key;
  char ranks[ZP_TRACE_RANKS];
  int32_t n = 0, late = 0;
  for (int32_t i = 0; i < c->members && c->start > 1; i++) {
    const int32_t r = c->member[i];
    if (r >= f->world || !f->dump[r].present) continue;
    const zp_flight_group *g = f->own[r];
    const int64_t first = g != NULL && g->first > 0 ? g->first : f->dump[r].lost ? INT64_MAX : 0;
    if (first == c->start) who[n++] = r;
  }
  if (whole > 0 && c->start == INT64_MAX)
    note(f, who, n,
         "the operations in '%s' are unknown and not judged: the ring buffer of %s has "
         "overwritten all of them",
         name, zp_trace_ranks(who, n, ranks));
  else if (n > 0)
    note(f, who, n,
         "the operations in '%s' before sequence number %" PRId64
         " are unknown and not judged: the dump of %s begins there. Number 0 below is sequence "
         "number %" PRId64,
         name, c->start, zp_trace_ranks(who, n, ranks), c->start);
  if (c->end == INT64_MAX || c->start == INT64_MAX) return;
  for (int32_t i = 0; i < c->members; i++) {
    const int32_t r = c->member[i];
    if (r >= f->world || !f->dump[r].present) continue;
    const zp_flight_group *g = f->own[r];
    if ((g != NULL ? g->last : 0) == c->end) who[late++] = r;
  }
  note(f, who, late,
       "the operations in '%s' after sequence number %" PRId64
       " are not judged: the dump of %s was made before number %" PRId64
       " was complete on all members",
       name, c->end, zp_trace_ranks(who, late, ranks), c->done);
}

void zp_flight_align(zp_flight *f)
{
  find_groups(f);
  link_groups(f);
  find_done(f);
  int32_t most = 1;
  for (int32_t i = 0; i < f->groups; i++)
    if (f->group[i].members > most) most = f->group[i].members;
  int32_t *who = zp_trace_grow(f->failure, NULL, 0, (size_t)most, sizeof *who);
  f->own = zp_trace_grow(f->failure, NULL, 0, (size_t)f->world, sizeof *f->own);
  for (int32_t i = 0; i < f->groups; i++) {
    for (zp_flight_group *g = f->group[i].first; g != NULL; g = g->next) f->own[g->rank] = g;
    align(f, &f->group[i], who);
    for (zp_flight_group *g = f->group[i].first; g != NULL; g = g->next) f->own[g->rank] = NULL;
  }
  free(who);
  int64_t others = 0;
  for (int32_t r = 0; r < f->world; r++) others += f->dump[r].others;
  if (others > 0)
    note(f, NULL, 0,
         "%" PRId64 " entries are not judged: their operation is not known to zeroproof", others);
}
