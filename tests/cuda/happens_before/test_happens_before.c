/* The order of a run is exactly the order that the plan demands, and under any costs all work ends
 * when the plan's critical path says. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
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

/* partial: with partial gathers, in the cases whose layout allows them; a seventh of the cases are
 * such. */
static void check_cases(int32_t launch_order, int32_t gradual, int32_t offload, int32_t partial)
{
  const char *n = getenv("ZP_ENGINE_JOBS"); /* for long runs */
  const uint64_t cases = n ? strtoull(n, NULL, 10) : CASES;
  uint64_t partials = 0;
  static zp_diff_case j;
  for (uint64_t i = 0; i < cases; i++) {
    zp_hb_report o;
    begin(&j, i);
    zp_schedule s = zp_schedule_of(j.c.schedule);
    s.native = zp_sums_are_exact_in_any_order(&j.c) && i % 2;
    s.launch_order = launch_order;
    s.gradual = gradual;
    s.offload = offload;
    s.partial_gather = partial;
    const int failed = compare(j.diff, s, &o);
    partials += (uint64_t)zp_diff_is_partial(j.diff);
    cr_assert_eq(zp_diff_finding(j.diff)->kind[0], 0, "case %d: %s", (int)i,
                 zp_diff_finding(j.diff)->text);
    cr_assert_eq(failed, 0, "case %d: %" PRId64 " missing, %" PRId64 " redundant; %s", (int)i,
                 o.missing, o.redundant, o.text);
    cr_assert(o.demands > 0 && o.ordered > 0 && o.bound > 0 && o.length == o.bound);
    zp_diff_case_close(&j);
  }
  cr_assert(partial ? partials >= cases / 10 : partials == 0, "%" PRIu64 " partial", partials);
}

/* STEP-2, PIPE-5 */
Test(happens_before, all_work_ends_when_the_plan_says)
{
  check_cases(1, 0, 0, 0);
}

Test(happens_before, all_work_ends_when_the_plan_says_with_implicit_launch_order)
{
  check_cases(2, 0, 0, 0);
}

/* Backward makes one gradient after the other on the compute stream: the order that the cost model
 * times (cuda/cost). */
Test(happens_before, all_work_ends_when_the_plan_says_with_gradual_backward)
{
  check_cases(1, 1, 0, 0);
}

/* A bucket's gradients leave for the host as soon as its last sum has ended, and nothing else waits
 * for them but the decision's copy. STRM-9 */
Test(happens_before, all_work_ends_when_the_plan_says_with_offload)
{
  check_cases(1, 0, 1, 0);
}

Test(happens_before, all_work_ends_when_the_plan_says_with_offload_and_gradual_backward)
{
  check_cases(2, 1, 1, 0);
}

/* Gathers have a stream of their own, and each part of forward waits for its entries only.
 * STRM-11, STEP-8 */
Test(happens_before, all_work_ends_when_the_plan_says_with_partial_gathers)
{
  check_cases(1, 0, 0, 1);
}

Test(happens_before, all_work_ends_when_the_plan_says_with_partial_gathers_and_implicit_order)
{
  check_cases(2, 1, 0, 1);
}

Test(happens_before, all_work_ends_when_the_plan_says_with_partial_gathers_and_offload)
{
  check_cases(1, 0, 1, 1);
}

/* A cost that equal work of all ranks has: by its stage, its tag and its part. */
static int64_t cost_of(const zp_hb_plan *p, int32_t v)
{
  const zp_hb_node *n = &p->node[v];
  const zp_op *op = n->pc < 0 ? NULL : &p->program[n->rank][n->pc];
  uint64_t x = (uint64_t)n->tag * 31 + (uint64_t)n->part;
  if (n->joint >= 0) return 0;
  if (n->chain < 0) x = (uint64_t)op->clock_t * 97 + (uint64_t)op->clock_i * 7 + (uint64_t)n->part;
  else x += (uint64_t)zp_coord_of(p->cfg, zp_hb_rank_of(p, n->rank)).pp * 1000003;
  return 1 + (int64_t)(zp_random_next(&x) % 1000);
}

static int64_t end_of(const zp_hb_plan *p)
{
  int64_t *cost = malloc((size_t)(p->graph.n + 1) * sizeof *cost);
  int64_t *end = malloc((size_t)(p->graph.n + 1) * sizeof *end);
  cr_assert(cost && end);
  for (int32_t v = 0; v < p->graph.n; v++) cost[v] = cost_of(p, v);
  const int64_t last = zp_hb_graph_ends(&p->graph, cost, NULL, end);
  free(cost);
  free(end);
  return last;
}

/* Ranks own different numbers of the elements that are summed over tp (RED-8). */
static int has_partial_sums(const zp_hb_plan *p)
{
  for (int32_t r = 0; r < p->world; r++)
    for (int64_t pc = 0; pc < p->length[r]; pc++)
      if (p->program[r][pc].what == ZP_WHAT_PARTIAL) return 1;
  return 0;
}

/* One rank of each stage stands for all: with equal costs of equal work, the step takes as long as
 * that of all ranks. */
