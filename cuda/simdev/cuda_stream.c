/* cudaStream… and cudaEvent… The headers use the names that end in _ptsz if
 * CUDA_API_PER_THREAD_DEFAULT_STREAM is defined. */
#include "state.h"

/* ---- Streams --------------------------------------------------------------------------------- */

static cudaError_t create(const char *name, const void *pc, cudaStream_t *stream, unsigned flags,
                          int priority)
{
  sd_host *h;
  sd_stream *st;
  cudaError_t e = sd_call_enter(&h, name, pc);
  if (e) return e;
  if (!stream || (flags & ~(unsigned)cudaStreamNonBlocking))
    return sd_error(h, cudaErrorInvalidValue);
  st = sd_stream_make(sd_now, h->agent.rank, h->device, flags,
                      sd_now->rank[h->agent.rank].streams.created++);
  if (!st) return sd_error(h, cudaErrorMemoryAllocation);
  sd_now->rank[h->agent.rank].created++;
  st->call = h->call;
  st->priority = priority;
  *stream = (cudaStream_t)st;
  sd_stream_name_fiber(st);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
  return create("cudaStreamCreate", SD_PC, stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
  return create("cudaStreamCreateWithFlags", SD_PC, stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
  return create("cudaStreamCreateWithPriority", SD_PC, stream, flags, priority);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
  sd_host *h;
  cudaError_t e = sd_call_enter(&h, "cudaDeviceGetStreamPriorityRange", SD_PC);
  if (e) return e;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

/* The stream finishes its work; the handle becomes invalid at once. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  sd_host *h;
  sd_stream *st;
  cudaError_t e = sd_call_enter(&h, "cudaStreamDestroy", SD_PC);
  if (e) return e;
  if (sd_is_stream_default(stream)) return sd_error(h, cudaErrorInvalidResourceHandle);
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  st->mark = SD_MARK_GONE;
  return cudaSuccess;
}

static cudaError_t query(const void *pc, cudaStream_t stream)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_stream *st;
  cudaError_t e = sd_call_enter(&h, "cudaStreamQuery", pc);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  if (!st->last) return cudaSuccess;
  if (!st->last->done) {
    sd_host_park(h, st->last);
    return sd_error(h, s->found.verdict ? cudaErrorUnknown : cudaErrorNotReady);
  }
  sd_item_publish_end(s, st->last);
  sd_item_acquire(s, h, st->last);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
  return query(SD_PC, stream);
}

static cudaError_t synchronize(const void *pc, cudaStream_t stream)
{
  sd_host *h;
  sd_stream *st;
  cudaError_t e = sd_call_enter(&h, "cudaStreamSynchronize", pc);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  return sd_error(h, sd_stream_wait(h, st));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
  return synchronize(SD_PC, stream);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
  sd_host *h;
  sd_stream *st;
  cudaError_t e = sd_call_enter(&h, "cudaStreamGetFlags", SD_PC);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st || !flags) return sd_error(h, cudaErrorInvalidResourceHandle);
  *flags = st->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
  sd_host *h;
  sd_stream *st;
  cudaError_t e = sd_call_enter(&h, "cudaStreamGetPriority", SD_PC);
  if (e) return e;
  st = sd_stream_of(h, stream);
  if (!st || !priority) return sd_error(h, cudaErrorInvalidResourceHandle);
  *priority = st->priority;
  return cudaSuccess;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static sd_event *event_of(sd_host *h, cudaEvent_t handle)
{
  simdev *s = sd_now;
  sd_event *ev = (sd_event *)handle;
  if (sd_arena_contains(&s->arena, ev, sizeof *ev) && ev->mark == SD_MARK_EVENT &&
      ev->rank == h->agent.rank)
    return ev;
  if (!sd_arena_contains(&s->arena, ev, sizeof *ev))
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %p is not an event", sd_call_text(h),
            (void *)ev);
  else if (ev->mark == SD_MARK_EVENT)
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: the event belongs to rank %d",
            sd_call_text(h), ev->rank);
  else
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank, "%s: %s", sd_call_text(h),
            ev->mark == SD_MARK_GONE ? "the event is destroyed" : "the handle is not an event");
  return NULL;
}

static cudaError_t create_event(const char *name, const void *pc, cudaEvent_t *event,
                                unsigned flags)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_event *ev;
  cudaError_t e = sd_call_enter(&h, name, pc);
  if (e) return e;
  if (!event) return sd_error(h, cudaErrorInvalidValue);
  ev = sd_arena_alloc(&s->arena, sizeof *ev);
  if (!ev) return sd_error(h, cudaErrorMemoryAllocation);
  ev->mark = SD_MARK_EVENT;
  ev->id = s->rank[h->agent.rank].events++;
  s->rank[h->agent.rank].created++;
  ev->rank = h->agent.rank;
  ev->device = h->device;
  ev->call = h->call;
  ev->flags = flags;
  if (s->opt.weaken & SIMDEV_WEAK_EVENTS) ev->shared_sync = sd_sync_new(&s->arena);
  ev->next = s->events;
  s->events = ev;
  *event = (cudaEvent_t)ev;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
  return create_event("cudaEventCreate", SD_PC, event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
  return create_event("cudaEventCreateWithFlags", SD_PC, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
  sd_host *h;
  sd_event *ev;
  cudaError_t e = sd_call_enter(&h, "cudaEventDestroy", SD_PC);
  if (e) return e;
  ev = event_of(h, event);
  if (!ev) return sd_error(h, cudaErrorInvalidResourceHandle);
  ev->mark = SD_MARK_GONE;
  sd_item_drop(sd_now, ev->record);
  ev->record = NULL;
  return cudaSuccess;
}

/* A record, or a wait for the current record; a wait for an event without a record does nothing. */
static cudaError_t put(const void *pc, simdev_item_kind kind, cudaEvent_t event,
                       cudaStream_t stream)
{
  const char *name = kind == SIMDEV_RECORD ? "cudaEventRecord" : "cudaStreamWaitEvent";
  simdev *s = sd_now;
  sd_host *h;
  sd_event *ev;
  sd_stream *st;
  sd_item *item;
  cudaError_t e = sd_call_enter(&h, name, pc);
  if (e) return e;
  ev = event_of(h, event);
  st = ev ? sd_stream_of(h, stream) : NULL;
  if (!st) return sd_error(h, cudaErrorInvalidResourceHandle);
  if (kind == SIMDEV_RECORD && ev->device != st->device) {
    sd_note(s, SIMDEV_E_MISUSE, 0, h->agent.rank,
            "rank %d, call %d (cudaEventRecord): the event is device %d's, the stream device %d's",
            h->agent.rank, h->call, ev->device, st->device);
    return sd_error(h, cudaErrorInvalidResourceHandle);
  }
  item = sd_item_make(st, kind, name, h->call, pc);
  if (!item) return sd_error(h, cudaErrorMemoryAllocation);
  if (sd_record_sync(s, h, st, ev, item) || (kind == SIMDEV_WAIT && !ev->record)) {
    sd_item_drop(s, item);
    return cudaSuccess;
  }
  item->u.event = ev;
  if (kind == SIMDEV_WAIT) sd_item_depend(s, item, ev->record);
  else {
    item->out = s->opt.weaken & SIMDEV_WEAK_EVENTS ? ev->shared_sync : sd_sync_new(&s->arena);
    if (!item->out) return sd_error(h, cudaErrorMemoryAllocation);
    sd_item_refer(s, &ev->record, item);
  }
  sd_item_issue(s, item);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  return put(SD_PC, SIMDEV_RECORD, event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
  (void)flags; /* they only affect capture */
  return put(SD_PC, SIMDEV_RECORD, event, stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
  (void)flags;
  return put(SD_PC, SIMDEV_WAIT, event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_event *ev;
  cudaError_t e = sd_call_enter(&h, "cudaEventQuery", SD_PC);
  if (e) return e;
  ev = event_of(h, event);
  if (!ev) return sd_error(h, cudaErrorInvalidResourceHandle);
  if (!ev->record) return cudaSuccess;
  if (!ev->record->done) {
    sd_host_park(h, ev->record);
    return sd_error(h, s->found.verdict ? cudaErrorUnknown : cudaErrorNotReady);
  }
  sd_item_acquire(s, h, ev->record);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
  simdev *s = sd_now;
  sd_host *h;
  sd_event *ev;
  sd_item *record;
  cudaError_t e = sd_call_enter(&h, "cudaEventSynchronize", SD_PC);
  if (e) return e;
  ev = event_of(h, event);
  if (!ev) return sd_error(h, cudaErrorInvalidResourceHandle);
  record = ev->record;
  if (!record) return cudaSuccess;
  if (sd_host_block_on(h, record)) return sd_wait_error(h);
  sd_item_acquire(s, h, record);
  return sd_error(h, s->rank[h->agent.rank].process.sticky);
}

/* ---- Per-thread default stream --------------------------------------------------------------- */

static cudaStream_t own(cudaStream_t stream)
{
  return stream ? stream : cudaStreamPerThread;
}

cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream)
{
  return query(SD_PC, own(stream));
}

cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream)
{
  return synchronize(SD_PC, own(stream));
}

cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
  (void)flags;
  return put(SD_PC, SIMDEV_WAIT, event, own(stream));
}

cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
  return put(SD_PC, SIMDEV_RECORD, event, own(stream));
}

cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
  (void)flags;
  return put(SD_PC, SIMDEV_RECORD, event, own(stream));
}
