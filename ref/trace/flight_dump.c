/* Reads the entries, groups and call sites of a Flight Recorder dump. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "flight.h"

enum { SITE = 200, DEPTH = 3, FILE_NAME = 256, WHY = 128 };
#define LARGEST ((int64_t)1 << 62) /* so that one more and any difference fit into 64 bits */

static void damaged(zp_flight_file *f, const char *why)
{
  zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: %s: not a Flight Recorder dump.", f->name, why);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* A rank of the list "[0, 1]", from *at on. Returns -1 at its end, -2 if it is not such a list. */
static int64_t next_rank(const char *text, int32_t n, int32_t *at)
{
  while (*at < n && strchr("[, ]", text[*at]) != NULL && text[*at] != 0) ++*at;
  if (*at == n) return -1;
  int64_t rank = 0;
  const int32_t first = *at;
  for (; *at < n && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
    rank = 10 * rank + (text[*at] - '0');
    if (rank >= ZP_TRACE_WORLD) return -2;
  }
  return *at > first ? rank : -2;
}

static void add_rank(zp_flight_file *f, zp_flight_group *g, int64_t rank, int32_t *cap)
{
  if (rank < 0 || rank >= ZP_TRACE_WORLD || g->members == ZP_TRACE_WORLD)
    damaged(f, "pg_config: the ranks of a group are not ranks of a run");
  if (f->members++ == ZP_FLIGHT_MEMBERS) damaged(f, "its groups have more than 2^22 members");
  if (g->members == *cap) {
    const int32_t larger = *cap ? 2 * *cap : 8;
    g->member =
        zp_trace_grow(f->failure, g->member, (size_t)*cap, (size_t)larger, sizeof *g->member);
    *cap = larger;
  }
  g->member[g->members++] = (int32_t)rank;
}

/* The members that pg_config lists: a list, or a text of one. gloo lists none. */
static void read_members(zp_flight_file *f, zp_flight_group *g)
{
  const zp_flight_value *config = zp_flight_get(f, &f->at[f->root], "pg_config"),
                        *ranks = zp_flight_get(f, zp_flight_get(f, config, g->name), "ranks");
  int32_t cap = 0;
  if (ranks->kind == ZP_FLIGHT_LIST) {
    for (int32_t i = 0; i < ranks->n; i++)
      add_rank(f, g, zp_flight_integer(zp_flight_item(f, ranks, i), -1), &cap);
  } else if (ranks->kind == ZP_FLIGHT_TEXT) {
    int32_t at = 0;
    zp_flight_step(f, ranks->n);
    for (int64_t rank; (rank = next_rank(ranks->text, ranks->n, &at)) != -1;)
      add_rank(f, g, rank, &cap);
  }
}

/* process_group is (name, description). */
static int32_t group_of(zp_flight_dump *d, zp_flight_file *f, const zp_flight_value *entry)
{
  const zp_flight_value *pair = zp_flight_get(f, entry, "process_group");
  char name[ZP_TRACE_NAME];
  zp_flight_text(f, zp_flight_item(f, pair, 0), name, sizeof name);
  if (zp_flight_item(f, pair, 0)->kind != ZP_FLIGHT_TEXT)
    damaged(f, "an entry has no process_group");
  zp_flight_step(f, d->groups);
  for (int32_t i = d->groups; i-- > 0;)
    if (strcmp(d->group[i].name, name) == 0) return i;
  if (d->groups == ZP_FLIGHT_GROUPS) damaged(f, "it has too many groups");
  if (d->groups == d->groups_cap) {
    const int32_t cap = d->groups_cap ? 2 * d->groups_cap : 4;
    d->group =
        zp_trace_grow(f->failure, d->group, (size_t)d->groups_cap, (size_t)cap, sizeof *d->group);
    d->groups_cap = cap;
  }
  zp_flight_group *g = &d->group[d->groups++];
  *g = (zp_flight_group){.common = -1};
  memcpy(g->name, name, sizeof name);
  zp_flight_text(f, zp_flight_item(f, pair, 1), g->label, sizeof g->label);
  if (strcmp(g->label, "undefined") == 0) g->label[0] = 0;
  read_members(f, g);
  return d->groups - 1;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

/* Whether a file is PyTorch's or the standard library's. */
static int is_library(const char *file)
{
  static const char *const parts[] = {"distributed/", "nn/", "autograd/", "optim/", "utils/", "_"};
  const char *packages = strstr(file, "-packages/"), *torch = strstr(file, "/torch/");
  if (file[0] == '<' || file[0] == 0) return 1;
  for (size_t i = 0; torch != NULL && i < sizeof parts / sizeof *parts; i++)
    if (strncmp(torch + 7, parts[i], strlen(parts[i])) == 0) return 1; /* in any folder */
  if (packages != NULL) return strncmp(packages + 10, "torch/", 6) == 0;
  return strstr(file, "/lib/python3") != NULL;
}

/* The innermost lines outside of PyTorch. Returns the number of the site, or -1. */
static int32_t site_of(zp_flight_dump *d, zp_flight_file *f, const zp_flight_value *entry)
{
  const zp_flight_value *frames = zp_flight_get(f, entry, "frames");
  char text[SITE] = "", file[FILE_NAME];
  size_t n = 0;
  int depth = 0;
  if (frames->kind != ZP_FLIGHT_LIST) return -1;
  for (int32_t i = 0; i < frames->n && depth < DEPTH; i++) {
    const zp_flight_value *frame = zp_flight_item(f, frames, i);
    zp_flight_text(f, zp_flight_get(f, frame, "filename"), file, sizeof file);
    if (is_library(file)) continue;
    const char *packages = strstr(file, "-packages/"), *slash = strrchr(file, '/');
    const int k = snprintf(text + n, sizeof text - n, "%s%s:%lld", depth ? ";" : "",
                           packages != NULL ? packages + 10
                           : slash != NULL  ? slash + 1
                                            : file,
                           (long long)zp_flight_integer(zp_flight_get(f, frame, "line"), 0));
    if (k < 0 || (size_t)k >= sizeof text - n) {
      text[n] = 0;
      break;
    }
    n += (size_t)k;
    depth++;
  }
  if (n == 0) return -1;
  zp_flight_step(f, d->sites);
  for (int32_t i = d->sites; i-- > 0;)
    if (strcmp(d->site[i], text) == 0) return i;
  if (d->sites == ZP_FLIGHT_SITES) return -1;
  if (d->sites == d->sites_cap) {
    const int32_t cap = d->sites_cap ? 2 * d->sites_cap : 16;
    d->site =
        zp_trace_grow(f->failure, d->site, (size_t)d->sites_cap, (size_t)cap, sizeof *d->site);
    d->sites_cap = cap;
  }
  d->site[d->sites] = zp_trace_grow(f->failure, NULL, 0, n + 1, 1);
  memcpy(d->site[d->sites], text, n + 1);
  return d->sites++;
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* A number of an entry, or `otherwise` if it has none. */
static int64_t number_of(zp_flight_file *f, const zp_flight_value *entry, const char *key,
                         int64_t otherwise)
{
  const int64_t n = zp_flight_integer(zp_flight_get(f, entry, key), otherwise);
  char why[WHY];
  if (n == otherwise || (n >= 0 && n < LARGEST)) return n;
  snprintf(why, sizeof why, "an entry has the %s %lld, expected 0 to 2^62 - 1", key, (long long)n);
  damaged(f, why);
  return otherwise;
}

static void read_entry(zp_flight_dump *d, zp_flight_file *f, const zp_flight_value *from,
                       int32_t index)
{
  zp_flight_entry *e = &d->entry[d->entries];
  char state[32];
  if (from->kind != ZP_FLIGHT_DICT) damaged(f, "an entry is not a dictionary");
  *e = (zp_flight_entry){.record = number_of(f, from, "record_id", index)};
  e->ns = number_of(f, from, "time_created_ns", 0);
  const int64_t timeout = zp_flight_integer(zp_flight_get(f, from, "timeout_ms"), -1);
  e->timeout_ms = timeout >= 0 && timeout <= INT32_MAX ? (int32_t)timeout : -1;
  if (zp_flight_get(f, from, "retired")->kind == ZP_FLIGHT_TRUE) e->flags |= ZP_FLIGHT_RETIRED;
  zp_flight_text(f, zp_flight_get(f, from, "state"), state, sizeof state);
  if (strcmp(state, "completed") == 0) e->flags |= ZP_FLIGHT_COMPLETED | ZP_FLIGHT_STARTED;
  if (strcmp(state, "started") == 0) e->flags |= ZP_FLIGHT_STARTED;
  if (zp_flight_get(f, from, "is_p2p")->kind == ZP_FLIGHT_TRUE) e->flags |= ZP_FLIGHT_P2P;
  zp_flight_operation(f, from, e);
  e->seq = number_of(f, from, (e->flags & ZP_FLIGHT_P2P) ? "p2p_seq_id" : "collective_seq_id", -1);
  if (e->seq < 0) damaged(f, "an entry has no sequence number");
  e->group = group_of(d, f, from);
  e->site = site_of(d, f, from);
  d->entries++;
}

static int by_record(const void *a, const void *b)
{
  const zp_flight_entry *x = a, *y = b;
  return x->record < y->record ? -1 : x->record > y->record;
}

/* Notes which sequence numbers of each group the dump has, up to the last one without a gap. */
static void note_numbers(zp_flight_dump *d)
{
  for (int32_t i = 0; i < d->entries; i++) {
    const zp_flight_entry *e = &d->entry[i];
    zp_flight_group *g = &d->group[e->group];
    if (e->op == 0) {
      d->others++;
    } else if (e->flags & ZP_FLIGHT_P2P) {
      if (g->first_p2p == 0) g->first_p2p = e->seq > 0 ? e->seq : 1;
    } else {
      if (g->last == 0 || e->seq < g->last || e->seq > g->last + 1) g->first = e->seq;
      g->last = e->seq;
    }
  }
}

void zp_flight_extract(zp_flight_dump *d, zp_flight_file *f)
{
  const zp_flight_value *root = &f->at[f->root];
  if (root->kind != ZP_FLIGHT_DICT) damaged(f, "it is not a dictionary");
  const zp_flight_value *list = zp_flight_get(f, root, "entries");
  d->present = 1;
  /* without entries, JSON dumps may have no list */
  if (list->kind == ZP_FLIGHT_NONE && zp_flight_get(f, root, "version")->kind == ZP_FLIGHT_TEXT)
    return;
  if (list->kind != ZP_FLIGHT_LIST) damaged(f, "it has no list of entries");
  if (list->n == 0) return;
  d->entry = zp_trace_grow(f->failure, NULL, 0, (size_t)list->n, sizeof *d->entry);
  for (int32_t i = 0; i < list->n; i++) read_entry(d, f, zp_flight_item(f, list, i), i);
  qsort(d->entry, (size_t)d->entries, sizeof *d->entry, by_record);
  d->lost = d->entry[0].record > 0;
  note_numbers(d);
}

void zp_flight_dump_free(zp_flight_dump *d)
{
  for (int32_t i = 0; i < d->groups; i++) free(d->group[i].member);
  for (int32_t i = 0; i < d->sites; i++) free(d->site[i]);
  free(d->entry);
  free(d->group);
  free(d->site);
  *d = (zp_flight_dump){.entries = 0};
}
