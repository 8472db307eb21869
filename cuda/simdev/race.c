/* Makes findings of ThreadSanitizer's reports: a race ends the run, with ranks, streams and memory
 * in the report. The sanitizer writes the stacks to stderr. */
#include "state.h"

#ifdef SIMDEV_TSAN

enum { FRAMES = 64 };

/* Called so that the linker includes this file of the library. */
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

/* A race is reported again in each run. The history is long, because the other access may be old.
 * The sanitizer does not sleep at exit, because all streams have ended by then. A program may
 * define its own options. */
__attribute__((weak)) const char *__tsan_default_options(void)
{
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:history_size=5:atexit_sleep_ms=0";
}

/* In blocks, so that a long copy that races stops after one block: each word would be a report. */
enum { BLOCK = 256 };

void sd_race_read(const void *p, size_t n)
{
  char *at = (char *)(uintptr_t)p;
  for (; n > 0 && !sd_now->found.verdict; n -= n < BLOCK ? n : BLOCK, at += BLOCK)
    __tsan_read_range(at, n < BLOCK ? n : BLOCK);
}

void sd_race_write(void *p, size_t n)
{
  char *at = p;
  for (; n > 0 && !sd_now->found.verdict; n -= n < BLOCK ? n : BLOCK, at += BLOCK)
    __tsan_write_range(at, n < BLOCK ? n : BLOCK);
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

/* The item that made the access: the stack's outermost frame (sd_race_begin). */
static const sd_item *item_of(const simdev *s, void *const *trace)
{
  for (int i = FRAMES; i-- > 0;)
    if (trace[i] && sd_arena_contains(&s->arena, trace[i], sizeof(sd_item))) return trace[i];
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
  /* The first access is the later one, by the fiber that runs. */
  if (item) sd_item_text(item, where, sizeof where);
  else if (i == 0 && s->hosts.running)
    sd_print(where, sizeof where, "%s", sd_call_text(s->hosts.running));
  else sd_print(where, sizeof where, "%s", name_of(report, threads, tid));
  sd_append(s, "\n  %s of %d bytes by %s", write ? "write" : "read", bytes, where);
  a = sd_memory_find(s, address);
  if (i == 0 && a)
    sd_append(s, ", at +%zu of %s memory of %zu bytes (rank %d, call %d)",
              (size_t)((char *)address - a->at), a->kind == SD_DEVICE ? "device" : "pinned",
              a->bytes, a->rank, a->call);
}

/* The sanitizer calls this before it prints a report, on the fiber that made the later access. The
 * name is C++'s for __tsan::OnReport(const ReportDesc *, bool). Returns 1 to suppress the report:
 * only the first one of a run is printed, as a loop that races would print one for each element. */
_Bool sd_on_report(void *report, _Bool quiet) __asm__("_ZN6__tsan8OnReportEPKNS_10ReportDescEb");

_Bool sd_on_report(void *report, _Bool quiet)
{
  simdev *s = sd_now;
  const char *description;
  int count, stacks, accesses = 0, locations, mutexes, threads = 0, tids;
  void *sleep[1];
  if (!s || quiet) return quiet;
  if (s->hosts.running || s->streams.running) {
    __tsan_ignore_thread_begin();
    ++*(s->hosts.running ? &s->hosts.running->muted : &s->streams.running->muted);
  }
  if (s->found.raced) return 1;
  s->found.raced = 1;
  if (s->found.verdict) return 0;
  __tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes,
                         &threads, &tids, sleep, 1);
  sd_note(s, SIMDEV_E_RACE, 1, -1, "race: two accesses that nothing orders");
  for (int i = 0; i < accesses && i < 2; i++) put_access(s, report, i, threads);
  sd_append(s, "\n  ThreadSanitizer has written the stacks: kernels, and where they were issued");
  return 0;
}

#endif
