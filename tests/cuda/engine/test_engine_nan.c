/* Which NaN an operation gives is the machine's; whether it gives one is not. spec: NUM-4 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/same_bits.h"
#include "../../../cuda/verify/state.h"

static int same(int32_t dtype, uint32_t a, uint32_t b)
{
  return zp_as_compared(dtype, a) == zp_as_compared(dtype, b);
}

/* x86's, a GPU's, one that an operand's payload became. NUM-4 */
Test(nan, a_quiet_nan_equals_any_other_quiet_nan)
{
  static const uint32_t fp32[] = {0xffc00000, 0x7fffffff, 0x7fc00001};
  static const uint32_t bf16[] = {0xffc0, 0x7fff, 0x7fc1}, fp16[] = {0xfe00, 0x7fff, 0x7e01};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      cr_assert(same(ZP_F32, fp32[i], fp32[j]) && same(ZP_BF16, bf16[i], bf16[j]) &&
                same(ZP_F16, fp16[i], fp16[j]));
}

/* NUM-4 */
Test(nan, a_quiet_nan_differs_from_numbers_infinities_and_signalling_nans)
{
  static const uint32_t others[3][6] = {{0, 0x80000000, 0x3f800000, 0x7f800000, 0xff800000},
                                        {0, 0x8000, 0x3f80, 0x7f80, 0xff80, 0x7e00},
                                        {0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7bff}};
  static const uint32_t signalling[3][2] = {
      {0x7f800001, 0xffbfffff}, {0x7f81, 0xffbf}, {0x7c01, 0xfdff}};
  static const int32_t dtypes[] = {ZP_F32, ZP_BF16, ZP_F16};
  for (int d = 0; d < 3; d++) {
    const uint32_t quiet = d == 0 ? 0x7fffffff : 0x7fff;
    for (int i = 0; i < 6; i++) {
      cr_assert(!same(dtypes[d], others[d][i], quiet), "%d: %08x", d, others[d][i]);
      for (int j = 0; j < i; j++)
        cr_assert(others[d][i] == others[d][j] || !same(dtypes[d], others[d][i], others[d][j]));
    }
    cr_assert(!same(dtypes[d], signalling[d][0], quiet));
    cr_assert(!same(dtypes[d], signalling[d][1], quiet));
    cr_assert(!same(dtypes[d], signalling[d][0], signalling[d][1]), "moved, not computed");
  }
}

Test(nan, arrays_differ_where_elements_do)
{
  static const float a[] = {1, NAN, -0.0f, 3}, b[] = {1, -NAN, -0.0f, 3}, c[] = {1, NAN, 0, 4};
  cr_assert_eq(zp_first_difference(ZP_F32, a, b, 4), -1);
  cr_assert_eq(zp_first_difference(ZP_F32, a, c, 4), 2);
  cr_assert_eq(zp_first_difference(ZP_F32, a, c, 2), -1);
}

/* ---- A trial on a machine with other NaNs ---------------------------------------------------- */

enum { STEPS = 6 };
typedef enum change { AS_A_GPU, MASTERS_INFINITE, PARAMETERS_INFINITE } change;

static change how;
static int64_t changed;

static void change_masters(const zp_diff_rank *w)
{
  for (int32_t k = 0; k < zp_cuda_layout_of(w->e)->n_flats; k++) {
    const zp_cuda_arrays f = zp_cuda_arrays_of(w->e, k);
    const int64_t n = zp_sim_rank(w->t->ref.sim, w->rank)->flat[k].extent;
    if (zp_cuda_layout_of(w->e)->flat[k].use != 0) continue;
    for (int64_t i = 0; i < n; i++) {
      if (!isnan(f.master[i])) continue;
      ((uint32_t *)(void *)f.master)[i] = how == AS_A_GPU ? 0x7fffffff : 0x7f800000;
      changed++;
    }
  }
}

static void change_params(const zp_diff_rank *w)
{
  const zp_config *c = w->t->cfg;
  const uint32_t magnitudes = c->precision == ZP_F32 ? 0x7fffffff : 0x7fff;
  const uint32_t infinity = c->precision == ZP_F32    ? 0x7f800000
                            : c->precision == ZP_BF16 ? 0x7f80
                                                      : 0x7c00;
  const uint32_t other = how == AS_A_GPU ? magnitudes : infinity;
  for (int32_t p = 0; p < zp_cuda_layout_of(w->e)->n_params; p++) {
    void *at = zp_cuda_param(w->e, zp_cuda_layout_of(w->e)->first_param + p);
    for (int64_t i = 0; i < c->params[zp_cuda_layout_of(w->e)->first_param + p].numel; i++) {
      if ((zp_bits_at(c->precision, at, i) & magnitudes) <= infinity) continue;
      if (c->precision == ZP_F32) ((uint32_t *)at)[i] = other;
      else ((uint16_t *)at)[i] = (uint16_t)other;
    }
  }
}

static int change_nans(zp_diff_rank *w)
{
  if (w->steps_done != STEPS - 1) return 0;
  ZP_HOST_TRY(cudaDeviceSynchronize());
  if (how != PARAMETERS_INFINITE) change_masters(w);
  if (how != MASTERS_INFINITE) change_params(w);
  return 0;
}

/* Steps so wide that masters become infinite, and then NaN. */
static void run(int32_t stage, const char *precision, const char *kind)
{
  static zp_diff_case j;
  static zp_case c;
  static const zp_hyper wide = {.groups = 1,
                                .optim[0] = {.kind = ZP_OPTIM_SGD, .lr = 3e38, .weight_decay = 1}};
  char text[200], why[256] = "";
  zp_error err = {0};
  zp_case_init(&c);
  snprintf(text, sizeof text,
           "stage=%d,precision=%s,reduce=ordered,M=2,bucket=12,dp=2,steps=%d,"
           "list=12@0.0+9@0.0+8@0.0",
           stage, precision, STEPS);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  c.hyper = &wide;
  cr_assert_eq(zp_diff_case_open(&j, &c, &err), 0, "%s", err.text);
  j.diff->hooks.before_step = change_nans;
  for (uint64_t n = 1; n < 4; n++) {
    const zp_schedule s = zp_schedule_of(n);
    changed = 0;
    zp_diff_run(j.diff, &s);
    cr_assert_str_eq(zp_diff_finding(j.diff)->kind, kind, "%s: %s", precision,
                     zp_diff_finding(j.diff)->text);
    cr_assert(how == PARAMETERS_INFINITE || changed > 0, "no NaN came up");
  }
  zp_diff_case_close(&j);
}

static const char *const precisions[] = {"fp32", "bf16", "fp16"};

/* NUM-4 */
Test(nan, another_machines_nan_is_not_a_difference)
{
  how = AS_A_GPU;
  for (int32_t i = 0; i < 6; i++) run(i / 2, precisions[i % 3], "");
}

/* NUM-4 */
Test(nan, an_infinity_for_a_nan_in_masters_is_a_difference)
{
  how = MASTERS_INFINITE;
  for (int32_t i = 0; i < 3; i++) run(i, precisions[i], "STEP-7");
}

/* NUM-4 */
Test(nan, an_infinity_for_a_nan_in_parameters_is_a_difference)
{
  how = PARAMETERS_INFINITE;
  for (int32_t i = 0; i < 3; i++) run(i, precisions[i], "STAT-5"); /* the loss reads them first */
}
