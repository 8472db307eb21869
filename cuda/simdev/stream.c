/* Streams: queues of items, the order between them, and what that order makes visible. */
#include "state.h"

/* ---- Streams --------------------------------------------------------------------------------- */

sd_stream *sd_stream_make(simdev *s, int32_t rank, int32_t device, uint32_t flags, int32_t id)
{
  sd_rank *r = &s->rank[rank];
  sd_stream *st = sd_arena_alloc(&s->arena, sizeof *st);
  if (!st || sd_agent_make(s, &st->agent, SD_STREAM, rank) ||
      sd_fiber_acquire(s->opt.stack_bytes, &st->fiber))
    return NULL;
  st->mark = SD_MARK_STREAM;
  st->device = device;
  st->flags = flags;
  st->id = id;
  st->next = r->streams.all;
  r->streams.all = st;
  sd_fiber_enter(s, st);
  sd_race_acquire(&s->sync.begin);
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

/* A host's default stream, of its own thread or legacy; NULL: no memory. */
static sd_stream *default_stream(sd_host *h, int per_thread)
{
  simdev *s = sd_now;
  sd_stream **at =
      per_thread ? &h->own[h->device] : &s->rank[h->agent.rank].streams.legacy[h->device];
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
  if (sd_is_stream_default(handle)) return default_stream(h, handle == cudaStreamPerThread);
  if (sd_arena_contains(&s->arena, st, sizeof *st) && st->mark == SD_MARK_STREAM &&
      st->agent.rank == h->agent.rank)
    return st;
  if (!sd_arena_contains(&s->arena, st, sizeof *st))
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %p is not a stream", sd_call_text(h),
            (void *)st);
  else if (st->mark == SD_MARK_STREAM)
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: the stream belongs to rank %d",
            sd_call_text(h), st->agent.rank);
  else
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %s", sd_call_text(h),
            st->mark == SD_MARK_GONE ? "the stream is destroyed" : "the handle is not a stream");
  return NULL;
}

void simdev_name_stream(cudaStream_t handle, const char *name)
{
  simdev *s = sd_now;
  sd_stream *st = (sd_stream *)handle;
  if (!s || !s->hosts.running) return;
  if (sd_is_stream_default(handle))
    st = default_stream(s->hosts.running, handle == cudaStreamPerThread);
  else if (!sd_arena_contains(&s->arena, st, sizeof *st) || st->mark != SD_MARK_STREAM) return;
  if (!st) return;
  for (size_t i = 0; i + 1 < sizeof st->name && (st->name[i] = name[i]); i++) {
  }
  sd_stream_name_fiber(st);
}

/* ---- The race detector ----------------------------------------------------------------------- */

void sd_fiber_enter(simdev *s, sd_stream *st)
{
  s->streams.running = st;
  sd_race_switch(sd_race_of(st->fiber), s->opt.weaken & SIMDEV_WEAK_SWITCH);
}

void sd_fiber_leave(simdev *s, sd_stream *st)
{
  sd_race_unmute(&st->muted);
  s->streams.running = NULL;
  sd_race_switch(s->hosts.running ? sd_race_of(s->hosts.running->fiber) : s->hosts.main_race,
                 s->opt.weaken & SIMDEV_WEAK_SWITCH);
}

/* Hosts free memory after a finding; those accesses must not be reported as races with earlier work
 * of the streams. */
void sd_streams_release_all(simdev *s)
{
  for (int32_t r = 0; r < s->ranks; r++)
    for (sd_stream *st = s->rank[r].streams.all; st; st = st->next) {
      sd_fiber_enter(s, st);
      sd_race_release(&s->sync.end);
      sd_fiber_leave(s, st);
    }
}

/* An item that is done already is the last one that its stream ran: a wait for a stream waits for
 * its last item, and records publish their end when they run. */
