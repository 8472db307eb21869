/* No over-synchronisation: what the engine orders is what the plan demands, no less and no more,
 * and under any costs everything ends when the plan's critical path says. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine_case.h"

enum { JOBS = 150 };

typedef struct subject {
  job j;
  uint8_t get[STEPS_MAX];
  simdev *s;
  zp_path_report o;
  char text[200];
} subject;

static void begin(subject *x, uint32_t seed)
{
  cr_assert_eq(job_fill(&x->j, seed, RANKS_MAX), 0, "job %u: %s", seed, x->j.text);
  x->j.threads = 0;
  job_describe(&x->j, x->text, sizeof x->text);
  x->s = job_simdev(&x->j, NULL);
  cr_assert_not_null(x->s);
}

static void end(subject *x)
{
  simdev_close(x->s);
  job_free(&x->j);
}

/* Runs the job, and compares what it ordered with the plan: 0, or 1 with x->o. */
static int compare(subject *x, const simdev_options *o)
{
  job_run(&x->j, x->s, o);
  const zp_path_case c = job_path(&x->j, x->get);
  return zp_path_check(&c, x->s, &x->o);
}

static void check_jobs(uint32_t seed, uint32_t jobs)
{
  static subject x;
  for (const uint32_t to = seed + jobs; seed < to; seed++) {
    begin(&x, seed);
    const int failed = compare(&x, &(simdev_options){.seed = seed, .record = 1});
    cr_assert_eq(simdev_result(x.s)->status, SIMDEV_OK, "%s: %s", x.text, x.j.text);
    cr_assert_eq(failed, 0, "%s: %" PRId64 " missing, %" PRId64 " superfluous; %s", x.text,
                 x.o.missing, x.o.superfluous, x.o.text);
    cr_assert(x.o.demands > 0 && x.o.ordered > 0 && x.o.bound > 0 && x.o.length == x.o.bound);
    end(&x);
  }
}

static uint32_t jobs_of(void)
{
  const char *n = getenv("ZP_ENGINE_JOBS"); /* for long runs */
  return n ? (uint32_t)atoi(n) : JOBS;
}

/* STEP-2, PIPE-5 */
Test(path, everything_ends_when_the_plan_says)
{
  unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  check_jobs(1, jobs_of());
}

Test(path, everything_ends_when_the_plan_says_where_nccl_keeps_the_launch_order)
{
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  check_jobs(5001, jobs_of());
}

/* Before a slot is filled, a producer waits for all that is queued on the reduction stream. Each
 * such wait is an edge that nothing demands, and the step is longer. */
Test(path, a_wait_for_the_whole_reduction_stream_is_superfluous_and_longer)
{
  static subject x;
  int32_t longer = 0, tried = 0;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    begin(&x, seed);
    x.j.whole_stream = 1;
    if (x.j.r.c.stage == 2) {
      const int failed = compare(&x, &(simdev_options){.seed = seed, .record = 1});
      cr_assert_eq(simdev_result(x.s)->status, SIMDEV_OK, "%s: %s", x.text, x.j.text);
      cr_assert_eq(x.o.missing, 0, "%s: %s", x.text, x.o.text);
      cr_assert_eq(failed, x.o.superfluous > 0, "%s: %s", x.text, x.o.text);
      if (failed) cr_assert(strstr(x.o.text, "needs not (an event)"), "%s", x.o.text);
      cr_assert(x.o.length >= x.o.bound);
      longer += x.o.length > x.o.bound;
      tried++;
    }
    end(&x);
  }
  cr_assert(longer >= 3, "%d of %d are longer", longer, tried);
}

/* Without one of its waits the engine still runs well on an idle device; the graphs tell. A wait
 * that other edges imply is not missing. */
Test(path, a_wait_that_is_left_out_is_missing_whatever_the_run_did)
{
  static subject x;
  int32_t missing = 0, tried = 0;
  begin(&x, 34); /* three stages, ZeRO stage 2, three buckets, two producers */
  for (int32_t n = 1; n < 400; n += 3) {
    const simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, 1, NULL, n, 0};
    const simdev_options o = {
        .seed = 1, .order = SIMDEV_FIFO, .record = 1, .faults = &f, .fault_count = 1};
    int64_t syncs, i = 0;
    const int failed = compare(&x, &o);
    const simdev_sync *y = simdev_syncs(x.s, &syncs);
    while (i < syncs && (y[i].rank != 1 || !y[i].dropped)) i++;
    if (i == syncs) break;
    tried++;
    cr_assert_eq(failed, x.o.missing > 0, "%s", x.o.text); /* else others imply it */
    missing += x.o.missing > 0;
    if (x.o.missing > 0) {
      cr_assert(x.o.race[0] >= 0 && x.o.race[1] >= 0);
      cr_assert(strstr(x.o.text, "nothing orders these two"), "%s", x.o.text);
    }
  }
  cr_assert(tried > 50 && missing > tried / 3, "%d of %d", missing, tried);
  end(&x);
}
