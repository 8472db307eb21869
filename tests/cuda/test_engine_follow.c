/* Ref behind the twin: where the twin's gradients are ref's all is as when ref goes first, on random
 * topologies; and what the engine makes of gradients wrongly, or what a stage receives wrongly, is
 * found in the step that it is of. spec: ERR-7, PIPE-6 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "../../cuda/trial/case.h"
#include "../../cuda/trial/faults.h"
#include "../../cuda/trial/trial_internal.h"
#include "../../ref/cli/engine.h"

enum { CASES = 150, FAULTY = 40 };

/* What the run found: "" nothing. */
static const char *follow(const zp_case *c, const zp_trial_schedule *s,
                          zp_engine_products *products)
{
  static zp_trial_subject j;
  static char text[ZP_TRIAL_TEXT + ZP_TRIAL_KIND + 2];
  const zp_trial_watch watch = {.products = products};
  zp_error err = {0};
  cr_assert_eq(zp_trial_subject_watched(&j, c, &watch, &err), 0, "%s", err.text);
  text[0] = 0;
  if (zp_trial_run(j.trial, s))
    snprintf(text, sizeof text, "%s: %s", zp_trial_why(j.trial)->kind, zp_trial_why(j.trial)->text);
  zp_trial_subject_close(&j);
  return text;
}

Test(follow, ref_takes_each_step_behind_the_twin_and_all_bits_are_equal)
{
  static zp_case c;
  char text[ZP_CASE_TEXT];
  for (uint64_t i = 0; i < CASES; i++) {
    zp_engine_products products = {0};
    uint32_t lacking;
    zp_trial_random_case(71, i, &c, &lacking);
    c.reload.pp = 0;
    zp_case_format(&c, text, sizeof text);
    const zp_trial_schedule s = zp_twin_schedule(&c, c.schedule + i, NULL);
    const char *found = follow(&c, &s, &products);
    cr_assert_str_empty(found, "%s, schedule %llu: %s", text, (unsigned long long)(c.schedule + i),
                        found);
    cr_assert(products.loss == 0 && products.gradient == 0, "%s: %g %g apart", text, products.loss,
              products.gradient);
  }
}

/* Each in the case and the order that its table has for it, or in one of the next ones. */
static void finds(const char *name, const char *clause)
{
  static zp_case c;
  const zp_fault *fault = zp_twin_fault_find(name);
  char why[256], found[ZP_TRIAL_TEXT + ZP_TRIAL_KIND + 2] = "nothing";
  cr_assert_not_null(fault, "%s", name);
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, fault->first, why, sizeof why), 0, "%s", why);
  for (uint64_t n = 0; n < FAULTY; n++) {
    zp_engine_products products = {0};
    const zp_trial_schedule s = zp_twin_schedule(&c, c.schedule + n, zp_twin_fault_of(fault));
    snprintf(found, sizeof found, "%s", follow(&c, &s, &products));
    if (strncmp(found, clause, strlen(clause)) == 0) return;
  }
  cr_assert_fail("%s: %s", name, found);
}

Test(follow, what_the_engine_does_wrongly_is_found)
{
  finds("no-p2p-wait", "PIPE-6");
  finds("pr8080", "STEP-6");
  finds("gather-before-update", "STEP-8");
}
