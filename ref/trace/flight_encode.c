/* Encodes the dump of a rank as a trace (conformance/TRACE.md). All operations count as
 * asynchronous: a dump does not say whether the rank waited for them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "flight.h"

static void put_bytes(zp_flight *f, const void *bytes, size_t n)
{
  if (f->out_n + (int64_t)n > f->out_cap) {
    int64_t cap = f->out_cap ? f->out_cap : 256;
    while (cap < f->out_n + (int64_t)n) cap *= 2;
    f->out = zp_trace_grow(f->failure, f->out, (size_t)f->out_cap, (size_t)cap, 1);
    f->out_cap = cap;
  }
  memcpy(f->out + f->out_n, bytes, n);
  f->out_n += (int64_t)n;
}

static size_t leb(uint64_t v, uint8_t bytes[10])
{
  size_t n = 0;
  do {
    bytes[n++] = (uint8_t)((v & 127) | (v > 127 ? 128 : 0));
    v >>= 7;
  } while (v);
  return n;
}

static void put(zp_flight *f, int64_t v)
{
  uint8_t bytes[10];
  put_bytes(f, bytes, leb((uint64_t)v, bytes));
}

static void put_text(zp_flight *f, const char *text)
{
  put(f, (int64_t)strlen(text));
  put_bytes(f, text, strlen(text));
}

/* kind, length, number and text */
static void put_extension(zp_flight *f, int kind, int64_t number, const char *text)
{
  uint8_t bytes[10];
  const size_t n = leb((uint64_t)number, bytes);
  put(f, ZP_TRACE_EXTENSION);
  put(f, kind);
  put(f, (int64_t)(n + strlen(text)));
  put_bytes(f, bytes, n);
  put_bytes(f, text, strlen(text));
}

/* How many members from i on have one distance. */
static int32_t run_of(const zp_flight_common *c, int32_t i)
{
  int32_t n = i + 1 < c->members ? 2 : 1;
  while (n > 1 && i + n < c->members &&
         c->member[i + n] - c->member[i + n - 1] == c->member[i + 1] - c->member[i])
    n++;
  return n;
}

static void put_group(zp_flight *f, int32_t id, const zp_flight_common *c, int32_t place)
{
  int32_t runs = 0;
  for (int32_t i = 0; i < c->members; i += run_of(c, i)) runs++;
  put(f, ZP_TRACE_GROUP);
  put(f, id);
  put_text(f, c->key);
  put(f, c->members);
  put(f, place + 1);
  put(f, runs);
  for (int32_t i = 0; i < c->members;) {
    const int32_t n = run_of(c, i);
    const int64_t stride = n > 1 ? c->member[i + 1] - c->member[i] : 0;
    put(f, c->member[i]);
    put(f, stride < 0 ? -2 * stride - 1 : 2 * stride);
    put(f, n);
    i += n;
  }
  if (c->label[0]) put_extension(f, ZP_TRACE_LABEL, id, c->label);
}

static int32_t position_of(const zp_flight_common *c, int32_t rank)
{
  for (int32_t i = 0; i < c->members; i++)
    if (c->member[i] == rank) return i;
  return -1;
}

/* Whether a dump has all sends and receives of a group. */
static int has_all_p2p(const zp_flight *f, int32_t rank, int32_t common)
{
  const zp_flight_dump *d = rank < f->world ? &f->dump[rank] : NULL;
  if (d == NULL || !d->present) return 0;
  for (int32_t i = 0; i < d->groups; i++)
    if (d->group[i].common == common && d->group[i].first_p2p > 0)
      return d->group[i].first_p2p == 1;
  return !d->lost;
}

/* The place of the peer; -1, "unknown", if the pair's sends and receives cannot be counted. */
static int32_t peer_of(const zp_flight *f, int32_t rank, const zp_flight_entry *e)
{
  const int32_t common = f->dump[rank].group[e->group].common;
  const zp_flight_common *c = &f->group[common];
  if (!c->listed || c->reordered || e->root < 0 || e->root >= c->members) return -1;
  return has_all_p2p(f, rank, common) && has_all_p2p(f, c->member[e->root], common) ? e->root : -1;
}

