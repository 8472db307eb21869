/* Streams: queues of items, the order between them, and what that order makes visible. */
#include "internal.h"

/* ---- Streams --------------------------------------------------------------------------------- */

sd_stream *sd_stream_make(simdev *s, int32_t rank, int32_t device, uint32_t flags, int32_t id)
{
  sd_rank *r = &s->rank[rank];
  sd_stream *st = sd_take(s, sizeof *st);
  if (!st || sd_agent_make(s, &st->agent, SD_STREAM, rank) || sd_fiber_take(s, &st->fiber))
    return NULL;
  st->mark = SD_MARK_STREAM;
  st->device = device;
  st->flags = flags;
  st->id = id;
  st->next = r->all;
  r->all = st;
  sd_fiber_enter(s, st);
  sd_race_acquire(&s->begin_sync);
  sd_fiber_leave(s, st);
  sd_fault_stream(s, st);
  return st;
}

void sd_stream_name_fiber(sd_stream *st)
{
#ifdef SIMDEV_TSAN
  char text[96], name[64];
  sd_print(text, sizeof text, "rank %d, %s", st->agent.rank, sd_stream_name(st, name, sizeof name));
  sd_race_name(sd_race_of(st->fiber), text);
#else
  (void)st;
#endif
}

sd_stream *sd_stream_default(sd_host *h, int per_thread)
{
  simdev *s = sd_now;
  sd_stream **at = per_thread ? &h->own[h->device] : &s->rank[h->agent.rank].legacy[h->device];
  if (!*at) {
    sd_stream *st = sd_stream_make(s, h->agent.rank, h->device, cudaStreamDefault,
                                   per_thread ? -2 - h->id : -1);
    if (!st) return NULL;
    st->is_legacy = !per_thread;
    st->default_of = per_thread ? h->id + 1 : 0;
    sd_stream_name_fiber(st);
    *at = st;
  }
  return *at;
}

int sd_is_stream_default(cudaStream_t handle)
{
  return !handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

sd_stream *sd_stream_of(sd_host *h, cudaStream_t handle)
{
  simdev *s = sd_now;
  sd_stream *st = (sd_stream *)handle;
  if (sd_is_stream_default(handle)) return sd_stream_default(h, handle == cudaStreamPerThread);
  if (sd_is_taken(s, st, sizeof *st) && st->mark == SD_MARK_STREAM &&
      st->agent.rank == h->agent.rank)
    return st;
  if (!sd_is_taken(s, st, sizeof *st))
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %p is no stream", sd_here(h), (void *)st);
  else if (st->mark == SD_MARK_STREAM)
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: the stream belongs to rank %d", sd_here(h),
            st->agent.rank);
  else
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %s", sd_here(h),
            st->mark == SD_MARK_GONE ? "the stream is destroyed" : "the handle is no stream's");
  return NULL;
}

void simdev_name_stream(cudaStream_t handle, const char *name)
{
  simdev *s = sd_now;
  sd_stream *st = (sd_stream *)handle;
  if (!s || !s->running) return;
  if (sd_is_stream_default(handle))
    st = sd_stream_default(s->running, handle == cudaStreamPerThread);
  else if (!sd_is_taken(s, st, sizeof *st) || st->mark != SD_MARK_STREAM) return;
  if (!st) return;
  for (size_t i = 0; i + 1 < sizeof st->name && (st->name[i] = name[i]); i++) {
  }
  sd_stream_name_fiber(st);
}

/* ---- What the race detector is told ---------------------------------------------------------- */

void sd_fiber_enter(simdev *s, sd_stream *st)
{
  s->on = st;
  sd_race_switch(sd_race_of(st->fiber), s->opt.weaken & SIMDEV_WEAK_SWITCH);
}

void sd_fiber_leave(simdev *s, sd_stream *st)
{
  sd_race_unmute(&st->muted);
  s->on = NULL;
  sd_race_switch(s->running ? sd_race_of(s->running->fiber) : s->main_race,
                 s->opt.weaken & SIMDEV_WEAK_SWITCH);
}

