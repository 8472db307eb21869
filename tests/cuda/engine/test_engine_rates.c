/* Learning rates that change by step, while earlier steps are in flight. spec: OPT-7 */
#include <criterion/criterion.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/state.h"
#include "engine_case.h"

static const char text[] = "precision=bf16,M=2,bucket=8,pp=2,dp=2,stage=1,optim=momentum,rates=1,"
                           "steps=4,list=9@0.0+5@0.1+7@1.0";

/* The engine's rates of the step before, as from a scheduler that is called too late. */
static int sets_late(zp_diff_rank *w)
{
  zp_hyper hyper;
  zp_case_hyper_at(w->t->watch.rates, w->steps_done - (w->steps_done > 0), &hyper);
  return zp_cuda_set_hyper(w->e, hyper.optim, hyper.clip, hyper.clip_eps);
}

/* Whether the host asks for each step's results or not, and with masters in host memory. */
Test(rates, a_rate_applies_to_the_next_step_and_not_to_those_in_flight)
{
  static zp_diff_case j;
  open_text(&j, text);
  for (uint64_t i = 0; i < 40; i++) {
    const zp_schedule s = {.seed = i,
                           .announce = i,
                           .order = (simdev_order)(i % 4),
                           .producers = 2,
                           .get_each = i % 2,
                           .offload = i / 2 % 2,
                           .hosts = i / 4 % 2};
    cr_assert_eq(zp_diff_run(j.diff, &s), 0, "%s", zp_diff_finding(j.diff)->text);
  }
  zp_diff_case_close(&j);
}

Test(rates, a_rate_that_is_set_one_step_late_is_found)
{
  static zp_diff_case j;
  const zp_schedule s = {.seed = 1};
  open_text(&j, "dp=2,stage=1,optim=momentum,rates=1,steps=2,list=9@0.0+5@0.1");
  j.diff->hooks.before_step = sets_late;
  cr_assert_eq(zp_diff_run(j.diff, &s), 1);
  cr_assert_str_eq(zp_diff_finding(j.diff)->kind, "STEP-7", "%s", zp_diff_finding(j.diff)->text);
  zp_diff_case_close(&j);
}

/* The store of zp_cuda_save does not hold the rates: the step after loading has those of its own
 * number. */
Test(rates, a_loaded_run_continues_the_schedule)
{
  static zp_diff_case j;
  const zp_schedule s = {.seed = 3, .producers = 3};
  open_text(&j, "dp=2,stage=1,rates=1,steps=3,reload=1:2:0:8,list=9@0.0");
  cr_assert_null(zp_diff_case_run(&j, &s));
  cr_assert_not_null(j.next);
  j.next->hooks.before_step = sets_late; /* steps_done is 0: the rate of step 0, not of step 3 */
  cr_assert_not_null(zp_diff_case_run(&j, &s));
  zp_diff_case_close(&j);
}
