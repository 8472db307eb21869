/* Communication kernels on the device: when they begin, which data they contribute, when they end.
 *
 * On its stream's fiber, a kernel reads its send buffers when it begins, and writes its receive
 * buffers when it ends. It acquires only from the members whose data it writes. */
#include "nccl_parts.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

static int32_t count_ops(const sd_launch *l)
{
  int32_t n = 0;
  for (const sd_op *op = l->ops; op; op = op->next) n++;
  return n;
}

static sd_launch *hold(sd_launch *l)
{
  if (l) l->holds++;
  return l;
}

static void drop(simdev *s, sd_launch *l)
{
  if (!l || --l->holds > 0) return;
  for (int32_t i = 0; i < l->streams; i++) sd_item_drop(s, l->item[i]);
  sd_forget(s, l->item, (size_t)count_ops(l) * sizeof(sd_item *));
  for (sd_op *op = l->ops, *next; op; op = next) {
    next = op->next;
    sd_forget(s, op, sizeof *op);
  }
  sd_forget(s, l, sizeof *l);
}

static void refer(simdev *s, sd_launch **at, sd_launch *l)
{
  hold(l);
  drop(s, *at);
  *at = l;
}

/* ---- Issue ----------------------------------------------------------------------------------- */

static int32_t count_streams(const sd_launch *l, sd_stream **list)
{
  int32_t n = 0;
  for (const sd_op *op = l->ops; op; op = op->next) {
    int32_t i = 0;
    while (i < n && list[i] != op->stream) i++;
    if (i == n) list[n++] = op->stream;
  }
  return n;
}

/* Puts the kernel on all streams of its operations. in: the sync address that it acquires; NULL:
 * the calling host's work. */
void sd_launch_issue(simdev *s, sd_launch *l, uint64_t *in)
{
  sd_nccl_rank *r = &s->nccl_state->rank[l->comm->rank];
  const int32_t ops = count_ops(l);
  sd_stream **streams = sd_buffer_acquire(&s->arena, (size_t)ops * sizeof(sd_stream *));
  l->item = sd_buffer_zeroed(&s->arena, (size_t)ops * sizeof(sd_item *));
  if (!streams || !l->item) goto memory;
  l->streams = count_streams(l, streams);
  l->join = l->streams > 1 ? sd_sync_new(&s->arena) : NULL;
  l->split = l->streams > 1 ? sd_sync_new(&s->arena) : NULL;
  if (l->streams > 1 && (!l->join || !l->split)) goto memory;
  if (l->comm->last && !l->comm->last->ended) l->before_comm = hold(l->comm->last);
  refer(s, &l->comm->last, l);
  if (l->comm->implicit) {
    l->before_device = hold(r->last_launch[l->comm->device]);
    refer(s, &r->last_launch[l->comm->device], l);
  }
  for (int32_t i = 0; i < l->streams; i++) {
    sd_item *item = sd_item_make(streams[i], SIMDEV_COMM, l->ops->name, l->ops->call, l->ops->pc);
    if (!item) goto memory;
    item->tag = l->ops->tag; /* the host may have changed its tag */
    item->u.launch = l;
    if (in) item->in = in;
    l->item[i] = sd_item_hold(item);
  }
  sd_buffer_release(&s->arena, streams, (size_t)ops * sizeof(sd_stream *));
  for (int32_t i = 0; i < l->streams; i++) sd_item_issue(s, l->item[i]);
  return;
memory:
  sd_note(s, SIMDEV_E_NO_MEMORY, 1, l->comm->rank, "simdev: out of memory for an operation");
}

/* ---- Begin ----------------------------------------------------------------------------------- */

static int at_heads(const sd_launch *l)
{
  for (int32_t i = 0; i < l->streams; i++) {
    const sd_item *item = l->item[i];
    if (!item || item->stream->head != item || item->dep_at < item->dep_count) return 0;
  }
  return 1;
}

