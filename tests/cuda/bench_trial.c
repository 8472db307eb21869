/* How many orders of execution of the CUDA twin an hour of one core runs, each compared with ref:
 * random cases with at least 3 dp ranks, 3 buckets a flat group, 2 slots, 2 producer streams and 2
 * steps; every fourth has two pipeline stages.
 *   bench_trial CASES SECONDS    so many cases, in so much processor time
 * Prints the rate, and for every pair of streams of which the engine makes one wait for the other
 * how often it did wait. Exit code 1: something was found, or a pair never waited. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../cuda/trial/case.h"
#include "../../cuda/trial/trial_internal.h"

enum { ORDERS_MAX = 1 << 16, STREAM_IDS = 64, EVENT_IDS = 4096, KINDS = 5 };

static const char *const streams[KINDS] = {"compute", "reduce", "p2p", "producer", "?"};

/* Who waits for whom: the engine's pairs. On one stage nothing is on p2p. */
static const struct {
  int waiter, recorder;
} pairs[] = {{1, 3}, {3, 1}, {3, 3}, {1, 0}, {0, 1}, {2, 0}, {0, 2}, {1, 2}, {2, 1}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

typedef struct totals {
  int64_t cases, orders, distinct;
  int64_t issued[KINDS][KINDS], waited[KINDS][KINDS];
} totals;

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

static int32_t roll(uint64_t *random, int32_t n)
{
  return (int32_t)(zp_trial_random(random) >> 33) % n;
}

/* At least three buckets for the first optimizer group of each stage. */
static void fill_list(uint64_t *random, zp_case *c)
{
  int32_t n = 0;
  for (int32_t s = 0; s < c->cfg.pp; s++) {
    int64_t first = 0;
    for (int32_t i = 0; i < 3 || first <= 2 * c->cfg.bucket; i++) {
      zp_param *p = &c->params[n++];
      *p = (zp_param){.numel = 1 + roll(random, 9), .stage = s, .tied = -1};
      p->optgroup = i == 1 ? roll(random, 2) : 0;
      if (p->optgroup == 0) first += p->numel;
    }
  }
  c->cfg.n_params = n;
}

static void fill(uint64_t i, zp_case *c)
{
  uint64_t random = i;
  zp_refusal why;
  do {
    zp_case_init(c);
    c->cfg.dp = 3 + (roll(&random, 8) == 0);
    c->cfg.pp = 1 + (i % 4 == 0);
    c->cfg.stage = 2;
    c->cfg.reduce = roll(&random, 2);
    c->cfg.precision = roll(&random, 3);
    c->cfg.micro_batches = 1 + roll(&random, 2);
    c->cfg.bucket = c->cfg.dp * (1 + roll(&random, 2));
    c->steps = 2;
    c->optim = roll(&random, 4);
    c->clip = roll(&random, 2);
    c->synth.seed = i + 1;
    c->synth.mode = roll(&random, ZP_SYNTH_MODES);
    c->synth.unused = roll(&random, 2) * 40;
    /* where a micro-batch has no gradient at all, reduce may come to the decision before backward */
    if (roll(&random, 4) == 0) c->synth.unused = 250;
    c->synth.tuple = roll(&random, 2);
    fill_list(&random, c);
    zp_case_settle(c);
  } while (zp_config_check(&c->cfg, &why) != 0);
  c->schedule = (i + 1) << 24;
}

/* ---- Who waited ------------------------------------------------------------------------------ */

static int kind_of(const char *name)
{
  int k = 0;
  while (k < KINDS - 1 && strcmp(streams[k], name) != 0) k++;
  return k;
}

static void count_waits(const simdev *s, int32_t world, totals *t)
{
  static int32_t recorder[EVENT_IDS];
  int64_t n;
  const simdev_record *items = simdev_records(s, &n);
  for (int32_t rank = 0; rank < world; rank++) {
    int kind[STREAM_IDS];
    int64_t n_syncs;
    const simdev_sync *y = simdev_syncs(s, &n_syncs);
    for (int32_t k = 0; k < STREAM_IDS; k++) kind[k] = KINDS - 1;
    for (int64_t i = 0; i < n; i++)
      if (items[i].rank == rank && items[i].stream >= 0 && items[i].stream < STREAM_IDS)
        kind[items[i].stream] = kind_of(items[i].stream_name);
    memset(recorder, 0, sizeof recorder);
    for (int64_t i = 0; i < n_syncs; i++) {
      if (y[i].rank != rank || y[i].event >= EVENT_IDS || y[i].stream >= STREAM_IDS) continue;
      if (!y[i].is_wait) recorder[y[i].event] = y[i].stream + 1;
      else if (recorder[y[i].event] > 0) {
        const int from = kind[recorder[y[i].event] - 1], to = kind[y[i].stream];
        t->issued[to][from]++;
        t->waited[to][from] += y[i].waited;
      }
    }
  }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Orders of one case until `until`; the first is recorded, at a price. */
static int run_case(const zp_case *c, double until, totals *t)
{
  static uint64_t hash[ORDERS_MAX];
  static zp_trial_subject j;
  static zp_error err;
  int32_t n = 0;
  if (zp_trial_subject_open(&j, c, &err)) {
    printf("%s\n", err.text);
    return -1;
  }
  while (n < ORDERS_MAX && (n < 1 || seconds() < until)) {
    zp_trial_schedule s = zp_trial_schedule_of(c->schedule + (uint64_t)n);
    if (s.producers == 1) s.producers = 2;
    s.record = n == 0;
    if (zp_trial_run(j.trial, &s)) {
      char text[ZP_CASE_TEXT];
      zp_case_format(c, text, sizeof text);
      printf("%s\nschedule %llu: %s: %s\n", text, (unsigned long long)s.seed,
             zp_trial_why(j.trial)->kind, zp_trial_why(j.trial)->text);
      return -1;
    }
    if (n == 0) count_waits(zp_trial_simdev(j.trial), zp_world(&c->cfg), t);
    hash[n++] = simdev_result(zp_trial_simdev(j.trial))->order_hash;
  }
  zp_trial_subject_close(&j);
  qsort(hash, (size_t)n, sizeof *hash, by_value);
  for (int32_t k = 0; k < n; k++) t->distinct += k == 0 || hash[k] != hash[k - 1];
  t->orders += n;
  t->cases++;
  return 0;
}

static int report(const totals *t, double elapsed)
{
  int missing = 0;
  printf("%lld cases, %lld orders, %lld of them distinct, in %.1f s of one core: %.2f million "
         "distinct orders an hour\n",
         (long long)t->cases, (long long)t->orders, (long long)t->distinct, elapsed,
         (double)t->distinct / elapsed * 3600e-6);
  for (int32_t i = 0; i < PAIRS; i++) {
    const int a = pairs[i].waiter, b = pairs[i].recorder;
    printf("  %-8s waits for %-8s %8lld times issued, %8lld times it had to\n", streams[a],
           streams[b], (long long)t->issued[a][b], (long long)t->waited[a][b]);
    missing += t->waited[a][b] == 0;
  }
  return missing > 0;
}

int main(int argc, char **argv)
{
  static totals t;
  const int64_t cases = argc > 1 ? atoll(argv[1]) : 1000;
  const double budget = argc > 2 ? atof(argv[2]) : 60, began = seconds();
  for (int64_t i = 0; i < cases; i++) {
    static zp_case c;
    fill((uint64_t)i, &c);
    if (run_case(&c, began + budget * (double)(i + 1) / (double)cases, &t)) return 1;
  }
  return report(&t, seconds() - began);
}
