/* Logs a run's accesses and synchronization in place of ThreadSanitizer. All accesses of a fiber
 * between two synchronizations have the same position in the order: they are one operation of the
 * log. */
#define _POSIX_C_SOURCE 200809L
#include "log.h"

#include <stdio.h>
#include <stdlib.h>

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

/* ---- The sanitizer's names ------------------------------------------------------------------- */

int sd_race_mismatch(void)
{
  return 0;
}
void sd_race_read(const void *p, size_t n)
{
  touch(p, n, 0);
}
void sd_race_write(void *p, size_t n)
{
  touch(p, n, 1);
}

void __tsan_init(void)
{
}

static fib *adopt(fib *f, const char *name)
{
  sd_print(f->name, sizeof f->name, "%s", name);
  f->next = the.all;
  return the.all = f;
}

/* simdev calls this once, when a run begins. */
void *__tsan_get_current_fiber(void)
{
  if (!the.now) {
    the.now = adopt(&the.main, "scheduler");
    the.main.is_host = 1;
  }
  if (the.state == RUNS) end_run();
  if (the.state == NEXT) the.state = RUNS;
  return the.now;
}
void *__tsan_create_fiber(unsigned flags)
{
  fib *f = calloc(1, sizeof *f);
  (void)flags;
  if (!f) abort();
  return adopt(f, "fiber");
}
void __tsan_destroy_fiber(void *fiber) /* kept: the log names it */
{
  (void)fiber;
}
void __tsan_switch_to_fiber(void *fiber, unsigned flags)
{
  (void)flags;
  the.now = fiber;
}
void __tsan_set_fiber_name(void *fiber, const char *name)
{
  sd_print(((fib *)fiber)->name, sizeof the.now->name, "%s", name);
}
void __tsan_ignore_thread_begin(void)
{
}
void __tsan_ignore_thread_end(void)
{
}
void __tsan_acquire(void *address)
{
  acquire(address);
}
void __tsan_release(void *address)
{
  release(address, 0);
}

/* simdev puts the item in place of the address of code that an item's accesses are made from. */
void __tsan_func_entry(void *pc)
{
  fib *f = the.now;
  if (!f) return;
  f->depth++;
  if (f->item || !logging() || !sd_arena_contains(&sd_now->arena, pc, sizeof(sd_item))) return;
  flush(f);
  f->item = pc;
  f->item_depth = f->depth;
}
void __tsan_func_exit(void)
{
  fib *f = the.now;
  if (!f) return;
  if (f->item && f->depth == f->item_depth) {
    flush(f);
    f->item = NULL;
  }
  f->depth--;
}

#define ACCESS(n)                                                                                  \
  void __tsan_read##n(void *p);                                                                    \
  void __tsan_read##n(void *p)                                                                     \
  {                                                                                                \
    touch(p, n, 0);                                                                                \
  }                                                                                                \
  void __tsan_write##n(void *p);                                                                   \
  void __tsan_write##n(void *p)                                                                    \
  {                                                                                                \
    touch(p, n, 1);                                                                                \
  }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *p, unsigned long n)
{
  touch(p, n, 0);
}
void __tsan_write_range(void *p, unsigned long n)
{
  touch(p, n, 1);
}

/* All fibers run on one thread; atomics that are stronger than relaxed order them. */
#define ATOMIC(bits, type)                                                                         \
  type __tsan_atomic##bits##_load(const volatile type *p, int order);                              \
  type __tsan_atomic##bits##_load(const volatile type *p, int order)                               \
  {                                                                                                \
    if (order != __ATOMIC_RELAXED) acquire((const void *)(uintptr_t)p);                            \
    return *p;                                                                                     \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_add(volatile type *p, type v, int order);                       \
  type __tsan_atomic##bits##_fetch_add(volatile type *p, type v, int order)                        \
  {                                                                                                \
    const type old = *p;                                                                           \
    if (order != __ATOMIC_RELAXED) acquire((const void *)(uintptr_t)p);                            \
    *p = old + v;                                                                                  \
    if (order != __ATOMIC_RELAXED) release((const void *)(uintptr_t)p, 0);                         \
    return old;                                                                                    \
  }                                                                                                \
  type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order);                        \
  type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order)                         \
  {                                                                                                \
    const type old = *p;                                                                           \
    if (order != __ATOMIC_RELAXED) acquire((const void *)(uintptr_t)p);                            \
    *p = v;                                                                                        \
    if (order != __ATOMIC_RELAXED) release((const void *)(uintptr_t)p, 0);                         \
    return old;                                                                                    \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_sub(volatile type *p, type v, int order);                       \
  type __tsan_atomic##bits##_fetch_sub(volatile type *p, type v, int order)                        \
  {                                                                                                \
    return __tsan_atomic##bits##_fetch_add(p, (type)0 - v, order);                                 \
  }
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic32_store(volatile uint32_t *p, uint32_t v, int order);
void __tsan_atomic32_store(volatile uint32_t *p, uint32_t v, int order)
{
  *p = v;
  if (order != __ATOMIC_RELAXED) release((const void *)(uintptr_t)p, 1);
}
void __tsan_atomic64_store(volatile uint64_t *p, uint64_t v, int order)
{
  *p = v;
  if (order != __ATOMIC_RELAXED) release((const void *)(uintptr_t)p, 1);
}

/* The linker redirects the program's calls here (--wrap), as the sanitizer intercepts them. */
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int value, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int value, size_t n);

static void copied(void *to, const void *from, size_t n)
{
  if (!the.now) return;
  touch(from, n, 0);
  touch(to, n, 1);
}
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
  copied(to, from, n);
  return __real_memcpy(to, from, n);
}
void *__wrap_memmove(void *to, const void *from, size_t n)
{
  copied(to, from, n);
  return __real_memmove(to, from, n);
}
void *__wrap_memset(void *to, int value, size_t n)
{
  if (the.now) touch(to, n, 1);
  return __real_memset(to, value, n);
}
