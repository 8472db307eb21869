/* fp32 gradients beside 16-bit parameters. spec: RED-1, STAT-3, PART-8, LEDG-1 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "../../../ref/verify/case_run.h"

static zp_verdict verdict; /* large: not on the stack */

/* The first step's result: its gradients do not depend on the parameters. */
static zp_step_result first_step(int32_t stage, const char *reduce, const char *rest)
{
  static zp_case c;
  char text[256], why[256];
  zp_case_init(&c);
  snprintf(text, sizeof text, "mode=wild,dp=3,M=2,bucket=12,seed=5,stage=%d,reduce=%s,%s,%s", stage,
           reduce, "list=12@0.0+5@0.0+9@0.1", rest);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  zp_case_run(&c, NULL, &verdict);
  cr_assert(!verdict.failed, "%s: %s", text, verdict.text);
  return verdict.result[0];
}

/* No bit is lost before the sum: the norm is that of fp32 parameters. With gradients of the
 * precision it is another. */
Test(fp32_gradients, keep_their_bits_beside_16_bit_parameters)
{
  for (int32_t k = 0; k < 6; k++) {
    const char *reduce = k / 3 ? "exact" : "ordered";
    const uint64_t norm = first_step(k % 3, reduce, "precision=fp32").norm_f64;
    const uint64_t bf16 = first_step(k % 3, reduce, "precision=bf16,fp32_gradients=1").norm_f64;
    const uint64_t fp16 = first_step(k % 3, reduce, "precision=fp16,fp32_gradients=1").norm_f64;
    cr_assert_eq(norm, bf16, "stage %d, %s", k % 3, reduce);
    cr_assert_eq(norm, fp16, "stage %d, %s", k % 3, reduce);
    cr_assert_neq(norm, first_step(k % 3, reduce, "precision=bf16").norm_f64);
  }
}

/* A scaled gradient that overflows fp16 is finite in fp32; an infinite one still skips the step. */
Test(fp32_gradients, have_flags_of_their_own_numbers)
{
  static const char large[] = "precision=fp16,mode=coded,unit=20,scale=4";
  char rest[128];
  for (int32_t k = 0; k < 6; k++) {
    const char *reduce = k / 3 ? "exact" : "ordered";
    cr_assert(first_step(k % 3, reduce, large).skipped);
    snprintf(rest, sizeof rest, "%s,fp32_gradients=1", large);
    cr_assert(!first_step(k % 3, reduce, rest).skipped);
    cr_assert(first_step(k % 3, reduce, "precision=fp16,fp32_gradients=1,overflow=1").skipped);
  }
}
