/* Every planted fault is detected, with its clause; without it the same configuration is clean; and
 * random cases alone find it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../ref/base/clock.h"
#include "../../../ref/engine/rank_query.h"
#include "../../../ref/verify/case_process.h"
#include "../../../ref/verify/ref_fault.h"

static zp_verdict verdict; /* large: not on the stack */

static zp_case case_of(const char *text)
{
  zp_case c;
  zp_refusal why;
  char words[256];
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, words, sizeof words), 0, "%s: %s", text, words);
  cr_assert_eq(zp_config_check(&c.cfg, &why), 0, "%s: field %d", text, why.field);
  return c;
}

static void run(const char *text, const zp_fault *fault)
{
  zp_case c = case_of(text);
  c.cfg.params = c.params;
  zp_case_run(&c, fault, &verdict);
}

Test(fault, there_are_enough_with_source_and_clause)
{
  cr_assert_geq(zp_ref_fault_count(), 20);
  for (int32_t i = 0; i < zp_ref_fault_count(); i++) {
    const zp_fault *f = zp_ref_fault_at(i);
    cr_assert_eq(zp_ref_fault_find(f->name), f, "two faults are called %s", f->name);
    cr_assert(strchr(f->source, '#') != NULL || strstr(f->source, "no public issue") != NULL, "%s",
              f->name);
    cr_assert(strchr(f->clause, '-') != NULL, "%s", f->name);
    const zp_ref_fault *hooks = zp_ref_fault_of(f);
    cr_assert(hooks->inject != NULL || hooks->before != NULL || hooks->after != NULL, "%s",
              f->name);
  }
  cr_assert_null(zp_ref_fault_find("no such fault"));
}

/* One bug each: what one plants, no other does. */
Test(fault, no_two_are_the_same)
{
  for (int32_t i = 0; i < zp_ref_fault_count(); i++)
    for (int32_t j = 0; j < i; j++) {
      const zp_ref_fault *a = zp_ref_fault_of(zp_ref_fault_at(i));
      const zp_ref_fault *b = zp_ref_fault_of(zp_ref_fault_at(j));
      cr_expect(a->inject != b->inject || a->before != b->before || a->after != b->after,
                "%s and %s are one", a->fault.name, b->fault.name);
    }
}

/* spec: STAT-1 … STAT-5, RED-2 … RED-6, STEP-3, STEP-4, STEP-6 … STEP-8, SCALE-3, PIPE-3, PIPE-4,
 * PIPE-6, PART-6, TIE-1, TIE-2, LEDG-2, LEDG-5, LEDG-7 */
Test(fault, each_is_detected_with_its_clause)
{
  for (int32_t i = 0; i < zp_ref_fault_count(); i++) {
    const zp_fault *f = zp_ref_fault_at(i);
    run(f->example, f);
    cr_expect(verdict.failed, "%s is not detected", f->name);
    cr_expect(zp_verdict_names(&verdict, f->clause), "%s: %s is not named:\n%s", f->name, f->clause,
              verdict.text);
    cr_expect(strlen(verdict.text) > 20, "%s: says nothing", f->name);
  }
}

Test(fault, without_it_the_configuration_is_clean)
{
  for (int32_t i = 0; i < zp_ref_fault_count(); i++) {
    const zp_fault *f = zp_ref_fault_at(i);
    run(f->example, NULL);
    cr_expect(!verdict.failed && verdict.n_clauses == 0, "%s: %s", f->name, verdict.text);
  }
}

/* spec: STAT-1, LEDG-7 */
Test(fault, pr7847_is_a_deadlock_named_in_under_a_second)
{
  const zp_fault *f = zp_ref_fault_find("pr7847");
  const double start = zp_clock_s();
  run(f->example, f);
  cr_assert_lt(zp_clock_s() - start, 1.0);
  cr_assert_eq(verdict.status, ZP_E_DEADLOCK);
  cr_assert(strstr(verdict.text, "rank 0 (stage 0, dp 0, tp 0)") != NULL, "%s", verdict.text);
  cr_assert(strstr(verdict.text, "rank 2 (stage 1, dp 0, tp 0)") != NULL, "%s", verdict.text);
  cr_assert(strstr(verdict.text, "all_reduce(statistics") != NULL, "%s", verdict.text);
  cr_assert(strstr(verdict.text, "group world {0, 1, 2, 3}") != NULL, "%s", verdict.text);
  cr_assert(strstr(verdict.text, "program position ") != NULL, "%s", verdict.text);
}

