/* The order of a run is exactly the order that the plan demands, and under any costs all work ends
 * when the plan's critical path says. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/faults.h"
#include "../../../cuda/verify/state.h"

enum { CASES = 120 };

static void begin(zp_diff_case *j, uint64_t i)
{
  static zp_error err;
  zp_case c;
  uint32_t lacking;
  zp_cuda_random_case(7, i, &c, &lacking);
  c.reload.pp = 0;
  cr_assert_eq(zp_diff_case_open(j, &c, &err), 0, "case %d: %s", (int)i, err.text);
}

/* Runs, and compares the order with the plan, also after another finding: 0, or 1. */
static int compare(zp_diff *t, zp_schedule s, zp_hb_report *report)
{
  s.record = 1;
  (void)zp_diff_run(t, &s);
  const zp_hb_case c = zp_diff_order_case(t);
  return zp_hb_check(&c, t->simulation.now, report);
}

static void check_cases(int32_t launch_order)
{
  const char *n = getenv("ZP_ENGINE_JOBS"); /* for long runs */
  const uint64_t cases = n ? strtoull(n, NULL, 10) : CASES;
  static zp_diff_case j;
  for (uint64_t i = 0; i < cases; i++) {
    zp_hb_report o;
    begin(&j, i);
    zp_schedule s = zp_schedule_of(j.c.schedule);
    s.native = zp_sums_are_exact_in_any_order(&j.c) && i % 2;
    s.launch_order = launch_order;
    const int failed = compare(j.diff, s, &o);
    cr_assert_eq(zp_diff_finding(j.diff)->kind[0], 0, "case %d: %s", (int)i,
                 zp_diff_finding(j.diff)->text);
    cr_assert_eq(failed, 0, "case %d: %" PRId64 " missing, %" PRId64 " redundant; %s", (int)i,
                 o.missing, o.redundant, o.text);
    cr_assert(o.demands > 0 && o.ordered > 0 && o.bound > 0 && o.length == o.bound);
    zp_diff_case_close(&j);
  }
}

/* STEP-2, PIPE-5 */
Test(happens_before, all_work_ends_when_the_plan_says)
{
  check_cases(1);
}

Test(happens_before, all_work_ends_when_the_plan_says_with_implicit_launch_order)
{
  check_cases(2);
}

/* Before a slot is filled, a producer waits for all queued work of the reduction stream. Each such
 * wait is an edge that the plan does not demand, and the step takes longer. */
Test(happens_before, a_wait_for_the_whole_reduction_stream_is_redundant_and_longer)
{
  const zp_fault *fault = zp_cuda_fault_find("whole-stream");
  static zp_diff_case j;
  int32_t longer = 0, tried = 0;
  cr_assert_not_null(fault);
  for (uint64_t i = 0; i < 60; i++) {
    zp_hb_report o;
    begin(&j, i);
    const zp_schedule s = zp_case_schedule(&j.c, j.c.schedule, zp_cuda_fault_of(fault));
    if (j.c.cfg.stage == 2) {
      const int failed = compare(j.diff, s, &o);
      cr_assert_str_eq(zp_diff_finding(j.diff)->kind, failed ? "wait" : "", "%s",
                       zp_diff_finding(j.diff)->text);
      cr_assert_eq(o.missing, 0, "case %d: %s", (int)i, o.text);
      cr_assert_eq(failed, o.redundant > 0, "case %d: %s", (int)i, o.text);
      if (failed) cr_assert(strstr(o.text, "waits for the first (an event)"), "%s", o.text);
      cr_assert(o.length >= o.bound);
      longer += o.length > o.bound;
      tried++;
    }
    zp_diff_case_close(&j);
  }
  cr_assert(longer >= 3, "%d of %d are longer", longer, tried);
}

/* On an idle device results are right without one of the waits; the graphs show that it is missing.
 * A wait that other edges imply is not missing. */
Test(happens_before, a_dropped_wait_is_missing_whatever_the_results)
{
  static const char text[] = "precision=fp32,M=3,bucket=5,pp=3,dp=2,stage=2,steps=2,"
                             "list=12@0.0+7@0.0+9@1.0+8@1.1+11@2.0";
  static zp_diff_case j;
  static zp_error err;
  zp_case c;
  char why[256];
  int32_t missing = 0, tried = 0, races = 0;
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  cr_assert_eq(zp_diff_case_open(&j, &c, &err), 0, "%s", err.text);
  for (int32_t n = 1; n < 400; n += 3) {
    const simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, 1, NULL, n, 0};
    const zp_schedule s = {
        .seed = 1, .order = SIMDEV_FIFO, .producers = 2, .path = 1, .faults = &f, .fault_count = 1};
    zp_hb_report o;
    int64_t syncs, i = 0;
    const int failed = compare(j.diff, s, &o);
    const simdev_sync *y = simdev_syncs(j.diff->simulation.now, &syncs);
    while (i < syncs && (y[i].rank != 1 || !y[i].dropped)) i++;
    if (i == syncs) break;
    tried++;
    races += strcmp(zp_diff_finding(j.diff)->kind, "race") == 0;
    cr_assert_eq(failed, o.missing > 0, "%s", o.text); /* else other edges imply it */
    missing += o.missing > 0;
    if (o.missing == 0) continue;
    cr_assert(zp_diff_finding(j.diff)->kind[0]); /* the run has a finding, too */
    cr_assert(o.race[0] >= 0 && o.race[1] >= 0);
    cr_assert(strstr(o.text, "does not order the first of these"), "%s", o.text);
  }
  cr_assert(tried > 50 && missing > tried / 3, "%d of %d", missing, tried);
  cr_assert(races > missing / 2, "%d races of %d", races, missing);
  zp_diff_case_close(&j);
}
