#include "state.h"

void sd_record_call(simdev *s, const sd_host *h)
{
  sd_named_calls *c = &s->rank[h->agent.rank].named;
  int64_t i = 0;
  if (!s->opt.record) return;
  while (i < c->n && c->list[i].name != h->call_name && strcmp(c->list[i].name, h->call_name) != 0)
    i++;
  if (i == c->n) {
    if (sd_arena_grow(&s->arena, (void **)&c->list, c->n, &c->cap, sizeof *c->list)) return;
    c->list[c->n++] = (simdev_call_count){h->call_name, 0};
  }
  c->list[i].calls++;
}

void sd_record_item(simdev *s, const sd_item *item, int64_t end)
{
  simdev_record *r;
  if (sd_arena_grow(&s->arena, (void **)&s->record.item, s->record.item_n, &s->record.item_cap,
                    sizeof *r))
    return;
  r = &s->record.item[s->record.item_n++];
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
  r->end = end;
}

void sd_record_edge(simdev *s, simdev_edge_kind kind, const sd_item *from, const sd_item *to)
{
  simdev_edge *e;
  if (!s->opt.record || sd_arena_grow(&s->arena, (void **)&s->record.edge, s->record.edge_n,
                                      &s->record.edge_cap, sizeof *e))
    return;
  e = &s->record.edge[s->record.edge_n++];
  e->kind = kind;
  e->from = from ? (int64_t)from->issue : 0;
  e->to = to ? (int64_t)to->issue : 0;
  e->rank = to || !s->hosts.running ? -1 : s->hosts.running->agent.rank;
  e->call = to || !s->hosts.running ? 0 : s->hosts.running->call;
}

int sd_record_sync(simdev *s, const sd_host *h, const sd_stream *st, const sd_event *e,
                   sd_item *item)
{
  const int32_t n = ++s->rank[h->agent.rank].syncs;
  const int dropped = s->opt.fault_count && sd_fault_drops(s, h->agent.rank, n);
  simdev_sync *y;
  if (!s->opt.record || sd_arena_grow(&s->arena, (void **)&s->record.sync, s->record.sync_n,
                                      &s->record.sync_cap, sizeof *y))
    return dropped;
  y = &s->record.sync[s->record.sync_n++];
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

void sd_record_end(simdev *s)
{
  for (int64_t i = 0; i < s->record.sync_n; i++) {
    simdev_sync *y = &s->record.sync[i];
    y->waited = y->item && ((const sd_item *)y->item)->waited;
  }
}

void simdev_tag(int64_t tag)
{
  if (sd_now && sd_now->hosts.running) sd_now->hosts.running->tag = tag;
}

const simdev_record *simdev_records(const simdev *s, int64_t *n)
{
  *n = s->record.item_n;
  return s->record.item;
}

const simdev_call_count *simdev_calls(const simdev *s, int32_t rank, int64_t *n)
{
  *n = s->rank[rank].named.n;
  return s->rank[rank].named.list;
}

const simdev_edge *simdev_edges(const simdev *s, int64_t *n)
{
  *n = s->record.edge_n;
  return s->record.edge;
}

const simdev_sync *simdev_syncs(const simdev *s, int64_t *n)
{
  *n = s->record.sync_n;
  return s->record.sync;
}
