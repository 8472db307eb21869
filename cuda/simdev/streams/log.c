/* Logs a run's accesses and synchronization in place of ThreadSanitizer. All accesses of a fiber
 * between two synchronizations have the same position in the order: they are one operation of the
 * log. */
#define _POSIX_C_SOURCE 200809L
#include "log.h"

#include <stdio.h>
#include <stdlib.h>

#include "../sanitizer/watch.h"
#include "../state.h"

typedef struct range {
  uintptr_t at, end;
} range;

typedef struct ranges {
  range *list;
  int64_t n, cap;
} ranges;

/* A thread of the sanitizer. */
typedef struct fib {
  int32_t id; /* 0: not in the log yet */
  int32_t is_host, depth, item_depth;
  const sd_item *item;
  ranges touched[2]; /* read, written */
  char name[64];
  struct fib *next;
} fib;

/* A sync address, and the events that an acquire of it waits for. */
typedef struct sync_point {
  const void *address;
  int32_t *event;
  int64_t n, cap;
} sync_point;

enum { WAITING, NEXT, RUNS, DONE };

static struct {
  FILE *file, *body;
  const char *(*phase_of)(int32_t rank, int64_t tag);
  char *text;
  size_t bytes;
  int32_t state, fibers, events, failed;
  fib *all, *now, main;
  sync_point *points;
  int64_t point_n, point_cap;
} the;

