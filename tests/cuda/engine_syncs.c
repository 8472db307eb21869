/* Runs the engine's random jobs without Criterion, in the plain and in the ThreadSanitizer build:
 *   engine_syncs run FROM TO SEEDS      jobs FROM … TO-1 under SEEDS seeds each
 *   engine_syncs again FROM TO          whether the engine waits for one record twice on a stream
 *   engine_syncs drop JOB SEEDS         one job, without each wait and record of the engine in turn
 *   engine_syncs kind JOB SEEDS WAITER RECORDER   the same for waits of stream WAITER on RECORDER's
 * run: exit code 1 when anything was found. drop, kind: one line for each wait or record, "found
 * by" or "not found", and exit code 1 when one was not found. Streams go by their names. */
#include "engine_case.h"

enum { STREAM_IDS = 64, EVENT_IDS = 4096 };

static int seeds;

/* Under which seed (counted from 1) the job fails; 0: none. */
static int fails(job *j, simdev *s, const simdev_fault *f, char *how, size_t cap)
{
  for (int k = 0; k < seeds; k++) {
    /* a device that lags far behind its host, and priorities, show most */
    static const simdev_order orders[4] = {SIMDEV_LAZY, SIMDEV_PCT, SIMDEV_RANDOM, SIMDEV_RANDOM};
    const simdev_options o = {.seed = j->seed * 1000u + (uint64_t)k,
                              .order = orders[k % 4],
                              .faults = f,
                              .fault_count = f != NULL};
    const simdev_status status = job_run(j, s, &o);
    if (status == SIMDEV_OK) continue;
    snprintf(how, cap, "%s", j->text[0] ? j->text : simdev_result(s)->text);
    return k + 1;
  }
  return 0;
}

static int run_jobs(uint32_t from, uint32_t to)
{
  int found = 0;
  for (uint32_t seed = from; seed < to; seed++) {
    static job j;
    char text[200], how[600];
    simdev *s;
    if (job_fill(&j, seed, RANKS_MAX)) return 2;
    s = job_simdev(&j, NULL);
    job_describe(&j, text, sizeof text);
    if (s && fails(&j, s, NULL, how, sizeof how)) {
      found++;
      printf("%s: %s\n%s\n", text, how, simdev_result(s)->text);
    }
    simdev_close(s);
    job_free(&j);
  }
  printf("jobs %u to %u under %d seeds: %d findings\n", from, to - 1, seeds, found);
  return found > 0;
}

/* ---- Repeated waits -------------------------------------------------------------------------- */

static int is_engines(const simdev_sync *y);

/* Waits of one rank for a record that the same stream has waited for before: they say nothing, as
 * would those of a set of producers that is not emptied. */
static int32_t repeated(const simdev *s, int32_t rank)
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
      count += record[y[i].event] > 0 && waited[y[i].stream][y[i].event] == record[y[i].event];
      waited[y[i].stream][y[i].event] = record[y[i].event];
    }
  }
  return count;
}

static int again(uint32_t from, uint32_t to)
{
  int32_t count = 0;
  for (uint32_t seed = from; seed < to; seed++) {
    static job j;
    simdev *s;
    if (job_fill(&j, seed, RANKS_MAX)) return 2;
    s = job_simdev(&j, NULL);
    if (!s || job_run(&j, s, &(simdev_options){.record = 1}) != SIMDEV_OK) return 2;
    for (int32_t r = 0; r < j.world; r++) count += repeated(s, r);
    simdev_close(s);
    job_free(&j);
  }
  printf("jobs %u to %u: %d repeated waits\n", from, to - 1, count);
  return count > 0;
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

/* Was it issued by the engine, and not by the test's model? */
static int is_engines(const simdev_sync *y)
{
  const char *site = y->site, *wait = (const char *)(uintptr_t)zp_cuda_wait;
  const char *record = (const char *)(uintptr_t)zp_cuda_record;
  return (site > wait && site < wait + 512) || (site > record && site < record + 512);
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

static int try_edge(job *j, simdev *s, const edge *e)
{
  const simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, e->rank, NULL, e->n, 0};
  char how[600] = "";
  const int k = fails(j, s, &f, how, sizeof how);
  printf("rank %d sync %d: %s %s%s%s: ", e->rank, e->n, e->is_wait ? "wait of" : "record on",
         e->waiter, e->is_wait ? " for " : "", e->is_wait ? e->recorder : "");
  if (k == 0) printf("not found\n");
  else printf("found by order %d: %.*s\n", k, (int)strcspn(how, "\n"), how);
  return k == 0;
}

static int drop(uint32_t seed, const char *waiter, const char *recorder)
{
  static job j;
  static edge list[1 << 16];
  int32_t n = 0, missed = 0, tried = 0;
  simdev *s;
  char text[200];
  if (job_fill(&j, seed, RANKS_MAX)) return 2;
  s = job_simdev(&j, NULL);
  if (!s || job_run(&j, s, &(simdev_options){.record = 1}) != SIMDEV_OK) return 2;
  for (int32_t r = 0; r < j.world; r++) n += edges_of(s, r, list + n, (1 << 16) - n);
  for (int32_t i = 0; i < n; i++) {
    if (waiter && (!list[i].is_wait || strcmp(list[i].waiter, waiter) != 0 ||
                   strcmp(list[i].recorder, recorder) != 0))
      continue;
    tried++;
    missed += try_edge(&j, s, &list[i]);
  }
  job_describe(&j, text, sizeof text);
  printf("%s: %d of %d found\n", text, tried - missed, tried);
  simdev_close(s);
  job_free(&j);
  return missed > 0 || tried == 0;
}

int main(int argc, char **argv)
{
  if (argc == 5 && strcmp(argv[1], "run") == 0) {
    seeds = atoi(argv[4]);
    return run_jobs((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
  }
  if (argc == 4 && strcmp(argv[1], "again") == 0)
    return again((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
  if (argc == 4 && strcmp(argv[1], "drop") == 0) {
    seeds = atoi(argv[3]);
    return drop((uint32_t)atoi(argv[2]), NULL, NULL);
  }
  if (argc == 6 && strcmp(argv[1], "kind") == 0) {
    seeds = atoi(argv[3]);
    return drop((uint32_t)atoi(argv[2]), argv[4], argv[5]);
  }
  fprintf(stderr, "usage: engine_syncs run FROM TO SEEDS | drop JOB SEEDS | kind JOB SEEDS W R\n");
  return 2;
}