Test(happens_before, the_first_ranks_of_the_stages_take_as_long_as_all_ranks)
{
  static const uint8_t get[8] = {0};
  static zp_diff_case j;
  int32_t compared = 0;
  for (uint64_t i = 0; i < CASES; i++) {
    char text[ZP_HB_TEXT];
    begin(&j, i);
    zp_hb_case c = zp_diff_order_case(j.diff);
    c.log = NULL;
    c.get = get;
    c.gradual = 1;
    if (c.steps > 3) c.steps = 3;
    zp_hb_plan *all = zp_hb_plan_open(&c, text, sizeof text);
    cr_assert(all, "case %d: %s", (int)i, text);
    c.stages = 1;
    zp_hb_plan *first = zp_hb_plan_open(&c, text, sizeof text);
    cr_assert(first, "case %d: %s", (int)i, text);
    cr_assert_eq(first->world, c.cfg->pp);
    if (!has_partial_sums(all)) {
      cr_assert_eq(end_of(first), end_of(all), "case %d", (int)i);
      compared++;
    }
    zp_hb_plan_close(first);
    zp_hb_plan_close(all);
    zp_diff_case_close(&j);
  }
  cr_assert(compared >= CASES / 2, "%d", compared);
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
static void drop_waits(int32_t gradual)
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
    const zp_schedule s = {.seed = 1,
                           .order = SIMDEV_FIFO,
                           .producers = 2,
                           .path = 1,
                           .gradual = gradual,
                           .faults = &f,
                           .fault_count = 1};
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

Test(happens_before, a_dropped_wait_is_missing_whatever_the_results)
{
  drop_waits(0);
}

Test(happens_before, a_dropped_wait_is_missing_with_gradual_backward)
{
  drop_waits(1);
}

/* ---- Missing operations ---------------------------------------------------------------------- */

/* The plan's first work with this tag on the rank. */
static int32_t node_of(const zp_hb_plan *p, int32_t rank, int64_t tag)
{
  for (int32_t k = 0; k < p->graph.n; k++) {
    const zp_hb_node *n = &p->node[p->graph.order[k]];
    if (n->chain >= 0 && n->rank == rank && n->tag == tag) return p->graph.order[k];
  }
  return -1;
}

/* The records of a run whose rank 1 lacks the work of record i. */
static void lacks(const zp_hb_case *c, const zp_hb_plan *p, const simdev *s, int64_t i)
{
  static char was[1 << 16];
  char name[ZP_HB_NAME], wanted[2 * ZP_HB_NAME];
  int64_t n;
  zp_hb_report o;
  simdev_record *list = (simdev_record *)(uintptr_t)simdev_records(s, &n); /* restored below */
  const int64_t tag = list[i].tag;
  cr_assert(n <= (int64_t)sizeof was);
  for (int64_t k = 0; k < n; k++) {
    was[k] = list[k].rank == 1 && list[k].tag == tag;
    if (was[k]) list[k].tag = 0; /* no work of the plan */
  }
  cr_assert_eq(zp_hb_check(c, s, &o), 1);
  zp_hb_node_text(p, node_of(p, 1, tag), name, sizeof name);
  snprintf(wanted, sizeof wanted, "missing operation: it did not run:\n  %s", name);
  cr_assert_eq(strncmp(o.text, wanted, strlen(wanted)), 0, "expected %s\ngot %s", wanted, o.text);
  if (strstr(name, "add entry")) {
    cr_assert(strstr(o.text, "\nneeded by ("), "%s", o.text);
    cr_assert(strstr(o.text + strlen(wanted), "\n  rank 1, step "), "%s", o.text);
  }
  for (int64_t k = 0; k < n; k++)
    if (was[k]) list[k].tag = tag;
}

Test(happens_before, an_operation_that_did_not_run_is_named_with_what_needs_it)
{
  static const char text[] = "precision=fp32,M=3,bucket=5,pp=3,dp=2,stage=2,steps=2,"
                             "list=12@0.0+7@0.0+9@1.0+8@1.1+11@2.0";
  static zp_diff_case j;
  static zp_error err;
  zp_case c;
  char why[ZP_HB_TEXT];
  int64_t n, tried = 0;
  zp_hb_report o;
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  cr_assert_eq(zp_diff_case_open(&j, &c, &err), 0, "%s", err.text);
  const zp_schedule s = {.seed = 1, .producers = 2, .path = 1};
  cr_assert_eq(compare(j.diff, s, &o), 0, "%s", o.text);
  const zp_hb_case order = zp_diff_order_case(j.diff);
  zp_hb_plan *p = zp_hb_plan_open(&order, why, sizeof why);
  cr_assert(p != NULL, "%s", why);
  const simdev_record *list = simdev_records(j.diff->simulation.now, &n);
  for (int64_t i = 0; i < n; i++) {
    if (list[i].rank != 1 || list[i].tag == 0 || node_of(p, 1, list[i].tag) < 0) continue;
    lacks(&order, p, j.diff->simulation.now, i);
    tried++;
  }
  cr_assert(tried > 60, "%d tried", (int)tried);
  cr_assert_eq(zp_hb_check(&order, j.diff->simulation.now, &o), 0, "%s", o.text);
  zp_hb_plan_close(p);
  zp_diff_case_close(&j);
}
