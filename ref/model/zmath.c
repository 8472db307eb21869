#include "zmath.h"

#include "gpt_target.h"

float zp_pow2f(int32_t k)
{
  if (k > 127) return zp_float_of(0x7f800000u);
  if (k >= -126) return zp_pow2_normal(k);
  return k >= -149 ? zp_float_of((uint32_t)1 << (k + 149)) : 0.0f;
}

double zp_log(double x)
{
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  if (x != x || u == 0x7ff0000000000000u) return x;
  if (x == 0.0) return -1.0 / 0.0;
  if (x < 0.0) return (x - x) / 0.0;
  int64_t e = -1023;
  if (u < 0x0010000000000000u) { /* subnormal: scale by 2^54 */
    double y = x * 0x1p54;
    memcpy(&u, &y, sizeof u);
    e -= 54;
  }
  e += (int64_t)(u >> 52);
  u = (u & 0x000fffffffffffffu) | 0x3ff0000000000000u;
  double m;
  memcpy(&m, &u, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e += 1;
  }
  /* log m = 2·atanh s = 2(s + s³/3 + …) with |s| <= 0.1716: after s^23/23 the rest is below
   * 2^-55 of the whole. */
  double s = (m - 1.0) / (m + 1.0);
  double z = s * s;
  double q = 0.0;
  for (int odd = 23; odd >= 3; odd -= 2) q = q * z + 1.0 / (double)odd;
  /* ln 2 in two parts, the first with 32 bits, so that e·HI is exact. */
  double tail = 2.0 * s * z * q + (double)e * 1.9082149292705877e-10;
  return (double)e * 0.69314718036912382 + (2.0 * s + tail);
}

static ZP_GPT_INLINE float gelu_tanh(float x)
{
  float cubic = x + 0.044715f * x * x * x;
  return zp_tanhf(0.797884561f * cubic); /* √(2/π) */
}

static ZP_GPT_INLINE void gelu_body(float *restrict y, const float *restrict x, int64_t n)
{
  for (int64_t i = 0; i < n; i++) y[i] = 0.5f * x[i] * (1.0f + gelu_tanh(x[i]));
}

static ZP_GPT_INLINE void gelu_backward_body(float *restrict dy, const float *restrict x, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    /* Beyond ±16 the derivative is 0 or 1; uncut, 0·∞ would make it NaN. */
    float c = x[i] > 16.0f ? 16.0f : x[i];
    c = c < -16.0f ? -16.0f : c;
    float t = gelu_tanh(c);
    float slope = 0.797884561f * (1.0f + 0.134145f * c * c);
    float d = 0.5f * (1.0f + t) + 0.5f * c * (1.0f - t * t) * slope;
    dy[i] *= d;
  }
}

static ZP_GPT_INLINE void exp_body(float *x, float shift, int64_t n)
{
  for (int64_t i = 0; i < n; i++) x[i] = zp_expf(x[i] - shift);
}

ZP_GPT_DISPATCH(, zp_gelu, gelu_body, (float *y, const float *x, int64_t n), (y, x, n))
ZP_GPT_DISPATCH(, zp_gelu_backward, gelu_backward_body, (float *dy, const float *x, int64_t n),
                (dy, x, n))
ZP_GPT_DISPATCH(, zp_exp_shifted, exp_body, (float *x, float shift, int64_t n), (x, shift, n))
