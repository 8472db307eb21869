/* Which arithmetic is exact for coded gradients: decided by going through the values. RED-2 */
#include <math.h>
#include <stdio.h>

#include "synth_internal.h"

/* A binary floating-point format: significand bits with the hidden one, exponents of the smallest
 * normal and of the first power of two that is too large. */
typedef struct format {
  int32_t bits, least, top;
} format;

static format format_of(int32_t precision)
{
  const format f32 = {24, -126, 128}, bf16 = {8, -126, 128}, f16 = {11, -14, 16};
  return precision == ZP_F32 ? f32 : precision == ZP_BF16 ? bf16 : f16;
}

/* x rounded to the format, to nearest even; x has at most 53 bits, so one rounding. */
static double rounded(format f, double x)
{
  int e;
  if (x == 0) return 0;
  frexp(x, &e); /* x = m · 2^e, 1/2 <= m < 1 */
  if (e - 1 < f.least) e = f.least + 1;
  x = ldexp(rint(ldexp(x, f.bits - e)), e - f.bits);
  return fabs(x) >= ldexp(1, f.top) ? INFINITY : x;
}

/* What is exact when the sum k·D·M·unit is divided by `by`, in each of the three ways. */
static int32_t exact_division(format f, double value, double by)
{
  int32_t all = ZP_SYNTH_PRE | ZP_SYNTH_POST | ZP_SYNTH_RECIPROCAL;
  const double right = value / by;
  if (rounded(f, right) != right) all = 0;
  if (rounded(f, value * rounded(f, 1 / by)) != right) all &= ~(int32_t)ZP_SYNTH_RECIPROCAL;
  return all;
}

/* Every value k·D·M·2^(unit+scale), 0 < k < 4^q: partial sums of codes and of index elements. */
static int32_t exact_values(const zp_config *cfg, format f, int32_t digits, int32_t log2)
{
  const double divisor = (double)(cfg->dp * cfg->micro_batches);
  const int64_t most = (int64_t)1 << 2 * digits;
  int32_t all = ZP_SYNTH_ALL;
  for (int64_t k = 1; k < most; k++) {
    const double value = ldexp((double)k * divisor, log2);
    if (rounded(f, value) != value) return 0;
    all &= ZP_SYNTH_SUM | (exact_division(f, value, divisor) & exact_division(f, value, cfg->dp) &
                           exact_division(f, value, (double)cfg->micro_batches));
    /* the divisions one after the other end in k·2^log2 as well */
    all &= ZP_SYNTH_SUM | exact_division(f, value / cfg->dp, (double)cfg->micro_batches);
  }
  return all;
}

int32_t zp_synth_prove(const zp_config *cfg, const zp_synth_options *opt, int32_t log2_scale,
                       char *why, int64_t cap)
{
  const format f = format_of(cfg->precision);
  const int32_t digits = zp_synth_digits(cfg), log2 = opt->log2_unit + log2_scale;
  const long long divisor = (long long)cfg->dp * cfg->micro_batches;
  int32_t all;
  if (why != NULL && cap > 0) why[0] = 0;
  if (digits == 0) {
    if (why != NULL)
      snprintf(why, (size_t)cap,
               "D·M = dp × micro-batches = %lld is too large: 3·D·M does not fit "
               "%d bits",
               divisor, f.bits);
    return 0;
  }
  all = exact_values(cfg, f, digits, log2);
  if (why == NULL || all == ZP_SYNTH_ALL) return all;
  if (all == 0)
    snprintf(why, (size_t)cap, "values of 2^%d times 1..%lld leave the format's exponents", log2,
             divisor << 2 * digits);
  else
    snprintf(why, (size_t)cap, "not exact for D·M = %lld in %d bits:%s%s%s", divisor, f.bits,
             (all & ZP_SYNTH_PRE) != 0 ? "" : " dividing contributions first;",
             (all & ZP_SYNTH_POST) != 0 ? "" : " dividing the sum;",
             (all & ZP_SYNTH_RECIPROCAL) != 0 ? "" : " multiplying by the rounded reciprocal");
  return all;
}