/* With equal K on all stages the same fault issues equal ledgers: no deadlock. */
Test(fault, pr7847_needs_unequal_groups)
{
  run("pp=2,dp=2,stage=1,M=4,list=8@0.0+6@0.1+8@1.0+3@1.1", zp_ref_fault_find("pr7847"));
  cr_assert_neq(verdict.status, ZP_E_DEADLOCK, "%s", verdict.text);
}

/* spec: RED-3 */
Test(fault, a_doubled_contribution_is_named)
{
  const zp_fault *f = zp_ref_fault_find("ds5605");
  run(f->example, f);
  cr_assert_gt(verdict.n_findings, 0);
  for (int32_t i = 0; i < verdict.n_findings; i++) {
    cr_assert_eq(verdict.finding[i].kind, ZP_SYNTH_DOUBLED);
    cr_assert_eq(verdict.finding[i].who.mb, 2); /* the last of three */
    cr_assert_eq(verdict.finding[i].times, 2);
  }
  cr_assert(strstr(verdict.text, "rank 3 (stage 1, dp 1, tp 0), micro-batch 2") != NULL, "%s",
            verdict.text);
}

/* spec: TIE-1 */
Test(fault, a_missing_tied_copy_is_named)
{
  const zp_fault *f = zp_ref_fault_find("piper13");
  int32_t across = 0;
  run(f->example, f);
  for (int32_t i = 0; i < verdict.n_findings; i++) {
    cr_assert_eq(verdict.finding[i].kind, ZP_SYNTH_MISSING);
    across += verdict.finding[i].who.entry != verdict.finding[i].param;
  }
  cr_assert_eq(across, verdict.n_findings);
}

/* What an older bucket has left in the slot is reduced with the last bucket. */
static void after_stale_padding(void *f, zp_rank *r, const zp_op *op)
{
  const zp_range p =
      op->kind == ZP_OP_MEAN ? zp_rank_range(r, op->flat, op->bucket) : (zp_range){0};
  (void)f;
  for (int64_t i = p.real; i < p.count; i++)
    zp_held_of(r, op->flat, op->bucket, ZP_WHAT_GRADIENT)[i] = 3;
}

/* spec: PART-7 */
Test(fault, a_sum_whose_padding_is_not_zero_is_found)
{
  const zp_ref_fault stale = {
      {"stale-padding", "#", "PART-7", "", ""}, NULL, NULL, after_stale_padding};
  run("dp=3,stage=2,M=2,bucket=6,list=8@0.0", &stale.fault);
  cr_assert(zp_verdict_names(&verdict, "PART-7"), "%s", verdict.text);
  run("dp=3,stage=2,M=2,bucket=6,list=9@0.0", &stale.fault);
  cr_assert(!verdict.failed, "without padding: %s", verdict.text);
}

/* spec: STEP-3, STEP-5 */
Test(fault, a_gradient_that_does_not_arrive_changes_nothing)
{
  const zp_fault *f = zp_ref_fault_find("ds7595");
  run(f->example, f);
  cr_assert_eq(verdict.status, ZP_E_ARRIVAL);
  cr_assert_not(zp_verdict_names(&verdict, "STEP-5"));
  cr_assert(strstr(verdict.text, "2 of 3 gradients arrived") != NULL, "%s", verdict.text);
  cr_assert(strstr(verdict.text, "as before the step on all ranks") != NULL, "%s", verdict.text);
}

/* ---- Random cases ---------------------------------------------------------------------------- */

/* Every case is compared with serial, and serial with coded gradients' formula, after every step.
 * spec: RED-1 … RED-6, STAT-2 … STAT-5, STEP-1, STEP-4, STEP-6 … STEP-9, SCALE-3, SCALE-4, PART-7,
 * TIE-1, TIE-2, LEDG-2, LEDG-5 */
