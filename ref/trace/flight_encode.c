/* Encodes the dump of a rank as a trace (conformance/TRACE.md). All operations count as
 * asynchronous: a dump does not say whether the rank waited for them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

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

static int32_t place_of(const zp_flight_common *c, int32_t rank)
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
  if (!c->listed || e->root < 0 || e->root >= c->members) return -1;
  return has_all_p2p(f, rank, common) && has_all_p2p(f, c->member[e->root], common) ? e->root : -1;
}

static int is_judged(const zp_flight *f, const zp_flight_dump *d, const zp_flight_entry *e)
{
  const zp_flight_common *c = &f->group[d->group[e->group].common];
  if (e->op == 0) return 0;
  if (e->flags & ZP_FLIGHT_P2P) return 1;
  return e->seq >= c->start && e->seq <= c->end && e->seq >= d->group[e->group].first;
}

static void put_entry(zp_flight *f, int32_t rank, const zp_flight_entry *e)
{
  const int64_t root = e->op >= ZP_TRACE_SEND ? peer_of(f, rank, e) : -1;
  put(f, ZP_TRACE_OP);
  put(f, e->op);
  put(f, 0); /* the reduction is unknown */
  put(f, e->dtype);
  put(f, e->count + 1);
  put(f, e->group + 1);
  put(f, root + 1);
  put(f, ZP_TRACE_ASYNC);
  put(f, 0);
}

void zp_flight_encode(zp_flight *f, int32_t rank)
{
  const zp_flight_dump *d = &f->dump[rank];
  int64_t ns = 0;
  int32_t site = -1;
  f->out_n = 0;
  put_bytes(f, ZP_TRACE_MAGIC, 8);
  put(f, rank);
  put(f, f->world);
  for (int32_t i = 0; i < d->groups; i++) {
    const zp_flight_common *c = &f->group[d->group[i].common];
    put_group(f, i + 1, c, place_of(c, rank));
  }
  for (int32_t i = 0; i < d->sites; i++) put_extension(f, ZP_TRACE_SITE, i + 1, d->site[i]);
  for (int32_t i = 0; i < d->entries; i++) {
    const zp_flight_entry *e = &d->entry[i];
    if (!is_judged(f, d, e)) continue;
    if (e->site != site) put_extension(f, ZP_TRACE_AT_SITE, e->site + 1, "");
    site = e->site;
    if (e->ns > ns) {
      put(f, ZP_TRACE_TIME);
      put(f, e->ns - ns);
      ns = e->ns;
    }
    put_entry(f, rank, e);
  }
  f->image[rank] = zp_trace_grow(f->failure, NULL, 0, (size_t)f->out_n, 1);
  memcpy(f->image[rank], f->out, (size_t)f->out_n);
  f->size[rank] = f->out_n;
}