static int can_begin(const simdev *s, const sd_launch *l)
{
  const int32_t rank = l->comm->rank, device = l->comm->device;
  if (!at_heads(l) || !sd_queue_is_next(s, l->item[0])) return 0;
  if (l->before_comm && !l->before_comm->ended) return 0;
  if (l->comm->aborted) return 1;
  if (l->before_device && !l->before_device->started) return 0;
  if (s->choice.one_comm && s->nccl_state->rank[rank].running[device] > 0) return 0;
  return !s->choice.serialize || l->item[0]->serial == s->rank[rank].streams.serial[device] + 1;
}

static int is_satisfied(const sd_op *op)
{
  const int32_t n = op->comm->clique->n;
  switch (op->kind) {
  case SD_SEND: return op->early || (op->partner && op->partner->started);
  case SD_RECV: return op->partner && op->partner->started;
  case SD_BROADCAST:
    if (op->peer != op->comm->index)
      return op->coll->op[op->peer] && op->coll->op[op->peer]->started;
    return op->early || op->coll->started == n;
  case SD_REDUCE: return (op->peer != op->comm->index && op->early) || op->coll->started == n;
  default: return op->coll->started == n;
  }
}

static int can_end(const sd_launch *l)
{
  if (l->comm->aborted) return 1;
  for (const sd_op *op = l->ops; op; op = op->next)
    if (!is_satisfied(op)) return 0;
  return 1;
}

/* Only the first stream's item can be ready: it runs the kernel for all streams. */
int sd_launch_is_ready(simdev *s, sd_item *item)
{
  sd_launch *l = item->u.launch;
  const int ready = !l->ended && (l->started ? can_end(l) : can_begin(s, l));
  if (item == l->item[0]) return ready;
  if (ready) sd_ready_add(s, &l->item[0]->stream->agent);
  return 0;
}

void sd_launch_recheck(simdev *s, int32_t rank)
{
  for (sd_stream *st = s->rank[rank].streams.all; st; st = st->next)
    if (st->head && st->head->kind == SIMDEV_COMM && st->head->dep_at == st->head->dep_count)
      sd_stream_update(s, st);
}

static void recheck_stream(simdev *s, const sd_op *op)
{
  if (op && op->started && !op->launch->ended) sd_stream_update(s, op->launch->item[0]->stream);
}

static size_t contribution(const sd_op *op)
{
  const size_t bytes = op->count * sd_dtype_bytes(op->dtype);
  if (op->kind == SD_RECV) return 0;
  if (op->kind == SD_BROADCAST && op->peer != op->comm->index) return 0;
  return op->kind == SD_REDUCE_SCATTER ? bytes * (size_t)op->comm->clique->n : bytes;
}

static int is_live(simdev *s, const sd_op *op, const void *p, size_t bytes, const char *verb)
{
  return sd_memory_range(s, op->comm->rank, p, bytes, verb, op->launch->item[0]) == cudaSuccess;
}

static void contribute(simdev *s, sd_op *op)
{
  const size_t bytes = contribution(op);
  op->early = s->choice.early == 2 ? (int32_t)sd_below(s, 2) : s->choice.early;
  if (bytes > 0 && is_live(s, op, op->send, bytes, "reads")) {
    op->staging = sd_buffer_acquire(&s->arena, bytes);
    if (!op->staging) {
      sd_note(s, SIMDEV_E_NO_MEMORY, 1, op->comm->rank, "simdev: out of memory for a message");
      return;
    }
    sd_race_begin(op->launch->item[0], op->pc);
    sd_race_read(op->send, bytes);
    sd_race_end();
    sd_copy_bytes(op->staging, op->send, bytes);
  }
  sd_race_publish(op->sync);
}

static void wake_peers(simdev *s, const sd_op *op)
{
  if (op->kind >= SD_SEND) {
    recheck_stream(s, op->partner);
    return;
  }
  for (int32_t i = 0; i < op->comm->clique->n; i++) recheck_stream(s, op->coll->op[i]);
}

