/* Trials of the engine without Criterion, in the plain and in the ThreadSanitizer build:
 *   engine_syncs run FROM TO N      fuzz's cases FROM … TO-1 of seed 1, in N orders each
 *   engine_syncs again FROM TO      whether the engine waits for one record twice on a stream
 *   engine_syncs drop CASE N        one case, without each wait and record of the engine in turn
 *   engine_syncs kind CASE N WAITER RECORDER   the same for waits of stream WAITER on RECORDER's
 * run: exit code 1 when anything was found. drop, kind: one line for each wait or record, "found
 * by" or "not found", and exit code 1 when one was not found. Streams go by their names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/engine/device/launch.h"
#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"

enum { STREAM_IDS = 64, EVENT_IDS = 4096 };

static int orders_tried;

/* 1: the process was started with NCCL_LAUNCH_ORDER_IMPLICIT=1: no code changes it, and NCCL
 * keeps the order of communications. */
static int order_is_nccls;

static int was_started_with_it(void)
{
  const char *v = getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  return v && strcmp(v, "1") == 0;
}

/* In which order (counted from 1) the case fails; 0: in none. What is announced is the same in all
 * of them, so that the n-th wait is. */
static int fails(zp_diff_case *j, const simdev_fault *f)
{
  for (int k = 0; k < orders_tried; k++) {
    /* a device that lags far behind its host, and priorities, show most */
    static const simdev_order orders[4] = {SIMDEV_LAZY, SIMDEV_PCT, SIMDEV_RANDOM, SIMDEV_RANDOM};
    zp_schedule o = zp_schedule_of(j->c.schedule);
    o.seed += (uint64_t)k;
    o.order = orders[k % 4];
    o.producers = o.producers == 1 ? 2 : o.producers;
    o.faults = f;
    o.fault_count = f != NULL;
    if (order_is_nccls) o.launch_order = 0;
    if (zp_diff_run(j->diff, &o)) return k + 1;
  }
  return 0;
}

static int open_random(zp_diff_case *j, uint64_t i)
{
  static zp_error err;
  zp_case c;
  uint32_t lacking;
  zp_cuda_random_case(1, i, &c, &lacking);
  if (zp_diff_case_open(j, &c, &err) == 0) return 0;
  printf("case %llu: %s\n", (unsigned long long)i, err.text);
  return -1;
}

static int run_cases(uint64_t from, uint64_t to)
{
  int found = 0;
  for (uint64_t i = from; i < to; i++) {
    static zp_diff_case j;
    char text[ZP_CASE_TEXT];
    if (open_random(&j, i)) return 2;
    zp_case_format(&j.c, text, sizeof text);
    const int k = fails(&j, NULL);
    if (order_is_nccls && j.diff->chained) {
      found++;
      printf("%s\nthe engine keeps the order of communications, although NCCL does\n", text);
    }
    if (k) {
      found++;
      printf("%s\n%s: %s\n", text, zp_diff_finding(j.diff)->kind, zp_diff_finding(j.diff)->text);
    }
    zp_diff_case_close(&j);
  }
  printf("cases %llu to %llu in %d orders: %d findings\n", (unsigned long long)from,
         (unsigned long long)to - 1, orders_tried, found);
  return found > 0;
}

/* ---- Repeated waits -------------------------------------------------------------------------- */

enum { FUNCTION = 768 }; /* bytes of zp_cuda_wait or zp_cuda_record, with a sanitizer's checks */

/* Was it issued by the engine, and not by the test's model? */
static int is_engines(const simdev_sync *y)
{
  const char *site = y->site, *wait = (const char *)(uintptr_t)zp_cuda_wait;
  const char *record = (const char *)(uintptr_t)zp_cuda_record;
  return (site > wait && site < wait + FUNCTION) || (site > record && site < record + FUNCTION);
}

/* Waits of one rank for a record that the same stream has waited for before: they say nothing, as
 * would those of a set of producers that is not emptied. Adds all waits to *waits. */
static int32_t repeated(const simdev *s, int32_t rank, int32_t *waits)
{
  static int64_t record[EVENT_IDS], waited[STREAM_IDS][EVENT_IDS];
  int64_t n;
  int32_t count = 0;
  const simdev_sync *y = simdev_syncs(s, &n);
  memset(record, 0, sizeof record);
  memset(waited, 0, sizeof waited);
  for (int64_t i = 0; i < n; i++) {
    if (y[i].rank != rank || y[i].event >= EVENT_IDS || y[i].stream >= STREAM_IDS) continue;
    if (!y[i].is_wait) record[y[i].event] = i + 1;
    else if (is_engines(&y[i])) {
      (*waits)++;
      count += record[y[i].event] > 0 && waited[y[i].stream][y[i].event] == record[y[i].event];
      waited[y[i].stream][y[i].event] = record[y[i].event];
    }
  }
  return count;
}

static int again(uint64_t from, uint64_t to)
{
  int32_t count = 0, waits = 0;
  for (uint64_t i = from; i < to; i++) {
    static zp_diff_case j;
    zp_schedule o;
    if (open_random(&j, i)) return 2;
    o = zp_schedule_of(j.c.schedule);
    o.record = 1;
    if (zp_diff_run(j.diff, &o)) return 2;
    for (int32_t r = 0; r < zp_world(&j.c.cfg); r++)
      count += repeated(zp_diff_simdev(j.diff), r, &waits);
    zp_diff_case_close(&j);
  }
  printf("cases %llu to %llu: %d of %d waits are repeated\n", (unsigned long long)from,
         (unsigned long long)to - 1, count, waits);
  return count > 0 || waits == 0;
}

