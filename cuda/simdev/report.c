/* Reports of deadlocks and leaks. */
#include "state.h"

/* ---- Deadlock -------------------------------------------------------------------------------- */

static void put_host(simdev *s, const sd_host *h)
{
  char item[256];
  const sd_item *waits = h->state == SD_HOST_BLOCKED ? h->blocked_by : NULL;
  if (h->state == SD_HOST_ENDED) return;
  sd_append(s, "\n  rank %d's host", h->agent.rank);
  if (h->state == SD_HOST_STOPPED) {
    sd_append(s, " was stopped by a fault in call %d (%s)", h->call, h->call_name);
    return;
  }
  if (h->state == SD_HOST_AWAITING) {
    sd_append(s, " waits in call %d (%s) for another host", h->call, h->call_name);
    return;
  }
  sd_append(s, " %s in call %d (%s)", h->state == SD_HOST_POLLING ? "polls" : "waits", h->call,
            h->call_name ? h->call_name : "none yet");
  if (h->job) s->nccl->append_job(s, h->job);
  if (!waits) return;
  sd_item_text(waits, item, sizeof item);
  sd_append(s, "%s for: %s", h->for_idle ? ", which may wait until the device is idle," : "", item);
}

static void put_stream(simdev *s, const sd_stream *st)
{
  char where[256], dep[256];
  const sd_item *item = st->head;
  int64_t queued = -1;
  if (!item) return;
  for (const sd_item *i = item; i; i = i->next) queued++;
  sd_item_text(item, where, sizeof where);
  sd_append(s, "\n  %s", where);
  if (s->rank[st->agent.rank].process.dead)
    sd_append(s, " does not run: the rank's process has ended");
  else if (st->agent.waits_for) {
    sd_item_text(st->agent.waits_for, dep, sizeof dep);
    sd_append(s, " waits for %s", dep);
  } else if (!sd_queue_is_next(s, item))
    sd_append(s, " waits for an older item of its hardware queue");
  else if (item->kind == SIMDEV_COMM) s->nccl->append_missing(s, item);
  else if (s->choice.serialize)
    sd_append(s, " waits for an older item: streams run in issue order");
  if (queued > 0) sd_append(s, "; %lld more are queued after it", (long long)queued);
}

void sd_report_deadlock(simdev *s)
{
  int32_t hosts = 0, streams = 0, shown = 0;
  for (int32_t i = 0; i < s->hosts.n; i++) hosts += s->hosts.list[i]->state != SD_HOST_ENDED;
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].streams.all; st; st = st->next)
      streams += st->head != NULL;
  sd_note(s, SIMDEV_E_DEADLOCK, 1, -1,
          "deadlock: no host and no stream can run; %d of %d hosts have not ended, %d streams are "
          "not empty",
          hosts, s->hosts.n, streams);
  for (int32_t i = 0; i < s->hosts.n && i < 32; i++) put_host(s, s->hosts.list[i]);
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].streams.all; st && shown < 32; st = st->next) {
      put_stream(s, st);
      shown += st->head != NULL;
    }
  if (s->nccl) s->nccl->append_connecting(s);
  if (s->choice.one_comm) sd_append(s, "\n  (each device runs one communication kernel at a time)");
  if (s->choice.queues > 0)
    sd_append(s, "\n  (each device has %d hardware queue%s, which its streams share)",
              s->choice.queues, s->choice.queues == 1 ? "" : "s");
  if (s->choice.serialize) sd_append(s, "\n  (each device runs its streams' items in issue order)");
}

/* ---- Leaks ----------------------------------------------------------------------------------- */

static void leaked_memory(simdev *s, const sd_alloc *list, int64_t n, const char *kind)
{
  for (int64_t i = 0; i < n; i++)
    if (!list[i].freed && !s->rank[list[i].rank].process.faulty)
      sd_note_leak(s, list[i].rank, kind, list[i].call, &s->found.report.leaked_allocations);
}

void sd_report_leaks(simdev *s)
{
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].streams.all; st && !s->rank[r].process.faulty;
         st = st->next)
      if (st->mark == SD_MARK_STREAM && !st->is_legacy && !st->default_of)
        sd_note_leak(s, r, "a stream", st->call, &s->found.report.leaked_streams);
  for (const sd_event *e = s->events; e; e = e->next)
    if (e->mark == SD_MARK_EVENT && !s->rank[e->rank].process.faulty)
      sd_note_leak(s, e->rank, "an event", e->call, &s->found.report.leaked_events);
  leaked_memory(s, s->memory.device.list, s->memory.device.n, "device memory");
  leaked_memory(s, s->memory.pinned.list, s->memory.pinned.n, "pinned memory");
  leaked_memory(s, s->memory.registered, s->memory.registered_n, "registered memory");
  if (s->nccl) s->nccl->note_leaks(s);
}