static void begin(simdev *s, sd_launch *l)
{
  const cudaError_t e = s->opt.fault_count ? sd_fault_item(s, l->item[0]) : cudaSuccess;
  if (e != cudaSuccess) {
    sd_context_lost(s, l->comm->rank, e);
    return;
  }
  for (int32_t i = l->streams - 1; i >= 0; i--) { /* the first one, which runs the kernel, is
                                                   * last */
    sd_item *item = l->item[i];
    item->begin = sd_tick(s);
    sd_fiber_enter(s, item->stream);
    sd_race_acquire(item->in);
    for (int32_t d = 0; d < item->dep_count; d++) sd_race_acquire(item->deps[d]->out);
    if (i > 0) sd_race_release(l->join);
    else if (l->streams > 1) sd_race_acquire(l->join);
    if (i > 0) sd_fiber_leave(s, item->stream);
  }
  for (sd_op *op = l->ops; op && !l->comm->aborted; op = op->next) contribute(s, op);
  sd_fiber_leave(s, l->item[0]->stream);
  sd_hash_item(s, (uint64_t)1 << 62 | (uint64_t)l->comm->rank << 32 |
                      (uint32_t)l->item[0]->stream->id);
  sd_progress(s);
  l->started = 1;
  s->nccl_state->rank[l->comm->rank].running[l->comm->device]++;
  sd_queue_begin(s, l->item[0]);
  if (l->comm->aborted) return;
  for (sd_op *op = l->ops; op; op = op->next) {
    op->started = 1;
    if (op->coll) op->coll->started++;
  }
  for (sd_op *op = l->ops; op; op = op->next) wake_peers(s, op);
}

/* ---- End ------------------------------------------------------------------------------------- */

static void from(simdev *s, const sd_op *op, sd_op *source)
{
  sd_race_acquire(source->sync);
  if (s->opt.record && source != op)
    sd_record_edge(s, SIMDEV_EDGE_DATA, source->launch->item[0], op->launch->item[0]);
}

static void result(simdev *s, sd_op *op, const void *data, size_t bytes, size_t at)
{
  sd_race_write((char *)op->recv + at, bytes);
  sd_copy_bytes((char *)op->recv + at, data, bytes);
  (void)s;
}

/* All-reduce and reduce are computed once, so that all members have the same bits. */
static const void *reduced(simdev *s, sd_op *op, size_t bytes)
{
  sd_coll *c = op->coll;
  if (c->result) return c->result;
  c->result = sd_buffer_acquire(&s->arena, bytes);
  if (c->result) sd_reduce(s, c, op->comm->clique->n, 0, op->count, c->result);
  return c->result;
}

static void reduce_scatter(simdev *s, sd_op *op, size_t bytes)
{
  void *part = sd_buffer_acquire(&s->arena, bytes);
  if (!part) return;
  sd_reduce(s, op->coll, op->comm->clique->n, (size_t)op->comm->index * op->count, op->count, part);
  result(s, op, part, bytes, 0);
  sd_buffer_release(&s->arena, part, bytes);
}

static void receive(simdev *s, sd_op *op)
{
  const int32_t n = op->comm->clique->n;
  const size_t bytes = op->count * sd_dtype_bytes(op->dtype);
  sd_op **all = op->coll ? op->coll->op : NULL;
  const int takes_all =
      op->kind <= SD_ALL_GATHER || (op->kind == SD_REDUCE && op->peer == op->comm->index);
  if (op->kind == SD_SEND || bytes == 0) return;
  if (op->kind == SD_REDUCE && !takes_all) return;
  if (!is_live(s, op, op->recv, op->kind == SD_ALL_GATHER ? bytes * (size_t)n : bytes, "writes"))
    return;
  for (int32_t i = 0; takes_all && i < n; i++) from(s, op, all[i]);
  switch (op->kind) {
  case SD_RECV:
    from(s, op, op->partner);
    result(s, op, op->partner->staging, bytes, 0);
    break;
  case SD_BROADCAST:
    from(s, op, all[op->peer]);
    if (op->peer != op->comm->index || op->recv != op->send)
      result(s, op, all[op->peer]->staging, bytes, 0);
    break;
  case SD_ALL_GATHER:
    for (int32_t i = 0; i < n; i++) result(s, op, all[i]->staging, bytes, bytes * (size_t)i);
    break;
  case SD_REDUCE_SCATTER: reduce_scatter(s, op, bytes); break;
  default: /* all-reduce, reduce */
    if (reduced(s, op, bytes)) result(s, op, op->coll->result, bytes, 0);
    break;
  }
}

