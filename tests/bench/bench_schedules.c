/* Measures how many execution orders of the CUDA engine a core runs an hour, each compared with
 * ref: random cases with at least 3 dp ranks, 3 buckets a flat group, 2 slots, 2 producer
 * streams and 2 steps; every fourth has two pipeline stages.
 *   bench_schedules CASES SECONDS    so many cases, in so much processor time
 * Prints the rate, and for every site (cuda/engine/device/sync_points.h) how often it was
 * issued, and how often a wait there was pending; sites that such cases do not have get cases
 * of their own, which do not count. Exit code 1: something was found, or a site was never
 * exercised. With ThreadSanitizer sites are not required: simdev then enqueues every communication
 * late, the host polls, and a stream that is to lag behind catches up. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../cuda/engine/device/launch.h"
#include "../../cuda/verify/case.h"
#include "../../cuda/verify/state.h"

#ifdef __SANITIZE_THREAD__
enum { REQUIRES_SITES = 0 };
#else
enum { REQUIRES_SITES = 1 };
#endif
enum { ORDERS_MAX = 1 << 16, EXTRA_CASES = 200, EXTRA_ORDERS = 6 };

/* Of a site: how often it was issued; of a wait, how often that did wait; of a record, how often
 * something waited for it. */
typedef struct totals {
  int64_t cases, orders, distinct;
  int64_t issued[ZP_SYNC_END], waited[ZP_SYNC_END];
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
  return (int32_t)(zp_random_next(random) >> 33) % n;
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

/* extra: of the sites that the others lack: window sums, dynamic shapes, checkpoints, gathers that
 * forward waits for, and steps that hardly have a gradient. */
static void fill(uint64_t i, int extra, zp_case *c)
{
  uint64_t random = i;
  zp_refusal why;
  do {
    zp_case_init(c);
    c->cfg.dp = 3 + (roll(&random, 8) == 0);
    c->cfg.pp = 1 + (i % 4 == 0);
    c->cfg.stage = extra ? roll(&random, 3) : 2;
    c->cfg.reduce = roll(&random, 2);
    c->cfg.precision = roll(&random, 3);
    c->cfg.micro_batches = 1 + roll(&random, 2);
    c->cfg.bucket = c->cfg.dp * (1 + roll(&random, 2));
    c->steps = extra ? 4 : 2;
    c->optim = roll(&random, 4);
    c->clip = roll(&random, 2);
    c->synth.seed = i + 1;
    c->synth.mode = roll(&random, ZP_SYNTH_MODES);
    c->synth.unused = roll(&random, 2) * 40;
    /* where a micro-batch has no gradient at all, reduce may come to the decision before
     * backward */
    if (roll(&random, extra ? 2 : 4) == 0) c->synth.unused = extra ? 254 : 250;
    c->synth.tuple = roll(&random, 2);
    if (extra && c->cfg.pp > 1) c->cfg.dynamic_shapes = c->synth.vary = 1;
    if (extra)
      c->reload = (zp_reload){
          .pp = c->cfg.pp, .dp = c->cfg.dp, .stage = c->cfg.stage, .bucket = c->cfg.bucket};
    if (extra && i % 2) c->entry_align = 128; /* which partial gathers need */
    fill_list(&random, c);
    zp_case_settle(c);
  } while (zp_config_check(&c->cfg, &why) != 0);
  c->schedule = (i + 1) << 24;
}

/* ---- Who waited ------------------------------------------------------------------------------ */

static int is_record(int32_t site)
{
  return strstr(zp_cuda_sync_point_name(site), ".record") != NULL;
}

/* Whether the k-th wait or record of the rank's engine did anything. simdev has those that are no
 * waits of the host's in the same order, among the model's. */
static int is_engines(const simdev_sync *y, int32_t rank)
{
  const char *site = y->site, *wait = (const char *)(uintptr_t)zp_cuda_wait;
  const char *record = (const char *)(uintptr_t)zp_cuda_record;
  return y->rank == rank &&
         ((site > wait && site < wait + 512) || (site > record && site < record + 512));
}

/* The engine's list, with what simdev says of waits on streams. */
static void take_waits(const simdev *s, int32_t rank, zp_diff_syncs *l)
{
  int64_t n, at = 0;
  const simdev_sync *y = simdev_syncs(s, &n);
  for (int64_t k = 0; k < l->n; k++) {
    if (strstr(zp_cuda_sync_point_name(l->sync[k].site), ".host")) continue;
    while (at < n && !is_engines(&y[at], rank)) at++;
    if (at < n) l->sync[k].waited = y[at++].waited;
  }
}

static void count_waits(const zp_diff *trial, int32_t world, totals *t)
{
  for (int32_t rank = 0; rank < world; rank++) {
    zp_diff_syncs *l = &trial->syncs[rank];
    take_waits(zp_diff_simdev(trial), rank, l);
    for (int64_t k = 0; k < l->n; k++) {
      const int32_t site = l->sync[k].site;
      t->issued[site]++;
      if (!is_record(site)) t->waited[site] += l->sync[k].waited;
      for (int64_t i = k + 1; is_record(site) && i < l->n; i++) {
        if (l->sync[i].event != l->sync[k].event) continue;
        if (is_record(l->sync[i].site)) break; /* recorded again */
        t->waited[site] += l->sync[i].waited;
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

/* Orders of one case until `until`; the first is recorded, at a price. until 0: a few, recorded and
 * not counted. */
static int run_case(const zp_case *c, double until, totals *t)
{
  static uint64_t hash[ORDERS_MAX];
  static zp_diff_case j;
  static zp_error err;
  int32_t n = 0;
  if (zp_diff_case_open(&j, c, &err)) {
    printf("%s\n", err.text);
    return -1;
  }
  while (n < (until > 0 ? ORDERS_MAX : EXTRA_ORDERS) && (n < 1 || !until || seconds() < until)) {
    zp_schedule s = zp_schedule_of(c->schedule + (uint64_t)n);
    if (s.producers == 1) s.producers = 2;
    s.record = n == 0 || until <= 0;
    /* compute, which is made behind the producers, lags behind: who waits for it has to */
    const simdev_fault lags = {SIMDEV_FAULT_SLOW_STREAM, -1, NULL, s.producers, 0};
    if (until <= 0) s.own_loop = n < 4 && c->cfg.pp == 1 && c->schedule >> 24 & 1;
    if (until <= 0 && n % 2) s.faults = &lags, s.fault_count = 1;
    s.offload = until <= 0 && n % 4 > 1;
    if (until <= 0) s.partial_gather = n >= 4;
    if (zp_diff_run(j.diff, &s)) {
      char text[ZP_CASE_TEXT];
      zp_case_format(c, text, sizeof text);
      printf("%s\nschedule %llu: %s: %s\n", text, (unsigned long long)s.seed,
             zp_diff_finding(j.diff)->kind, zp_diff_finding(j.diff)->text);
      return -1;
    }
    if (s.record) count_waits(j.diff, zp_world(&c->cfg), t);
    hash[n++] = simdev_result(zp_diff_simdev(j.diff))->order_hash;
  }
  zp_diff_case_close(&j);
  if (until <= 0) return 0;
  qsort(hash, (size_t)n, sizeof *hash, by_value);
  for (int32_t k = 0; k < n; k++) t->distinct += k == 0 || hash[k] != hash[k - 1];
  t->orders += n;
  t->cases++;
  return 0;
}

static int all_exercised(const totals *t)
{
  int32_t site = 1;
  while (site < ZP_SYNC_END && t->waited[site] > 0) site++;
  return site == ZP_SYNC_END;
}

static int report(const totals *t, double elapsed)
{
  int missing = 0;
  printf("%lld cases, %lld orders, %lld of them distinct, in %.1f s of one core: %.2f million "
         "distinct orders an hour\n",
         (long long)t->cases, (long long)t->orders, (long long)t->distinct, elapsed,
         (double)t->distinct / elapsed * 3600e-6);
  for (int32_t site = 1; site < ZP_SYNC_END; site++) {
    printf("  %-18s %8lld times issued, %8lld times pending at the wait%s\n",
           zp_cuda_sync_point_name(site), (long long)t->issued[site], (long long)t->waited[site],
           t->waited[site] ? "" : ": never exercised");
    missing += t->waited[site] == 0;
  }
  return REQUIRES_SITES && missing > 0;
}

int main(int argc, char **argv)
{
  static totals t;
  static zp_case c;
  const int64_t cases = argc > 1 ? atoll(argv[1]) : 1000;
  const double budget = argc > 2 ? atof(argv[2]) : 60, began = seconds();
  double elapsed;
  for (int64_t i = 0; i < cases; i++) {
    fill((uint64_t)i, 0, &c);
    if (run_case(&c, began + budget * (double)(i + 1) / (double)cases, &t)) return 1;
  }
  elapsed = seconds() - began;
  for (int64_t i = 0; REQUIRES_SITES && i < EXTRA_CASES && !all_exercised(&t); i++) {
    fill((uint64_t)(cases + i), 1, &c);
    if (run_case(&c, 0, &t)) return 1;
  }
  return report(&t, elapsed);
}