/* ---- Dropped synchronization ----------------------------------------------------------------- */

typedef struct edge {
  int32_t rank, n, is_wait;
  char waiter[16], recorder[16]; /* streams; a record's are the same */
} edge;

static void name_streams(const simdev *s, int32_t rank, char name[STREAM_IDS][16])
{
  int64_t n;
  const simdev_record *r = simdev_records(s, &n);
  for (int64_t i = 0; i < n; i++)
    if (r[i].rank == rank && r[i].stream >= 0 && r[i].stream < STREAM_IDS)
      snprintf(name[r[i].stream], 16, "%.15s", r[i].stream_name);
}

/* Everything that the engine of one rank waits for and records, with names. */
static int32_t edges_of(const simdev *s, int32_t rank, edge *to, int32_t cap)
{
  char name[STREAM_IDS][16] = {{0}};
  static int32_t recorder[EVENT_IDS];
  int64_t n;
  int32_t count = 0;
  const simdev_sync *y = simdev_syncs(s, &n);
  name_streams(s, rank, name);
  memset(recorder, 0, sizeof recorder);
  for (int64_t i = 0; i < n; i++) {
    edge *e = &to[count];
    if (y[i].rank != rank || y[i].event >= EVENT_IDS || y[i].stream >= STREAM_IDS) continue;
    if (!y[i].is_wait) recorder[y[i].event] = y[i].stream + 1;
    if (!is_engines(&y[i]) || count == cap) continue;
    if (y[i].is_wait && recorder[y[i].event] == 0) continue; /* waits for nothing */
    e->rank = rank;
    e->n = y[i].n;
    e->is_wait = y[i].is_wait;
    snprintf(e->waiter, sizeof e->waiter, "%s", name[y[i].stream]);
    snprintf(e->recorder, sizeof e->recorder, "%s",
             e->is_wait ? name[recorder[y[i].event] - 1] : name[y[i].stream]);
    count++;
  }
  return count;
}

static int try_edge(zp_diff_case *j, const edge *e)
{
  const simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, e->rank, NULL, e->n, 0};
  const int k = fails(j, &f);
  const zp_finding *how = zp_diff_finding(j->diff);
  printf("rank %d sync %d: %s %s%s%s: ", e->rank, e->n, e->is_wait ? "wait of" : "record on",
         e->waiter, e->is_wait ? " for " : "", e->is_wait ? e->recorder : "");
  if (k == 0) printf("not found\n");
  else
    printf("found by order %d: %s: %.*s\n", k, how->kind, (int)strcspn(how->text, "\n"), how->text);
  return k == 0;
}

static int open_text(zp_diff_case *j, const char *text)
{
  static zp_error err;
  zp_case c;
  char why[256];
  zp_case_init(&c);
  if (zp_case_parse(&c, text, why, sizeof why)) {
    fprintf(stderr, "%s: %s\n", text, why);
    return -1;
  }
  return zp_diff_case_open(j, &c, &err);
}

static int drop(const char *text, const char *waiter, const char *recorder)
{
  static zp_diff_case j;
  static edge list[1 << 16];
  int32_t n = 0, missed = 0, tried = 0;
  zp_schedule o;
  if (open_text(&j, text)) return 2;
  o = zp_schedule_of(j.c.schedule);
  o.producers = o.producers == 1 ? 2 : o.producers;
  o.record = 1;
  if (zp_diff_run(j.diff, &o)) return 2;
  for (int32_t r = 0; r < zp_world(&j.c.cfg); r++)
    n += edges_of(zp_diff_simdev(j.diff), r, list + n, (1 << 16) - n);
  for (int32_t i = 0; i < n; i++) {
    if (waiter && (!list[i].is_wait || strcmp(list[i].waiter, waiter) != 0 ||
                   strcmp(list[i].recorder, recorder) != 0))
      continue;
    tried++;
    missed += try_edge(&j, &list[i]);
  }
  printf("%s: %d of %d found\n", text, tried - missed, tried);
  zp_diff_case_close(&j);
  return missed > 0 || tried == 0;
}

int main(int argc, char **argv)
{
  order_is_nccls = was_started_with_it();
  if (argc == 5 && strcmp(argv[1], "run") == 0) {
    orders_tried = atoi(argv[4]);
    return run_cases(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
  }
  if (argc == 4 && strcmp(argv[1], "again") == 0)
    return again(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
  if (argc == 4 && strcmp(argv[1], "drop") == 0) {
    orders_tried = atoi(argv[3]);
    return drop(argv[2], NULL, NULL);
  }
  if (argc == 6 && strcmp(argv[1], "kind") == 0) {
    orders_tried = atoi(argv[3]);
    return drop(argv[2], argv[4], argv[5]);
  }
  fprintf(stderr, "usage: engine_syncs run FROM TO N | again FROM TO | drop CASE N | "
                  "kind CASE N WAITER RECORDER\n");
  return 2;
}