void sd_item_publish_end(simdev *s, sd_item *item)
{
  if (item->out) return;
  item->out = sd_sync_new(&s->arena);
  if (!item->out) sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: out of memory for a wait");
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

/* ---- Hardware queues ------------------------------------------------------------------------- */

/* The queue's number among those of the rank's devices. */
static int32_t queue_of(const simdev *s, const sd_stream *st)
{
  const int32_t n = s->choice.queues;
  return st->device * n + (st->id < 0 ? -st->id : st->id) % n;
}

int sd_queue_is_next(const simdev *s, const sd_item *item)
{
  const sd_stream *st = item->stream;
  if (item->place == 0) return 1;
  return item->place == s->rank[st->agent.rank].streams.begun[queue_of(s, st)] + 1;
}

void sd_queue_begin(simdev *s, const sd_item *item)
{
  sd_rank_streams *r = &s->rank[item->stream->agent.rank].streams;
  int32_t q;
  if (item->place == 0) return;
  q = queue_of(s, item->stream);
  r->begun[q]++;
  for (sd_stream *x = r->all; x; x = x->next)
    if (x->head && x->head->place == r->begun[q] + 1 && queue_of(s, x) == q) sd_stream_update(s, x);
}

/* A communication kernel on several streams takes part in the queue of the first one. */
static void enter_queue(simdev *s, sd_item *item)
{
  const sd_stream *st = item->stream;
  if (s->choice.queues == 0 || (item->kind == SIMDEV_COMM && !s->nccl->is_first(item))) return;
  item->place = ++s->rank[st->agent.rank].streams.queued[queue_of(s, st)];
}

/* ---- Items ----------------------------------------------------------------------------------- */

void sd_hash_item(simdev *s, uint64_t key)
{
  s->streams.hash = (s->streams.hash ^ key) * 0x9fb21c651e98df25u;
}

int64_t sd_tick(simdev *s)
{
  return ++s->streams.clock;
}

/* The item has ended: it needs nothing any more. */
static void release(simdev *s, sd_item *item)
{
  for (int32_t i = 0; i < item->dep_count; i++) sd_item_drop(s, item->deps[i]);
  sd_buffer_release(&s->arena, item->deps, (size_t)item->dep_count * sizeof(sd_item *));
  if (item->kind == SIMDEV_KERNEL)
    sd_buffer_release(&s->arena, item->u.kernel.params, item->u.kernel.kernel->params_bytes);
  sd_item_drop(s, item);
}

void sd_item_depend(simdev *s, sd_item *item, sd_item *dep)
{
  const int32_t n = item->dep_count;
  sd_item_publish_end(s, dep);
  if ((n & (n - 1)) == 0) { /* full: capacities are powers of two */
    sd_item **more = sd_buffer_acquire(&s->arena, (size_t)(n ? 2 * n : 1) * sizeof(sd_item *));
    if (!more) {
      sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: out of memory for the order between items");
      return;
    }
    for (int32_t i = 0; i < n; i++) more[i] = item->deps[i];
    sd_buffer_release(&s->arena, item->deps, (size_t)n * sizeof(sd_item *));
    item->deps = more;
  }
  item->deps[item->dep_count++] = sd_item_hold(dep);
}

/* The legacy default stream waits for all blocking streams, and they wait for it. */
static void order_legacy(simdev *s, sd_item *item)
{
  sd_stream *st = item->stream;
  const sd_rank *r = &s->rank[st->agent.rank];
  sd_stream *legacy = r->streams.legacy[st->device];
  if (!legacy || (st->flags & cudaStreamNonBlocking)) return;
  if (st != legacy) {
    if (!legacy->last || st->legacy_seen == legacy->last->issue) return;
    sd_item_depend(s, item, legacy->last);
    st->legacy_seen = legacy->last->issue;
    return;
  }
  for (sd_stream *x = r->streams.all; x; x = x->next) {
    if (x == st || x->device != st->device || (x->flags & cudaStreamNonBlocking)) continue;
    /* The legacy stream's last item has waited for older items already. */
    if (x->last && (!st->last || x->last->issue > st->last->issue))
      sd_item_depend(s, item, x->last);
  }
}

void sd_item_issue(simdev *s, sd_item *item)
{
  sd_stream *st = item->stream;
  sd_rank *r = &s->rank[st->agent.rank];
  order_legacy(s, item);
  item->issue = ++s->streams.issued;
  item->serial = ++r->streams.issued[st->device];
  enter_queue(s, item);
  if (!item->in) {
    item->in = sd_sync_new(&s->arena);
    if (item->in) sd_race_publish(item->in);
    else sd_note(s, SIMDEV_E_NO_MEMORY, 1, -1, "simdev: out of memory for an item");
  }
  if (st->head) st->last->next = item;
  sd_item_refer(s, &st->last, item);
  if (!st->head) {
    st->head = item;
    sd_stream_update(s, st);
  }
}

void sd_stream_update(simdev *s, sd_stream *st)
{
  sd_item *item = st->head;
  sd_rank *r = &s->rank[st->agent.rank];
  if (!item || r->process.dead || r->process.lost) {
    sd_ready_remove(s, &st->agent);
    return;
  }
  for (; item->dep_at < item->dep_count; item->dep_at++) {
    sd_item *dep = item->deps[item->dep_at];
    if (dep->done) continue;
    if (st->agent.waits_for != dep) {
      sd_waiters_add(dep, &st->agent);
      item->waited = 1;
    }
    sd_ready_remove(s, &st->agent);
    return;
  }
  if ((item->kind == SIMDEV_COMM && !s->nccl->is_ready(s, item)) ||
      (item->kind != SIMDEV_COMM && !sd_queue_is_next(s, item)) ||
      (s->choice.serialize && item->kind != SIMDEV_COMM &&
       item->serial != r->streams.serial[st->device] + 1)) {
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
    if (a->kind == SD_STREAM) sd_stream_update(s, sd_stream_of_agent(a));
    else sd_host_wake(s, (sd_host *)a);
    a = next;
  }
}

void sd_item_done(simdev *s, sd_item *item)
{
  sd_stream *st = item->stream;
  sd_rank *r = &s->rank[st->agent.rank];
  item->done = 1;
  st->head = item->next;
  s->streams.done++;
  sd_progress(s);
  if (item->kind != SIMDEV_RECORD && item->kind != SIMDEV_WAIT && item->kind != SIMDEV_WORD) {
    sd_hash_item(s, (uint64_t)st->agent.rank << 32 | (uint32_t)st->id);
    s->streams.hash ^= s->streams.hash >> 29;
  }
  if (s->opt.record) sd_record_item(s, item, sd_tick(s));
  wake_waiters(s, item);
  release(s, item);
  sd_stream_update(s, st);
  if (!s->choice.serialize) return;
  r->streams.serial[st->device]++;
  for (sd_stream *x = r->streams.all; x; x = x->next)
    if (x->head && x->head->serial == r->streams.serial[x->device] + 1) sd_stream_update(s, x);
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
    s->nccl->step(s, item);
    return;
  }
  item->begin = sd_tick(s);
  sd_queue_begin(s, item);
  e = s->opt.fault_count ? sd_fault_item(s, item) : cudaSuccess;
  if (e != cudaSuccess) {
    sd_context_lost(s, st->agent.rank, e);
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
  sd_item_publish_end(s, last);
  if (sd_host_block_on(h, last)) return sd_wait_error(h);
  sd_item_acquire(s, h, last);
  return s->rank[h->agent.rank].process.sticky;
}