static int is_judged(const zp_flight *f, const zp_flight_dump *d, const zp_flight_entry *e)
{
  const zp_flight_common *c = &f->group[d->group[e->group].common];
  if (e->op == 0) return 0;
  if (e->flags & ZP_FLIGHT_P2P) return 1;
  return e->seq >= c->start && e->seq <= c->end && e->seq >= d->group[e->group].first;
}

typedef struct defined {
  zp_trace_sig sig;
  int32_t group, site; /* group 0: not defined */
} defined;

/* Operations that are alike share a definition; one whose number is in use replaces the other. */
static void put_entry(zp_flight *f, int32_t rank, const zp_flight_entry *e, defined *all)
{
  defined d;
  memset(&d, 0, sizeof d); /* the padding is hashed and compared too */
  d.sig.count = e->count;
  d.sig.root = e->op >= ZP_TRACE_SEND ? peer_of(f, rank, e) : -1;
  d.sig.op = e->op;
  d.sig.dtype = e->dtype;
  d.sig.flags = ZP_TRACE_ASYNC;
  d.group = e->group + 1;
  d.site = e->site + 1;
  const int64_t id = (int64_t)(XXH3_64bits(&d, sizeof d) % ZP_TRACE_DEFS);
  if (memcmp(&all[id], &d, sizeof d) != 0) {
    all[id] = d;
    put_extension(f, ZP_TRACE_AT_SITE, d.site, "");
    put(f, ZP_TRACE_DEF);
    put(f, id);
    put(f, d.sig.op);
    put(f, d.sig.redop); /* unknown */
    put(f, d.sig.dtype);
    put(f, d.sig.count + 1);
    put(f, d.group);
    put(f, d.sig.root + 1);
    put(f, d.sig.flags);
    put(f, 0);
  }
  put(f, ZP_TRACE_FIRST_DEF + id);
}

/* After its records, a rank counts as waiting for the last operation of each group. It ends the
 * wait at once unless a member never entered that operation. */
static void put_waits(zp_flight *f, const zp_flight_dump *d, int64_t records)
{
  for (int32_t i = 0; i < d->groups; i++)
    if (d->group[i].last_record > 0) {
      put(f, ZP_TRACE_WAIT);
      put(f, records + 1 - d->group[i].last_record);
    }
}

void zp_flight_encode(zp_flight *f, int32_t rank)
{
  zp_flight_dump *d = &f->dump[rank];
  int64_t records = 0;
  int64_t ns = 0;
  defined all[ZP_TRACE_DEFS] = {0};
  f->out_n = 0;
  put_bytes(f, ZP_TRACE_MAGIC, 8);
  put(f, rank);
  put(f, f->world);
  for (int32_t i = 0; i < d->groups; i++) {
    const zp_flight_common *c = &f->group[d->group[i].common];
    put_group(f, i + 1, c, position_of(c, rank));
  }
  for (int32_t i = 0; i < d->sites; i++) put_extension(f, ZP_TRACE_SITE, i + 1, d->site[i]);
  for (int32_t i = 0; i < d->entries; i++) {
    const zp_flight_entry *e = &d->entry[i];
    if (!is_judged(f, d, e)) continue;
    if (e->ns > ns) {
      put(f, ZP_TRACE_TIME);
      put(f, e->ns - ns);
      ns = e->ns;
    }
    put_entry(f, rank, e, all);
    records++;
    if (!(e->flags & ZP_FLIGHT_P2P)) d->group[e->group].last_record = records;
  }
  put_waits(f, d, records);
  f->image[rank] = zp_trace_grow(f->failure, NULL, 0, (size_t)f->out_n, 1);
  memcpy(f->image[rank], f->out, (size_t)f->out_n);
  f->size[rank] = f->out_n;
}
