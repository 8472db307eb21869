/* ThreadSanitizer's reports become findings: a run that races ends there, with rank, streams and
 * memory in its report. The stacks are on stderr, where the sanitizer has written them. */
#include "internal.h"

#ifdef SIMDEV_TSAN

enum { FRAMES = 64 };

/* Called so that a linker takes this file out of the library. */
int sd_race_mismatch(void)
{
  return 0;
}

int __tsan_get_report_data(void *report, const char **description, int *count, int *stacks,
                           int *accesses, int *locations, int *mutexes, int *threads,
                           int *unique_tids, void **sleep_trace, unsigned long size);
int __tsan_get_report_mop(void *report, unsigned long i, int *tid, void **address, int *bytes,
                          int *write, int *atomic, void **trace, unsigned long size);
int __tsan_get_report_thread(void *report, unsigned long i, int *tid, uint64_t *os_id, int *running,
                             const char **name, int *parent, void **trace, unsigned long size);

/* The same race must be reported again in another run: each run is judged for itself. A long
 * history, as the other access may have been long ago. And no second of sleep before each end: what a
 * run does is judged when its streams have come to rest. A program may add to this with its own. */
__attribute__((weak)) const char *__tsan_default_options(void)
{
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:history_size=5:atexit_sleep_ms=0";
}

/* In runs, so that a long copy that races ends soon: each of its words would be a report. */
enum { RUN = 256 };

void sd_race_read(const void *p, size_t n)
{
  char *at = (char *)(uintptr_t)p;
  for (; n > 0 && !sd_now->verdict; n -= n < RUN ? n : RUN, at += RUN)
    __tsan_read_range(at, n < RUN ? n : RUN);
}

void sd_race_write(void *p, size_t n)
{
  char *at = p;
  for (; n > 0 && !sd_now->verdict; n -= n < RUN ? n : RUN, at += RUN)
    __tsan_write_range(at, n < RUN ? n : RUN);
}

static const char *name_of(void *report, int threads, int tid)
{
  for (int i = 0; i < threads; i++) {
    void *trace[FRAMES];
    const char *name = NULL;
    uint64_t os_id;
    int id, running, parent;
    __tsan_get_report_thread(report, (unsigned long)i, &id, &os_id, &running, &name, &parent, trace,
                             FRAMES);
    if (id == tid && name && name[0]) return name;
  }
  return "a thread of the program";
}

/* The item in whose name the access was made: the stack's outermost frame (sd_race_begin). */
static const sd_item *item_of(const simdev *s, void *const *trace)
{
  for (int i = FRAMES; i-- > 0;)
    if (trace[i] && sd_is_taken(s, trace[i], sizeof(sd_item))) return trace[i];
  return NULL;
}

static void put_access(simdev *s, void *report, int i, int threads)
{
  void *trace[FRAMES] = {NULL}, *address = NULL;
  int tid = 0, bytes = 0, write = 0, atomic = 0;
  char where[256];
  const sd_alloc *a;
  const sd_item *item;
  __tsan_get_report_mop(report, (unsigned long)i, &tid, &address, &bytes, &write, &atomic, trace,
                        FRAMES);
  item = item_of(s, trace);
  /* The first is the later one, which runs now. */
  if (item) sd_where_item(item, where, sizeof where);
  else if (i == 0 && s->running) sd_print(where, sizeof where, "%s", sd_here(s->running));
  else sd_print(where, sizeof where, "%s", name_of(report, threads, tid));
  sd_append(s, "\n  %s of %d bytes by %s", write ? "write" : "read", bytes, where);
  a = sd_memory_find(s, address);
  if (i == 0 && a)
    sd_append(s, ", at +%zu of %s memory of %zu bytes (rank %d, call %d)",
              (size_t)((char *)address - a->at), a->place == SD_DEVICE ? "device" : "pinned",
              a->bytes, a->rank, a->call);
}

/* What the sanitizer asks before it prints a report, on the fiber that made the later access; the
 * name is C++'s for __tsan::OnReport(const ReportDesc *, bool). Result: is it to be kept quiet? One
 * report a run is enough: a loop that races would print one for each element. */
_Bool sd_on_report(void *report, _Bool quiet) __asm__("_ZN6__tsan8OnReportEPKNS_10ReportDescEb");

_Bool sd_on_report(void *report, _Bool quiet)
{
  simdev *s = sd_now;
  const char *description;
  int count, stacks, accesses = 0, locations, mutexes, threads = 0, tids;
  void *sleep[1];
  if (!s || quiet) return quiet;
  if (s->running || s->on) {
    __tsan_ignore_thread_begin();
    ++*(s->running ? &s->running->muted : &s->on->muted);
  }
  if (s->raced) return 1;
  s->raced = 1;
  if (s->verdict) return 0;
  __tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes,
                         &threads, &tids, sleep, 1);
  sd_note(s, SIMDEV_E_RACE, 0, -1, "race: two accesses that nothing orders");
  for (int i = 0; i < accesses && i < 2; i++) put_access(s, report, i, threads);
  sd_append(s, "\n  ThreadSanitizer has written the stacks: kernels, and where they were issued");
  s->verdict = SIMDEV_E_RACE;
  return 0;
}

#endif
