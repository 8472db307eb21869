/* Laws of ref/model/zmath.h and text.h: glibc's fp64 functions are the reference. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "../../../ref/model/text.h"
#include "../../../ref/model/zmath.h"

/* distance of y from the exact value in units of the exact value's last fp32 place */
static double ulps(double exact, float y)
{
  if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
  if (isinf((float)exact) || isinf(y)) return (float)exact == y ? 0 : INFINITY;
  int e;
  frexp(exact, &e);
  return fabs((double)y - exact) / ldexp(1.0, (e < -125 ? -125 : e) - 24);
}

/* An odd stride over all 2^32 arguments: every exponent, both signs, NaN and infinity too. The
 * bounds were found over all arguments. */
Test(model_math, exp_log_tanh_are_within_their_stated_error)
{
  double worst_exp = 0, worst_tanh = 0, worst_log = 0;
  for (uint64_t u = 0; u < (uint64_t)1 << 32; u += 4099) {
    float x = zp_float_of((uint32_t)u);
    worst_exp = fmax(worst_exp, ulps(exp(x), zp_expf(x)));
    worst_tanh = fmax(worst_tanh, ulps(tanh(x), zp_tanhf(x)));
    worst_log = fmax(worst_log, ulps(log(x), zp_logf(x)));
  }
  cr_assert(worst_exp <= 1.03, "exp: %g ulp", worst_exp);
  cr_assert(worst_tanh <= 2.43, "tanh: %g ulp", worst_tanh);
  cr_assert(worst_log <= 0.51, "log: %g ulp", worst_log);
}

Test(model_math, special_arguments_give_special_values)
{
  cr_assert(zp_expf(0.0f) == 1.0f && zp_expf(-0.0f) == 1.0f);
  cr_assert(zp_expf(INFINITY) == INFINITY && zp_expf(-INFINITY) == 0.0f);
  cr_assert(zp_expf(1e30f) == INFINITY && zp_expf(-1e30f) == 0.0f);
  cr_assert(zp_expf(88.72284f) == INFINITY && zp_expf(88.72283f) < INFINITY);
  cr_assert(zp_expf(-103.0f) == 0x1p-149f);
  cr_assert(isnan(zp_expf(NAN)) && isnan(zp_tanhf(NAN)) && isnan(zp_logf(NAN)));
  cr_assert(zp_tanhf(INFINITY) == 1.0f && zp_tanhf(-INFINITY) == -1.0f);
  cr_assert(signbit(zp_tanhf(-0.0f)) && zp_tanhf(-0.0f) == 0.0f);
  cr_assert(zp_tanhf(0x1p-149f) == 0x1p-149f);
  cr_assert(zp_logf(1.0f) == 0.0f && zp_logf(0.0f) == -INFINITY && zp_logf(-0.0f) == -INFINITY);
  cr_assert(isnan(zp_logf(-1.0f)) && isnan(zp_log(-INFINITY)) && zp_log(INFINITY) == INFINITY);
}

Test(model_math, log_in_fp64_is_within_three_ulp)
{
  for (double x = 4e-324; x < 1e308; x = x * 1.0037 + 4e-324) {
    double exact = log(x);
    cr_assert(fabs(zp_log(x) - exact) <= 3 * 0x1p-52 * fabs(exact), "at %a", x);
  }
  for (double x = 0.5; x < 2.0; x += 0x1p-14 + 0x1p-40) {
    double exact = log(x);
    cr_assert(fabs(zp_log(x) - exact) <= 3 * 0x1p-52 * fabs(exact), "at %a", x);
  }
}

Test(model_math, powers_of_two_are_exact_for_every_exponent)
{
  for (int k = -1100; k <= 1100; k++) cr_assert(zp_pow2f(k) == (float)ldexp(1.0, k), "at %d", k);
  cr_assert(zp_pow2f(INT32_MAX) == INFINITY && zp_pow2f(INT32_MIN) == 0.0f);
}

static double gelu64(double x)
{
  return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

/* Where tanh is near −1, 1 + tanh cancels: the error is a few units of fp32 times |x|. */
Test(model_math, gelu_and_its_slope_match_fp64)
{
  enum { N = 40001 };
  static float x[N], y[N], slope[N];
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i - N / 2) * 1e-3f;
    slope[i] = 1.0f;
  }
  zp_gelu(y, x, N);
  zp_gelu_backward(slope, x, N);
  for (int i = 0; i < N; i++) {
    double h = 1e-5, d = (gelu64(x[i] + h) - gelu64(x[i] - h)) / (2 * h);
    cr_assert(fabs(y[i] - gelu64(x[i])) <= 4 * 0x1p-24 * (1 + fabs(x[i])), "GELU at %g", x[i]);
    cr_assert(fabs(slope[i] - d) <= 2e-6, "slope at %g: %g, not %g", x[i], slope[i], d);
  }
}

Test(model_math, gelu_slope_of_huge_arguments_is_0_or_1)
{
  float x[4] = {1e30f, -1e30f, 3e38f, -3e38f}, slope[4] = {1, 1, 1, 1};
  zp_gelu_backward(slope, x, 4);
  cr_assert(slope[0] == 1 && slope[1] == 0 && slope[2] == 1 && slope[3] == 0);
}

/* The array functions run other instruction sets than the scalar ones. */
Test(model_math, arrays_of_any_length_equal_single_calls)
{
  for (int n = 0; n <= 40; n++) {
    float x[40], y[40];
    for (int i = 0; i < n; i++) x[i] = y[i] = (float)(i * i % 37) * 0.37f - 6.0f;
    zp_exp_shifted(y, 0.7f, n);
    for (int i = 0; i < n; i++) cr_assert(y[i] == zp_expf(x[i] - 0.7f));
  }
}

Test(model_text, entropy_of_known_frequencies)
{
  uint8_t same[7] = {65, 65, 65, 65, 65, 65, 65}, all[512];
  for (int i = 0; i < 512; i++) all[i] = (uint8_t)i;
  uint8_t mixed[4] = {1, 1, 1, 200};
  cr_assert(zp_text_unigram_entropy(same, 0) == 0.0);
  cr_assert(zp_text_unigram_entropy(same, 7) == 0.0);
  /* 256 additions, each within half a unit of 5.5, 2^-51 */
  cr_assert(fabs(zp_text_unigram_entropy(all, 512) - log(256.0)) < 256 * 0x1p-51);
  cr_assert(fabs(zp_text_unigram_entropy(mixed, 4) + 0.75 * log(0.75) + 0.25 * log(0.25)) < 1e-15);
}