/* What hosts clean up after a finding is no race with what the streams did before: a report of each
 * byte that they free would bury the finding. */
void sd_streams_out(simdev *s)
{
  for (int32_t r = 0; r < s->ranks; r++)
    for (sd_stream *st = s->rank[r].all; st; st = st->next) {
      sd_fiber_enter(s, st);
      sd_race_release(&s->end_sync);
      sd_fiber_leave(s, st);
    }
}

/* Sees to it that who waits for the item can acquire its end. A finished item is the last that its
 * stream ran: only those are waited for by stream; records release when they run. */
void sd_want_out(simdev *s, sd_item *item)
{
  if (item->out) return;
  item->out = sd_sync_take(s);
  if (!item->out) sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: no memory for a wait");
  if (!item->out || !item->done) return;
  sd_fiber_enter(s, item->stream);
  sd_race_publish(item->out);
  sd_fiber_leave(s, item->stream);
}

void sd_item_acquire(simdev *s, sd_host *h, sd_item *item)
{
  (void)h;
  sd_race_acquire(item->out);
  sd_record_edge(s, SIMDEV_EDGE_HOST, item, NULL);
}

/* ---- Items ----------------------------------------------------------------------------------- */

sd_item *sd_item_make(sd_stream *st, simdev_item_kind kind, const char *name, int32_t call,
                      const void *pc)
{
  simdev *s = sd_now;
  sd_item *item = sd_take(s, sizeof *item);
  if (!item) return NULL;
  item->kind = kind;
  item->stream = st;
  item->name = name;
  item->call = call;
  if (sd_now->running) item->tag = sd_now->running->tag;
  item->pc = pc;
  return item;
}

void sd_item_after(simdev *s, sd_item *item, sd_item *dep)
{
  const int32_t n = item->dep_count;
  sd_want_out(s, dep);
  if ((n & (n - 1)) == 0) { /* full: capacities are powers of two */
    sd_item **more = sd_take(s, (size_t)(n ? 2 * n : 1) * sizeof(sd_item *));
    if (!more) {
      sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: no memory for the order between items");
      return;
    }
    for (int32_t i = 0; i < n; i++) more[i] = item->deps[i];
    item->deps = more;
  }
  item->deps[item->dep_count++] = dep;
}

/* The legacy default stream waits for all blocking streams, and they wait for it. */
static void order_legacy(simdev *s, sd_item *item)
{
  sd_stream *st = item->stream;
  const sd_rank *r = &s->rank[st->agent.rank];
  sd_stream *legacy = r->legacy[st->device];
  if (!legacy || (st->flags & cudaStreamNonBlocking)) return;
  if (st != legacy) {
    if (legacy->last && st->legacy_seen != legacy->last) sd_item_after(s, item, legacy->last);
    st->legacy_seen = legacy->last;
    return;
  }
  for (sd_stream *x = r->all; x; x = x->next) {
    if (x == st || x->device != st->device || (x->flags & cudaStreamNonBlocking)) continue;
    /* What is older than the legacy stream's last item, that has waited for already. */
    if (x->last && (!st->last || x->last->issue > st->last->issue)) sd_item_after(s, item, x->last);
  }
}

void sd_item_issue(simdev *s, sd_item *item)
{
  sd_stream *st = item->stream;
  sd_rank *r = &s->rank[st->agent.rank];
  order_legacy(s, item);
  item->issue = ++s->issue;
  item->serial = ++r->issued[st->device];
  if (!item->in) {
    item->in = sd_sync_take(s);
    if (item->in) sd_race_publish(item->in);
    else sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: no memory for an item");
  }
  if (st->head) st->last->next = item;
  st->last = item;
  if (!st->head) {
    st->head = item;
    sd_stream_update(s, st);
  }
}

