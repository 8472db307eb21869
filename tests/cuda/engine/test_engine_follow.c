/* Ref behind the twin: where the twin's gradients are ref's all is as when ref goes first, on
 * random topologies; and what the engine makes of gradients wrongly, or what a stage receives
 * wrongly, is found in the step that it is of. spec: ERR-7, PIPE-6 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/faults.h"
#include "../../../cuda/verify/state.h"
#include "../../../ref/verify/backend.h"

enum { CASES = 150, FAULTY = 40 };

/* What the run found: "" nothing. */
static const char *follow(const zp_case *c, const zp_schedule *s, zp_gemm_report *products)
{
  static zp_diff_case j;
  static char text[ZP_DIFF_TEXT + ZP_DIFF_KIND + 2];
  const zp_diff_watch watch = {.products = products};
  zp_error err = {0};
  cr_assert_eq(zp_diff_case_watched(&j, c, &watch, &err), 0, "%s", err.text);
  text[0] = 0;
  if (zp_diff_run(j.diff, s))
    snprintf(text, sizeof text, "%s: %s", zp_diff_finding(j.diff)->kind,
             zp_diff_finding(j.diff)->text);
  zp_diff_case_close(&j);
  return text;
}

Test(follow, ref_follows_each_step_of_the_engine_with_equal_bits)
{
  static zp_case c;
  char text[ZP_CASE_TEXT];
  for (uint64_t i = 0; i < CASES; i++) {
    zp_gemm_report products = {0};
    uint32_t lacking;
    zp_cuda_random_case(71, i, &c, &lacking);
    c.reload.pp = 0;
    zp_case_format(&c, text, sizeof text);
    const zp_schedule s = zp_case_schedule(&c, c.schedule + i, NULL);
    const char *found = follow(&c, &s, &products);
    cr_assert_str_empty(found, "%s, schedule %llu: %s", text, (unsigned long long)(c.schedule + i),
                        found);
    cr_assert(products.loss_error == 0 && products.gradient_error == 0, "%s: %g %g apart", text,
              products.loss_error, products.gradient_error);
  }
}

/* Each in the case and the order that its table has for it, or in one of the next ones. */
static void finds(const char *name, const char *clause)
{
  static zp_case c;
  const zp_fault *fault = zp_cuda_fault_find(name);
  char why[256], found[ZP_DIFF_TEXT + ZP_DIFF_KIND + 2] = "nothing";
  cr_assert_not_null(fault, "%s", name);
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, fault->example, why, sizeof why), 0, "%s", why);
  for (uint64_t n = 0; n < FAULTY; n++) {
    zp_gemm_report products = {0};
    const zp_schedule s = zp_case_schedule(&c, c.schedule + n, zp_cuda_fault_of(fault));
    snprintf(found, sizeof found, "%s", follow(&c, &s, &products));
    if (strncmp(found, clause, strlen(clause)) == 0) return;
  }
  cr_assert_fail("%s: %s", name, found);
}

Test(follow, mistakes_of_the_engine_are_found)
{
  finds("no-p2p-wait", "PIPE-6");
  finds("pr8080", "STEP-6");
  finds("gather-before-update", "STEP-8");
}