Test(fuzz, random_cases_are_clean_and_cover_every_axis)
{
  enum { CASES = 3000 };
  int64_t on[ZP_FUZZ_AXES] = {0}, ranks = 0, elements = 0, mbs = 0;
  cr_assert_leq(zp_fuzz_axes(), ZP_FUZZ_AXES);
  for (int32_t i = 0; i < CASES; i++) {
    zp_case c;
    char text[ZP_CASE_TEXT];
    zp_fuzz_random(2024, (uint64_t)i, &c);
    zp_case_run(&c, NULL, &verdict);
    zp_case_format(&c, text, sizeof text);
    cr_assert(!verdict.failed, "%s\n%s", text, verdict.text);
    ranks += c.cfg.pp * c.cfg.dp * c.cfg.tp;
    elements += zp_case_elements(&c);
    mbs += c.cfg.micro_batches;
    cr_assert_leq(c.cfg.pp * c.cfg.dp * c.cfg.tp, 16);
    cr_assert_leq(zp_case_elements(&c), 1000);
    for (int32_t a = 0; a < zp_fuzz_axes(); a++) on[a] += zp_fuzz_on_axis(a, &c, &verdict);
  }
  cr_assert_geq(ranks, 6 * CASES);
  cr_assert_geq(elements, 200 * CASES);
  cr_assert_geq(mbs, 3 * CASES);
  for (int32_t a = 0; a < zp_fuzz_axes(); a++)
    cr_expect_geq(on[a], zp_fuzz_axis_is_option(a) ? 0 : zp_fuzz_axis_share_min(a) * CASES,
                  "%s: %lld of %d", zp_fuzz_axis_name(a), (long long)on[a], CASES);
}

Test(fuzz, random_cases_alone_find_every_fault)
{
  for (int32_t i = 0; i < zp_ref_fault_count(); i++) {
    int32_t found = -1;
    for (int32_t k = 0; k < 2000 && found < 0; k++) {
      zp_case c;
      zp_fuzz_random(7, (uint64_t)k, &c);
      zp_case_run(&c, zp_ref_fault_at(i), &verdict);
      if (verdict.failed) found = k;
    }
    cr_expect_geq(found, 0, "%s is not found", zp_ref_fault_at(i)->name);
  }
}

/* Sums over ranks, micro-batches and copies. Ref adds in fp32, where fp16 has no such sums, and in
 * exact reduction the mean is finite. spec: RED-4, RED-5, STEP-6 */
Test(fuzz, finite_gradients_overflow_where_they_are_added)
{
  static const char *const sums[] = {"dp=3,list=5@0.0", "dp=1,M=3,list=5@0.0",
                                     "pp=2,dp=2,list=2@0.0+5@0.0t0+5@1.0t0",
                                     "dp=4,ep=2,list=5@0.0e"};
  static const char *const precisions[] = {"fp32", "bf16", "fp16"};
  for (int32_t i = 0; i < 12; i++) {
    char text[128];
    for (int32_t exact = 0; exact < 2; exact++) {
      const int32_t overflows = !exact && i % 3 < 2;
      snprintf(text, sizeof text, "oversum=2,steps=2,unit=-3,scale=3,precision=%s,reduce=%s,%s",
               precisions[i % 3], exact ? "exact" : "ordered", sums[i / 3]);
      run(text, NULL);
      cr_expect(!verdict.failed, "%s: %s", text, verdict.text);
      cr_expect_eq(verdict.skipped, overflows, "%s: %d steps are skipped", text, verdict.skipped);
      cr_expect_eq(verdict.result[1].skipped, overflows, "%s", text);
    }
  }
  run("oversum=3,steps=2,reduce=ordered,list=5@0.0", NULL);
  cr_assert(!verdict.failed && verdict.skipped == 0, "one contribution: %s", verdict.text);
}

Test(fuzz, the_text_of_a_case_replays_it)
{
  for (int32_t i = 0; i < 500; i++) {
    zp_case c, back;
    char text[ZP_CASE_TEXT], again[ZP_CASE_TEXT], why[256];
    zp_fuzz_random(3, (uint64_t)i, &c);
    zp_case_format(&c, text, sizeof text);
    zp_case_init(&back);
    cr_assert_eq(zp_case_parse(&back, text, why, sizeof why), 0, "%s: %s", text, why);
    zp_case_format(&back, again, sizeof again);
    cr_assert_str_eq(text, again);
    cr_assert_eq(memcmp(c.params, back.params, (size_t)c.cfg.n_params * sizeof c.params[0]), 0);
    cr_assert_eq(memcmp(&c.scaler, &back.scaler, sizeof c.scaler), 0);
    cr_assert_eq(memcmp(&c.synth, &back.synth, sizeof c.synth), 0);
    cr_assert_eq(c.cfg.optgroups, back.cfg.optgroups);
  }
}