/* Puts the stream among those that can go on, or has it woken when it can. */
void sd_stream_update(simdev *s, sd_stream *st)
{
  sd_item *item = st->head;
  sd_rank *r = &s->rank[st->agent.rank];
  if (!item || r->dead || r->lost) {
    sd_ready_remove(s, &st->agent);
    return;
  }
  for (; item->dep_at < item->dep_count; item->dep_at++) {
    sd_item *dep = item->deps[item->dep_at];
    if (dep->done) continue;
    if (st->agent.waits_for != dep) {
      st->agent.waits_for = dep;
      st->agent.next = dep->waiters;
      dep->waiters = &st->agent;
      item->waited = 1;
    }
    sd_ready_remove(s, &st->agent);
    return;
  }
  if ((item->kind == SIMDEV_COMM && !sd_comm_ready(s, item)) ||
      (s->serialize && item->kind != SIMDEV_COMM && item->serial != r->serial[st->device] + 1)) {
    sd_ready_remove(s, &st->agent);
    return;
  }
  st->agent.issue = item->issue;
  sd_ready_add(s, &st->agent);
}

static void wake_waiters(simdev *s, sd_item *item)
{
  sd_agent *a = item->waiters;
  item->waiters = NULL;
  while (a) {
    sd_agent *next = a->next;
    a->waits_for = NULL;
    if (a->kind == SD_STREAM) sd_stream_update(s, (sd_stream *)a);
    else {
      ((sd_host *)a)->state = SD_GOES;
      sd_ready_add(s, a);
    }
    a = next;
  }
}

void sd_item_done(simdev *s, sd_item *item)
{
  sd_stream *st = item->stream;
  sd_rank *r = &s->rank[st->agent.rank];
  item->done = 1;
  st->head = item->next;
  s->report.items++;
  s->idle_rounds = 0;
  if (item->kind != SIMDEV_RECORD && item->kind != SIMDEV_WAIT && item->kind != SIMDEV_WORD) {
    s->hash = (s->hash ^ ((uint64_t)st->agent.rank << 32 | (uint32_t)st->id)) * 0x9fb21c651e98df25u;
    s->hash ^= s->hash >> 29;
  }
  if (s->opt.record) sd_record_item(s, item);
  wake_waiters(s, item);
  sd_stream_update(s, st);
  if (!s->serialize) return;
  r->serial[st->device]++;
  for (sd_stream *x = r->all; x; x = x->next)
    if (x->head && x->head->serial == r->serial[x->device] + 1) sd_stream_update(s, x);
}

static void record_deps(simdev *s, const sd_item *item)
{
  for (int32_t i = 0; i < item->dep_count; i++)
    sd_record_edge(s, item->kind == SIMDEV_WAIT && i == 0 ? SIMDEV_EDGE_EVENT : SIMDEV_EDGE_LEGACY,
                   item->deps[i], item);
}

void sd_stream_step(simdev *s, sd_stream *st)
{
  sd_item *item = st->head;
  cudaError_t e;
  if (item->kind == SIMDEV_COMM) {
    sd_comm_step(s, item);
    return;
  }
  item->begin = ++s->clock_items;
  e = s->opt.fault_count ? sd_fault_item(s, item) : cudaSuccess;
  if (e != cudaSuccess) {
    sd_lose(s, st->agent.rank, e);
    return;
  }
  sd_fiber_enter(s, st);
  sd_race_acquire(item->in);
  for (int32_t i = 0; i < item->dep_count; i++) sd_race_acquire(item->deps[i]->out);
  sd_race_begin(item, item->pc);
  sd_execute(s, item);
  sd_race_end();
  if (item->out) sd_race_publish(item->out);
  sd_fiber_leave(s, st);
  if (s->opt.record) record_deps(s, item);
  sd_item_done(s, item);
}

cudaError_t sd_stream_wait(sd_host *h, sd_stream *st)
{
  simdev *s = sd_now;
  sd_item *last = st->last;
  if (!last) return cudaSuccess;
  sd_want_out(s, last);
  if (sd_block_on(h, last)) return sd_never(h);
  sd_item_acquire(s, h, last);
  return s->rank[h->agent.rank].sticky;
}
