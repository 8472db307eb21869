/* No over-synchronisation: what the engine orders is what the plan demands, no less and no more,
 * and under any costs everything ends when the plan's critical path says. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../cuda/trial/case.h"
#include "../../cuda/trial/faults.h"
#include "../../cuda/trial/trial_internal.h"

enum { CASES = 120 };

static void begin(zp_trial_subject *j, uint64_t i)
{
  static zp_error err;
  zp_case c;
  uint32_t lacking;
  zp_trial_random_case(7, i, &c, &lacking);
  c.reload.pp = 0;
  cr_assert_eq(zp_trial_subject_open(j, &c, &err), 0, "case %d: %s", (int)i, err.text);
}

/* Runs, and compares what was ordered with the plan, whatever else was found: 0, or 1. */
static int compare(zp_trial *t, zp_trial_schedule s, zp_path_report *report)
{
  s.record = 1;
  (void)zp_trial_run(t, &s);
  const zp_path_case c = zp_trial_path(t);
  return zp_path_check(&c, t->sim, report);
}

static void check_cases(int32_t launch_order)
{
  const char *n = getenv("ZP_ENGINE_JOBS"); /* for long runs */
  const uint64_t cases = n ? strtoull(n, NULL, 10) : CASES;
  static zp_trial_subject j;
  for (uint64_t i = 0; i < cases; i++) {
    zp_path_report o;
    begin(&j, i);
    zp_trial_schedule s = zp_trial_schedule_of(j.c.schedule);
    s.native = zp_trial_any_order(&j.c) && i % 2;
    s.launch_order = launch_order;
    const int failed = compare(j.trial, s, &o);
    cr_assert_eq(zp_trial_why(j.trial)->kind[0], 0, "case %d: %s", (int)i,
                 zp_trial_why(j.trial)->text);
    cr_assert_eq(failed, 0, "case %d: %" PRId64 " missing, %" PRId64 " superfluous; %s", (int)i,
                 o.missing, o.superfluous, o.text);
    cr_assert(o.demands > 0 && o.ordered > 0 && o.bound > 0 && o.length == o.bound);
    zp_trial_subject_close(&j);
  }
}

/* STEP-2, PIPE-5 */
Test(path, everything_ends_when_the_plan_says)
{
  check_cases(1);
}

Test(path, everything_ends_when_the_plan_says_where_nccl_keeps_the_launch_order)
{
  check_cases(2);
}

/* Before a slot is filled, a producer waits for all that is queued on the reduction stream. Each
 * such wait is an edge that nothing demands, and the step is longer. */
Test(path, a_wait_for_the_whole_reduction_stream_is_superfluous_and_longer)
{
  const zp_fault *fault = zp_twin_fault_find("whole-stream");
  static zp_trial_subject j;
  int32_t longer = 0, tried = 0;
  cr_assert_not_null(fault);
  for (uint64_t i = 0; i < 60; i++) {
    zp_path_report o;
    begin(&j, i);
    const zp_trial_schedule s = zp_twin_schedule(&j.c, j.c.schedule, zp_twin_fault_of(fault));
    if (j.c.cfg.stage == 2) {
      const int failed = compare(j.trial, s, &o);
      cr_assert_str_eq(zp_trial_why(j.trial)->kind, failed ? "wait" : "", "%s",
                       zp_trial_why(j.trial)->text);
      cr_assert_eq(o.missing, 0, "case %d: %s", (int)i, o.text);
      cr_assert_eq(failed, o.superfluous > 0, "case %d: %s", (int)i, o.text);
      if (failed) cr_assert(strstr(o.text, "needs not (an event)"), "%s", o.text);
      cr_assert(o.length >= o.bound);
      longer += o.length > o.bound;
      tried++;
    }
    zp_trial_subject_close(&j);
  }
  cr_assert(longer >= 3, "%d of %d are longer", longer, tried);
}

/* Without one of its waits the engine still runs well on an idle device; the graphs tell. A wait
 * that other edges imply is not missing. */
Test(path, a_wait_that_is_left_out_is_missing_whatever_the_run_did)
{
  static const char text[] = "precision=fp32,M=3,bucket=5,pp=3,dp=2,stage=2,steps=2,"
                             "list=12@0.0+7@0.0+9@1.0+8@1.1+11@2.0";
  static zp_trial_subject j;
  static zp_error err;
  zp_case c;
  char why[256];
  int32_t missing = 0, tried = 0, races = 0;
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  cr_assert_eq(zp_trial_subject_open(&j, &c, &err), 0, "%s", err.text);
  for (int32_t n = 1; n < 400; n += 3) {
    const simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, 1, NULL, n, 0};
    const zp_trial_schedule s = {
        .seed = 1, .order = SIMDEV_FIFO, .producers = 2, .path = 1, .faults = &f, .fault_count = 1};
    zp_path_report o;
    int64_t syncs, i = 0;
    const int failed = compare(j.trial, s, &o);
    const simdev_sync *y = simdev_syncs(j.trial->sim, &syncs);
    while (i < syncs && (y[i].rank != 1 || !y[i].dropped)) i++;
    if (i == syncs) break;
    tried++;
    races += strcmp(zp_trial_why(j.trial)->kind, "race") == 0;
    cr_assert_eq(failed, o.missing > 0, "%s", o.text); /* else others imply it */
    missing += o.missing > 0;
    if (o.missing == 0) continue;
    cr_assert(zp_trial_why(j.trial)->kind[0]); /* the trial found it, too */
    cr_assert(o.race[0] >= 0 && o.race[1] >= 0);
    cr_assert(strstr(o.text, "nothing orders these two"), "%s", o.text);
  }
  cr_assert(tried > 50 && missing > tried / 3, "%d of %d", missing, tried);
  cr_assert(races > missing / 2, "%d races of %d", races, missing);
  zp_trial_subject_close(&j);
}