/* Releases contributions, and launches, that no member needs any more. */
static void forget(simdev *s, sd_op *op)
{
  sd_clique *clique = op->comm->clique;
  sd_coll *c = op->coll;
  op->over = 1;
  if (op->kind == SD_RECV && op->partner) {
    sd_buffer_release(&s->arena, op->partner->staging, contribution(op->partner));
    op->partner->staging = NULL;
  }
  if (op->partner && op->partner->over) {
    drop(s, op->partner->launch);
    drop(s, op->launch);
  }
  if (!c || ++c->ended < clique->n) return;
  clique->coll[op->number - clique->coll_first] = NULL;
  sd_buffer_release(&s->arena, c->result, op->count * sd_dtype_bytes(op->dtype));
  for (int32_t i = 0; i < clique->n; i++) {
    sd_buffer_release(&s->arena, c->op[i]->staging, contribution(c->op[i]));
    drop(s, c->op[i]->launch);
  }
  sd_forget(s, c->op, (size_t)clique->n * sizeof(sd_op *));
  sd_forget(s, c, sizeof *c);
}

static void end(simdev *s, sd_launch *l)
{
  sd_item *first = l->item[0];
  sd_comm *comm = l->comm;
  sd_fiber_enter(s, first->stream);
  sd_race_begin(first, first->pc);
  for (sd_op *op = l->ops; op && !comm->aborted; op = op->next) receive(s, op);
  sd_race_end();
  if (l->streams > 1) sd_race_publish(l->split);
  sd_fiber_leave(s, first->stream);
  for (sd_op *op = l->ops; op && !comm->aborted; op = op->next) forget(s, op);
  l->ended = 1;
  comm->outstanding--;
  s->nccl_state->rank[comm->rank].running[comm->device]--;
  for (int32_t i = 0; i < l->streams; i++) {
    sd_item *item = l->item[i];
    sd_fiber_enter(s, item->stream);
    if (i > 0) sd_race_acquire(l->split);
    if (item->out) sd_race_publish(item->out);
    sd_fiber_leave(s, item->stream);
    sd_item_done(s, item);
  }
  drop(s, l->before_comm);
  drop(s, l->before_device);
  drop(s, l);
  sd_launch_recheck(s, comm->rank);
  if (comm->clique->finalized) sd_finalize_check(s, comm->clique);
}

void sd_launch_step(simdev *s, sd_item *item)
{
  sd_launch *l = item->u.launch;
  if (l->started) {
    end(s, l);
    return;
  }
  begin(s, l);
  if (!l->started) return;
  sd_stream_update(s, item->stream);
  sd_launch_recheck(s, l->comm->rank);
}

int sd_launch_is_first(const sd_item *item)
{
  return item == item->u.launch->item[0];
}

int sd_launch_uses(const sd_item *item, const char *low, const char *high)
{
  const sd_launch *l = item->u.launch;
  for (const sd_op *op = l->ops; op; op = op->next) {
    const size_t bytes = op->count * sd_dtype_bytes(op->dtype);
    const size_t all = bytes * (size_t)op->comm->clique->n;
    const size_t in = op->kind == SD_REDUCE_SCATTER ? all : bytes;
    const size_t out = op->kind == SD_ALL_GATHER ? all : bytes;
    const char *send = op->send, *recv = op->recv;
    if (send && !l->started && send < high && send + in > low) return 1;
    if (recv && recv < high && recv + out > low) return 1;
  }
  return 0;
}
