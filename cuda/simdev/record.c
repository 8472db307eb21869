/* The record of a run: items, edges, sync calls. */
#include "internal.h"

void sd_record_item(simdev *s, const sd_item *item)
{
  simdev_record *r;
  if (sd_grow(s, (void **)&s->records, s->record_n, &s->record_cap, sizeof *r)) return;
  r = &s->records[s->record_n++];
  r->rank = item->stream->agent.rank;
  r->device = item->stream->device;
  r->stream = item->stream->id;
  r->stream_name = item->stream->name;
  r->kind = item->kind;
  r->name = item->name;
  r->issue = (int64_t)item->issue;
  r->call = item->call;
  r->tag = item->tag;
  r->begin = item->begin;
  r->end = ++s->clock_items;
}

void sd_record_edge(simdev *s, simdev_edge_kind kind, const sd_item *from, const sd_item *to)
{
  simdev_edge *e;
  if (!s->opt.record || sd_grow(s, (void **)&s->edges, s->edge_n, &s->edge_cap, sizeof *e)) return;
  e = &s->edges[s->edge_n++];
  e->kind = kind;
  e->from = from ? (int64_t)from->issue : 0;
  e->to = to ? (int64_t)to->issue : 0;
  e->rank = to || !s->running ? -1 : s->running->agent.rank;
  e->call = to || !s->running ? 0 : s->running->call;
}

/* Notes a sync call and says whether a fault drops it. */
int sd_sync_call(simdev *s, const sd_host *h, const sd_stream *st, const sd_event *e, sd_item *item)
{
  const int32_t n = ++s->rank[h->agent.rank].syncs;
  const int dropped = s->opt.fault_count && sd_fault_drops(s, h->agent.rank, n);
  simdev_sync *y;
  if (!s->opt.record || sd_grow(s, (void **)&s->syncs, s->sync_n, &s->sync_cap, sizeof *y))
    return dropped;
  y = &s->syncs[s->sync_n++];
  y->rank = h->agent.rank;
  y->n = n;
  y->call = h->call;
  y->stream = st->id;
  y->event = e->id;
  y->is_wait = item && item->kind == SIMDEV_WAIT;
  y->dropped = dropped;
  y->site = h->call_pc;
  y->item = dropped ? NULL : item;
  return dropped;
}

void simdev_tag(int64_t tag)
{
  if (sd_now && sd_now->running) sd_now->running->tag = tag;
}

const simdev_record *simdev_records(const simdev *s, int64_t *n)
{
  *n = s->record_n;
  return s->records;
}

const simdev_edge *simdev_edges(const simdev *s, int64_t *n)
{
  *n = s->edge_n;
  return s->edges;
}

const simdev_sync *simdev_syncs(const simdev *s, int64_t *n)
{
  *n = s->sync_n;
  return s->syncs;
}