Test(fuzz, nonsense_is_refused)
{
  static const char *const bad[] = {
      "pp",        "pp=",         "pp=x",        "pp=0",          "bucket=0",      "list=5",
      "list=5@0",  "list=5@0.0x", "list=5@0.0t", "scale=1:2",     "scale=999",     "optim=lion",
      "nothing=1", "clip=-1",     "seed=",       "M=99999999999", "precision=fp8", "mode=",
      "steps=33"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    zp_case c;
    char why[256] = "";
    zp_case_init(&c);
    cr_expect_eq(zp_case_parse(&c, bad[i], why, sizeof why), -1, "%s is taken", bad[i]);
    cr_expect_gt(strlen(why), 0);
  }
}

Test(fuzz, failures_are_shrunk_to_what_matters)
{
  const zp_fault *f = zp_ref_fault_find("ds318");
  zp_case c;
  for (uint64_t i = 0; i < 100; i++) {
    zp_fuzz_random(7, i, &c);
    zp_case_run(&c, f, &verdict);
    if (verdict.failed && zp_verdict_names(&verdict, "PART-6") && c.cfg.pp > 1) break;
  }
  cr_assert(verdict.failed);
  cr_assert_gt(zp_fuzz_shrink(&zp_backend_ref, &c, f, ZP_FUZZ_FAILED, 20, &verdict), 0);
  cr_assert(verdict.failed);
  cr_assert_eq(c.cfg.pp * c.cfg.dp * c.cfg.tp, 1); /* one rank, one straddling entry suffice */
  cr_assert_leq(c.cfg.n_params, 2);
  cr_assert_eq(c.steps, 1);
}

static void dies(void *f, zp_rank *r, zp_op *op)
{
  (void)f;
  (void)r;
  if (op->kind == ZP_OP_DECIDE) abort();
}

static void sleeps(void *f, zp_rank *r, zp_op *op)
{
  (void)f;
  (void)r;
  if (op->kind == ZP_OP_DECIDE) sleep(60);
}

Test(fuzz, crashes_and_hangs_are_findings)
{
  const zp_ref_fault crash = {{"crash", "#", "LIM-0", "", ""}, NULL, dies, NULL};
  const zp_ref_fault hang = {{"hang", "#", "LIM-0", "", ""}, NULL, sleeps, NULL};
  const zp_fuzz_job job = {
      .seed = 5, .seconds = 20, .jobs = 2, .fault = &crash.fault, .engine = &zp_backend_ref};
  static zp_fuzz_outcome out;
  zp_case c = case_of("dp=2,list=4@0.0");
  c.cfg.params = c.params;
  cr_assert_eq(zp_fuzz_one(&zp_backend_ref, &c, NULL, 10, &verdict), ZP_FUZZ_CLEAN);
  cr_assert_eq(zp_fuzz_one(&zp_backend_ref, &c, &crash.fault, 10, &verdict), ZP_FUZZ_CRASHED);
  cr_assert_eq(zp_fuzz_one(&zp_backend_ref, &c, &hang.fault, 0.5, &verdict), ZP_FUZZ_HUNG);
  zp_fuzz_run(&job, &out);
  cr_assert_eq(out.end, ZP_FUZZ_CRASHED);
}

Test(fuzz, workers_share_the_cases)
{
  zp_fuzz_job job = {.seed = 5, .cases = 301, .jobs = 3, .engine = &zp_backend_ref};
  static zp_fuzz_outcome a, b;
  zp_fuzz_run(&job, &a);
  job.jobs = 1;
  zp_fuzz_run(&job, &b);
  cr_assert_eq(a.end, ZP_FUZZ_CLEAN);
  cr_assert_eq(a.sums.cases, 301);
  cr_assert_eq(memcmp(&a.sums, &b.sums, sizeof a.sums), 0);
}
