/* `native`: NCCL adds, in an order that nothing fixes. Exact sums have ref's bits whatever that
 * order is; on other data nothing is promised, and simdev shows it. spec: RED-7 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../../../cuda/verify/case.h"

enum { ORDERS = 8 };

static zp_schedule schedule(uint64_t n)
{
  zp_schedule s = zp_schedule_of(n);
  s.native = 1;
  s.path = n % 4 == 0;
  return s;
}

static void begin(zp_diff_case *j, const char *mode, int32_t stage, const char *precision,
                  const char *rest)
{
  static zp_error err;
  static zp_case c;
  char text[400], why[256];
  zp_case_init(&c);
  snprintf(text, sizeof text, "mode=%s,stage=%d,precision=%s,reduce=ordered,bucket=5,steps=2,%s",
           mode, stage, precision, rest);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  cr_assert_eq(zp_diff_case_open(j, &c, &err), 0, "%s: %s", text, err.text);
  cr_assert_eq(zp_diff_expected(j->diff, 0)->skipped, 0, "%s", text);
}

static void equals(const char *mode, int32_t stage, const char *precision, const char *rest)
{
  static zp_diff_case j;
  begin(&j, mode, stage, precision, rest);
  for (uint64_t n = 0; n < ORDERS; n++) {
    const zp_schedule s = schedule(n);
    cr_assert_eq(zp_diff_run(j.diff, &s), 0, "%s, stage %d, %s, order %d: %s: %s", mode, stage,
                 precision, (int)n, zp_diff_finding(j.diff)->kind, zp_diff_finding(j.diff)->text);
  }
  zp_diff_case_close(&j);
}

static const char *const precisions[] = {"fp32", "bf16", "fp16"};

/* A tied key over two stages, and one twice on a stage. */
Test(native, equals_ref_on_exact_data_in_every_stage_and_precision)
{
  for (int32_t k = 0; k < 9; k++) {
    equals("coded", k / 3, precisions[k % 3],
           "M=3,pp=2,dp=3,unused=50,list=12@0.0+5@0.0+7@0.1f+9@1.0+8@1.1");
    equals("dyadic", k / 3, precisions[k % 3],
           "M=3,pp=2,dp=3,list=12@0.0t0+5@0.0+11@0.0t1+11@0.0t1+12@1.0t0+8@1.1");
  }
}

/* Whatever the data, two ranks' sum is RN32(a + b): bf16 added in bf16 would be another. */
Test(native, adds_in_fp32_whatever_the_precision)
{
  for (int32_t k = 0; k < 3; k++) equals("wild", 2, precisions[k], "M=2,dp=2,list=12@0.0+7@0.1");
}

/* fp32 gradients of 16-bit parameters keep their bits on the way to the sum. spec: RED-1 */
Test(native, adds_fp32_gradients_whatever_the_precision)
{
  for (int32_t k = 0; k < 9; k++) {
    equals("wild", k / 3, precisions[k % 3], "fp32_gradients=1,M=1,dp=2,list=12@0.0+7@0.1");
    equals("dyadic", k / 3, precisions[k % 3],
           "fp32_gradients=1,M=3,pp=2,dp=3,list=12@0.0t0+5@0.0+12@1.0t0+8@1.1");
  }
}

/* The order is really free here: on inexact data some seed has other bits than ref, and no seed
 * another ledger, or other waits. */
Test(native, may_differ_on_inexact_data)
{
  static zp_diff_case j;
  int32_t differs = 0;
  begin(&j, "wild", 1, "fp32", "M=2,dp=3,list=12@0.0+27@0.1");
  for (uint64_t n = 0; n < 32; n++) {
    const zp_schedule s = schedule(n);
    if (zp_diff_run(j.diff, &s) == 0) continue;
    const char *kind = zp_diff_finding(j.diff)->kind;
    cr_assert(strcmp(kind, "STAT-4") == 0 || strcmp(kind, "STEP-6") == 0 ||
                  strcmp(kind, "STEP-7") == 0 || strcmp(kind, "STEP-8") == 0,
              "%s: %s", kind, zp_diff_finding(j.diff)->text);
    differs++;
  }
  cr_assert_geq(differs, 1);
  zp_diff_case_close(&j);
}
