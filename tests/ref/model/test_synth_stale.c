/* Decoding of sums that were not cleared between steps. spec: STEP-4 */
#include <criterion/criterion.h>
#include <math.h>

#include "../../../ref/model/synth.h"

enum { DP = 3, M = 2, PART = 40, NUMEL = DP * PART, CAP = 64, DIVISOR = DP * M };

static const zp_param list[1] = {{NUMEL, 0, 0, -1, 0, 0, 0, 0}};
static const zp_config cfg = {.pp = 1,
                              .dp = DP,
                              .tp = 1,
                              .ep = 1,
                              .stage = 1,
                              .precision = ZP_F32,
                              .micro_batches = M,
                              .bucket = NUMEL,
                              .align = 1,
                              .optgroups = 1,
                              .n_params = 1,
                              .params = list};
static const zp_synth_options opt = {.seed = 11};

/* Contributions of one rank (dp -1: of all) to element e, divided by D·M. */
static double sum_of(int64_t step, int32_t dp, int64_t e)
{
  double sum = 0;
  for (int64_t c = 0; c < zp_synth_contributions(&cfg, 0); c++)
    if (dp < 0 || zp_synth_name(&cfg, 0, 0, c).dp == dp)
      sum += (double)zp_synth_value(&opt, &cfg, step, 0, 0, 0, c, e);
  return sum / DIVISOR;
}

/* Step 1's reduced gradient of sums that hold what step 0's reduction left there: its result, or
 * the mean of that, in all ranks' sums (stage 0) or in the owner's (stage 1). */
static void reduce_uncleared(int32_t stage, int mean, float *x)
{
  for (int64_t e = 0; e < NUMEL; e++) {
    const double old = sum_of(0, -1, e), result = mean ? (double)(float)(old / DIVISOR) : old;
    const double left = stage == 0 ? DP * result : result + old - sum_of(0, (int32_t)(e / PART), e);
    x[e] = (float)(sum_of(1, -1, e) + left);
  }
}

static int64_t decode(const float *x, zp_synth_finding *f, int32_t *n)
{
  *n = 0;
  return zp_synth_decode(&opt, &cfg, 1, 0, 0, 0, 0, 0, NUMEL, x, f, n, CAP);
}

Test(synth_stale, infinite_sums_are_not_of_the_previous_step)
{
  float x[NUMEL];
  zp_synth_finding f[CAP];
  int32_t n;
  for (int64_t e = 0; e < NUMEL; e++) x[e] = INFINITY;
  cr_assert_eq(decode(x, f, &n), NUMEL);
  for (int32_t i = 0; i < n; i++) cr_assert_neq(f[i].kind, ZP_SYNTH_STALE);
}

Test(synth_stale, sums_that_a_reduction_in_place_left_are_of_the_previous_step)
{
  float x[NUMEL];
  zp_synth_finding f[CAP];
  int32_t n;
  for (int32_t i = 0; i < 4; i++) {
    reduce_uncleared(i % 2, i / 2, x);
    cr_assert_gt(decode(x, f, &n), NUMEL / 2);
    cr_assert_eq(n, 1, "stage %d, mean %d", i % 2, i / 2);
    cr_assert_eq(f[0].kind, ZP_SYNTH_STALE);
    cr_assert_eq(f[0].times, 2);
    cr_assert_eq(f[0].from, 0);
  }
}

Test(synth_stale, one_element_that_is_wrong_otherwise_is_no_previous_step)
{
  float x[NUMEL];
  zp_synth_finding f[CAP];
  int32_t n;
  reduce_uncleared(1, 0, x);
  x[7] += 1;
  cr_assert_gt(decode(x, f, &n), 0);
  for (int32_t i = 0; i < n; i++) cr_assert_neq(f[i].kind, ZP_SYNTH_STALE);
}
