/* What was found, in words: what, where, which rank, what to do. */
#include <stdio.h>

#include "internal.h"

#ifdef SIMDEV_TSAN
/* snprintf is seen by ThreadSanitizer, and hosts share the report. */
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
#else
static void __tsan_ignore_thread_begin(void)
{
}
static void __tsan_ignore_thread_end(void)
{
}
#endif

static void append(simdev *s, const char *format, va_list args)
{
  const size_t room = sizeof s->text - s->text_used;
  int n;
  __tsan_ignore_thread_begin();
  n = vsnprintf(s->text + s->text_used, room, format, args);
  __tsan_ignore_thread_end();
  if (n > 0) s->text_used += (size_t)n < room ? (size_t)n : room - 1;
}

void sd_append(simdev *s, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  append(s, format, args);
  va_end(args);
}

void sd_note(simdev *s, simdev_status status, int ends, int32_t rank, const char *format, ...)
{
  va_list args;
  if (s->verdict) return; /* what follows from it would bury it */
  s->report.findings++;
  if (s->report.status == SIMDEV_OK) {
    s->report.status = status;
    s->report.rank = rank;
  }
  if (s->text_used) sd_append(s, "\n");
  va_start(args, format);
  append(s, format, args);
  va_end(args);
  if (ends) s->verdict = status;
}

void sd_print(char *text, size_t cap, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  __tsan_ignore_thread_begin();
  vsnprintf(text, cap, format, args);
  __tsan_ignore_thread_end();
  va_end(args);
}

const char *sd_here(const sd_host *h)
{
  simdev *s = sd_now;
  sd_print(s->here, sizeof s->here, "rank %d, call %d (%s)", h->agent.rank, h->call, h->call_name);
  return s->here;
}

const char *sd_stream_name(const sd_stream *st, char *text, size_t cap)
{
  if (st->name[0]) sd_print(text, cap, "stream '%s'", st->name);
  else if (st->is_legacy) sd_print(text, cap, "the legacy default stream");
  else if (st->default_of) sd_print(text, cap, "a per-thread default stream");
  else sd_print(text, cap, "stream %d", st->id);
  return text;
}

void sd_where_item(const sd_item *item, char *text, size_t cap)
{
  char stream[64], what[128];
  if (item->kind == SIMDEV_COMM) sd_comm_describe(item, what, sizeof what);
  else
    sd_print(what, sizeof what, "%s%s", item->kind == SIMDEV_KERNEL ? "kernel " : "", item->name);
  sd_print(text, cap, "rank %d, %s, %s (call %d)", item->stream->agent.rank,
           sd_stream_name(item->stream, stream, sizeof stream), what, item->call);
}

/* ---- Deadlock -------------------------------------------------------------------------------- */

static void put_host(simdev *s, const sd_host *h)
{
  char item[256];
  const sd_item *waits = sd_host_waits(h);
  if (h->state == SD_ENDED) return;
  sd_append(s, "\n  rank %d's host", h->agent.rank);
  if (h->state == SD_STOPPED) {
    sd_append(s, " was stopped by a fault in call %d (%s)", h->call, h->call_name);
    return;
  }
  if (h->state == SD_AWAITS) {
    sd_append(s, " waits in call %d (%s) for another host", h->call, h->call_name);
    return;
  }
  sd_append(s, " %s in call %d (%s)", h->state == SD_PARKED ? "polls" : "waits", h->call,
            h->call_name ? h->call_name : "none yet");
  if (h->job) sd_job_deadlock(s, h->job);
  if (!waits) return;
  sd_where_item(waits, item, sizeof item);
  sd_append(s, " for: %s", item);
}

static void put_stream(simdev *s, const sd_stream *st)
{
  char where[256], dep[256];
  const sd_item *item = st->head;
  int64_t behind = -1;
  if (!item) return;
  for (const sd_item *i = item; i; i = i->next) behind++;
  sd_where_item(item, where, sizeof where);
  sd_append(s, "\n  %s", where);
  if (s->rank[st->agent.rank].dead) sd_append(s, " stands still: the rank is dead");
  else if (st->agent.waits_for) {
    sd_where_item(st->agent.waits_for, dep, sizeof dep);
    sd_append(s, " waits for %s", dep);
  } else if (item->kind == SIMDEV_COMM) sd_comm_deadlock(s, item);
  else if (s->serialize) sd_append(s, " waits for an older item: streams run in issue order");
  if (behind > 0) sd_append(s, "; %lld more behind it", (long long)behind);
}

void sd_report_deadlock(simdev *s)
{
  int32_t hosts = 0, streams = 0, shown = 0;
  for (int32_t i = 0; i < s->host_count; i++) hosts += s->host[i]->state != SD_ENDED;
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].all; st; st = st->next) streams += st->head != NULL;
  sd_note(s, SIMDEV_E_DEADLOCK, 1, -1,
          "deadlock: nobody can go on; %d of %d hosts have not ended, %d streams are not empty",
          hosts, s->host_count, streams);
  for (int32_t i = 0; i < s->host_count && i < 32; i++) put_host(s, s->host[i]);
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].all; st && shown < 32; st = st->next) {
      put_stream(s, st);
      shown += st->head != NULL;
    }
  if (s->one_comm) sd_append(s, "\n  (each device runs one communication kernel at a time)");
  if (s->serialize) sd_append(s, "\n  (each device runs its streams' items in issue order)");
}

/* ---- Leaks ----------------------------------------------------------------------------------- */

static void put_leak(simdev *s, int32_t rank, const char *format, int32_t call, int32_t *n)
{
  (*n)++;
  if (s->report.status == SIMDEV_OK || s->report.status == SIMDEV_E_LEAK) {
    if (s->report.status == SIMDEV_OK)
      sd_note(s, SIMDEV_E_LEAK, 0, rank, "not given back at the end of the run:");
    sd_append(s, "\n  rank %d: %s made by call %d", rank, format, call);
  }
}

static void leaked_memory(simdev *s, const sd_region *r, const char *kind)
{
  for (int64_t i = 0; i < r->n; i++)
    if (!r->list[i].freed && !s->rank[r->list[i].rank].faulty)
      put_leak(s, r->list[i].rank, kind, r->list[i].call, &s->report.leaked_allocations);
}

void sd_report_leaks(simdev *s)
{
  for (int32_t r = 0; r < s->ranks; r++)
    for (const sd_stream *st = s->rank[r].all; st && !s->rank[r].faulty; st = st->next)
      if (st->mark == SD_MARK_STREAM && !st->is_legacy && !st->default_of)
        put_leak(s, r, "a stream", st->call, &s->report.leaked_streams);
  for (const sd_event *e = s->events; e; e = e->next)
    if (e->mark == SD_MARK_EVENT && !s->rank[e->rank].faulty)
      put_leak(s, e->rank, "an event", e->call, &s->report.leaked_events);
  leaked_memory(s, &s->device, "device memory");
  leaked_memory(s, &s->pinned, "pinned memory");
  sd_comm_leaks(s);
}

void sd_note_leak(simdev *s, int32_t rank, const char *what, int32_t call, int32_t *n)
{
  put_leak(s, rank, what, call, n);
}