static void *more(void *list, int64_t n, int64_t *cap, size_t size)
{
  void *p;
  if (n < *cap) return list;
  p = realloc(list, (size_t)(2 * *cap + 8) * size);
  if (!p) {
    fprintf(stderr, "simdev: no memory for the log of stream events\n");
    abort();
  }
  *cap = 2 * *cap + 8;
  return p;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static int32_t id_of(fib *f)
{
  if (f->id == 0) {
    f->id = ++the.fibers;
    if (sd_now && sd_now->hosts.running && sd_now->hosts.running->fiber &&
        sd_race_of(sd_now->hosts.running->fiber) == f) {
      f->is_host = 1;
      sd_print(f->name, sizeof f->name, "rank %d, host %d", sd_now->hosts.running->agent.rank,
               sd_now->hosts.running->id);
    }
  }
  return f->id;
}

static int by_begin(const void *a, const void *b)
{
  const range *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

static void put_ranges(const char *name, ranges *r)
{
  int64_t n = 0;
  qsort(r->list, (size_t)r->n, sizeof *r->list, by_begin);
  for (int64_t i = 0; i < r->n; i++) {
    if (n > 0 && r->list[i].at <= r->list[n - 1].end) {
      if (r->list[n - 1].end < r->list[i].end) r->list[n - 1].end = r->list[i].end;
    } else r->list[n++] = r->list[i];
  }
  fprintf(the.body, ",\"%s\":[", name);
  for (int64_t i = 0; i < n; i++)
    fprintf(the.body, "%s[%llu,%llu]", i ? "," : "", (unsigned long long)r->list[i].at,
            (unsigned long long)(r->list[i].end - r->list[i].at));
  fputc(']', the.body);
  r->n = 0;
}

static void flush(fib *f)
{
  const sd_item *item = f->item;
  const char *phase = item ? the.phase_of(item->stream->agent.rank, item->tag) : NULL;
  const char *name = item ? item->name : NULL;
  if (f->touched[0].n + f->touched[1].n == 0) return;
  if (!name && sd_now && sd_now->hosts.running) name = sd_now->hosts.running->call_name;
  fprintf(the.body, "{\"op\":\"%s\",\"on\":%d,\"by\":%d,\"issue\":%llu", name ? name : "host",
          id_of(f), id_of(f),
          (unsigned long long)(item     ? item->issue
                               : sd_now ? sd_now->streams.issued
                                        : 0));
  if (phase) fprintf(the.body, ",\"phase\":\"%s\"", phase);
  put_ranges("reads", &f->touched[0]);
  put_ranges("writes", &f->touched[1]);
  fputs("}\n", the.body);
}

static void touch(const void *p, size_t n, int write)
{
  ranges *r = &the.now->touched[write];
  const uintptr_t at = (uintptr_t)p;
  if (the.state != RUNS || !sd_now || sd_now->found.verdict || n == 0 ||
      sd_memory_kind_of(sd_now, p) == SD_PAGEABLE)
    return;
  if (r->n > 0 && at <= r->list[r->n - 1].end && at >= r->list[r->n - 1].at) {
    if (r->list[r->n - 1].end < at + n) r->list[r->n - 1].end = at + n;
    return;
  }
  r->list = more(r->list, r->n, &r->cap, sizeof *r->list);
  r->list[r->n++] = (range){at, at + n};
}

/* ---- Synchronization ------------------------------------------------------------------------- */

static sync_point *point_of(const void *address)
{
  for (int64_t i = the.point_n; i-- > 0;) /* the newest are looked up most often */
    if (the.points[i].address == address) return &the.points[i];
  the.points = more(the.points, the.point_n, &the.point_cap, sizeof *the.points);
  the.points[the.point_n] = (sync_point){.address = address};
  return &the.points[the.point_n++];
}

static int logging(void)
{
  return the.state == RUNS && sd_now && !sd_now->found.verdict;
}

static void release(const void *address, int alone)
{
  sync_point *p;
  if (!logging()) return;
  flush(the.now);
  p = point_of(address);
  if (alone) p->n = 0;
  p->event = more(p->event, p->n, &p->cap, sizeof *p->event);
  p->event[p->n++] = ++the.events;
  fprintf(the.body, "{\"record\":%d,\"on\":%d,\"by\":%d}\n", the.events, id_of(the.now),
          id_of(the.now));
}

static void acquire(const void *address)
{
  const sync_point *p;
  if (!logging()) return;
  flush(the.now);
  p = point_of(address);
  for (int64_t i = 0; i < p->n; i++)
    fprintf(the.body, "{\"wait\":%d,\"on\":%d,\"by\":%d}\n", p->event[i], id_of(the.now),
            id_of(the.now));
}

/* ---- Begin and end --------------------------------------------------------------------------- */

int simdev_log_open(const char *dir, const char *(*phase_of)(int32_t rank, int64_t tag))
{
  char path[4096];
  snprintf(path, sizeof path, "%s/streams-0.jsonl", dir);
  the.file = fopen(path, "w");
  the.body = open_memstream(&the.text, &the.bytes);
  the.state = NEXT;
  the.phase_of = phase_of;
  return the.file && the.body ? 0 : -1;
}

static void end_run(void)
{
  for (fib *f = the.all; f; f = f->next) flush(f);
  the.state = DONE;
}

int simdev_log_close(void)
{
  int failed = the.state < RUNS;
  if (!the.file || !the.body) return -1;
  if (the.state == RUNS) end_run();
  fclose(the.body);
  fprintf(the.file, "{\"format\":\"zeroproof/streams/1\",\"rank\":0,\"world\":1}\n");
  for (const fib *f = the.all; f; f = f->next)
    if (f->id)
      fprintf(the.file, "{\"stream\":%d,\"name\":\"%s\"%s}\n", f->id, f->name,
              f->is_host ? ",\"host\":true" : "");
  failed |= fwrite(the.text, 1, the.bytes, the.file) != the.bytes;
  failed |= fputs("{\"end\":true}\n", the.file) < 0;
  failed |= fclose(the.file) != 0;
  free(the.text);
  the.file = the.body = NULL;
  return failed ? -1 : 0;
}

/* ---- For sanitizer/names.c ------------------------------------------------------------------- */

void sd_watch_access(const void *p, size_t n, int write)
{
  if (the.now) touch(p, n, write);
}
void sd_watch_atomic(const void *p, size_t n, int write) /* no race, whatever the order */
{
  (void)p, (void)n, (void)write;
}
void sd_watch_acquire(const void *address)
{
  acquire(address);
}
void sd_watch_release(const void *address, int alone)
{
  release(address, alone);
}

static fib *adopt(fib *f, const char *name)
{
  sd_print(f->name, sizeof f->name, "%s", name);
  f->next = the.all;
  return the.all = f;
}

/* simdev calls this once, when a run begins. */
void *sd_watch_self(void)
{
  if (!the.now) {
    the.now = adopt(&the.main, "scheduler");
    the.main.is_host = 1;
  }
  if (the.state == RUNS) end_run();
  if (the.state == NEXT) the.state = RUNS;
  return the.now;
}
/* Fibers are kept when they end: the log names them. */
void *sd_watch_fiber(void)
{
  fib *f = calloc(1, sizeof *f);
  if (!f) abort();
  return adopt(f, "fiber");
}
void sd_watch_switch(void *fiber)
{
  the.now = fiber;
}
void sd_watch_name(void *fiber, const char *name)
{
  sd_print(((fib *)fiber)->name, sizeof the.now->name, "%s", name);
}

void sd_watch_enter(const void *pc)
{
  fib *f = the.now;
  if (!f) return;
  f->depth++;
  if (f->item || !logging() || !sd_watch_is_item(pc)) return;
  flush(f);
  f->item = pc;
  f->item_depth = f->depth;
}
void sd_watch_leave(void)
{
  fib *f = the.now;
  if (!f) return;
  if (f->item && f->depth == f->item_depth) {
    flush(f);
    f->item = NULL;
  }
  f->depth--;
}
