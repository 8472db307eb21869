/* exp, log and tanh of our own: the same bits from every compiler and on every CPU.
 *
 * Only IEEE +, −, ·, / and integer operations, in the order written, so compiled without
 * contraction (-ffp-contract=off) and without -ffast-math they have one result. No branches in the
 * fp32 functions: selections only, so that compilers vectorise loops over them.
 * Errors are the largest over all 2^32 arguments, against glibc's fp64 functions, in units of the
 * result's last place. NaN gives NaN (with no promise about its payload). */
#ifndef ZP_MODEL_ZMATH_H
#define ZP_MODEL_ZMATH_H

#include <stdint.h>
#include <string.h>

#if defined(__clang__) /* whose default contracts a·b + c */
#pragma STDC FP_CONTRACT OFF
#endif

static inline uint32_t zp_float_bits(float x)
{
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline float zp_float_of(uint32_t u)
{
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* 2^k for -126 <= k <= 127. */
static inline float zp_pow2_normal(int32_t k)
{
  return zp_float_of((uint32_t)(k + 127) << 23);
}

/* 2^k in fp32 for every k: 0 below -149, infinity above 127. */
float zp_pow2f(int32_t k);

/* 1.5·2^23: adding it to |t| < 2^22 rounds t to an integer (to nearest even), which then stands in
 * the low bits of the significand. */
#define ZP_ROUND_MAGIC 12582912.0f
#define ZP_LOG2_E 1.44269504f
/* ln 2 = HI + LO; HI has 15 significant bits, so that k·HI is exact for |k| < 2^9. */
#define ZP_LN2_HI 0x1.62e4p-1f
#define ZP_LN2_LO 1.42860682e-6f /* ln 2 − HI */

/* Reduction shared by exp and tanh: x = *k·ln 2 + r with |r| <= 0.35; returns e^r − 1 with a
 * relative error near 1 ulp. For |x| < 2^8. Taylor to r^7/7!: the rest is below 2^-25 of it. */
static inline float zp_expm1_reduced(float x, int32_t *k)
{
  float t = x * ZP_LOG2_E + ZP_ROUND_MAGIC;
  float n = t - ZP_ROUND_MAGIC;
  *k = (int32_t)((zp_float_bits(t) & 0x7fffffu) - 0x400000u);
  float r = (x - n * ZP_LN2_HI) - n * ZP_LN2_LO;
  float q = 1.98412698e-4f;   /* 1/7! */
  q = q * r + 1.38888889e-3f; /* 1/6! */
  q = q * r + 8.33333333e-3f; /* 1/5! */
  q = q * r + 4.16666667e-2f; /* 1/4! */
  q = q * r + 1.66666667e-1f; /* 1/3! */
  q = q * r + 0.5f;
  return r + (r * r) * q;
}

/* e^x in fp32, subnormal results included; overflow gives infinity. Error: 1.03 ulp. */
static inline float zp_expf(float x)
{
  /* Outside these bounds the result is 0 or infinity in any case. */
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  int32_t k;
  float e = 1.0f + zp_expm1_reduced(c, &k);
  /* Two factors, since 2^k alone can be outside the normal range; only the second one rounds. A
   * NaN leaves any k, so its bits are cut to the range that zp_pow2_normal takes. */
  uint32_t shifted = ((uint32_t)k + 512u) & 0x3ffu;
  uint32_t half = shifted >> 1;
  float a = zp_float_of(((half - 256u + 127u) & 0xffu) << 23);
  float b = zp_float_of(((shifted - half - 256u + 127u) & 0xffu) << 23);
  return (e * a) * b;
}

/* tanh x in fp32 = m/(m + 2) with m = e^(2|x|) − 1, which loses nothing near 0. Error:
 * 2.43 ulp. */
static inline float zp_tanhf(float x)
{
  uint32_t sign = zp_float_bits(x) & 0x80000000u;
  float y = 2.0f * zp_float_of(zp_float_bits(x) & 0x7fffffffu);
  y = y > 20.0f ? 20.0f : y; /* tanh 10 rounds to 1 */
  int32_t k;
  float p = zp_expm1_reduced(y, &k);
  float s = zp_float_of((((uint32_t)k + 127u) & 0xffu) << 23);
  float m = s * p + (s - 1.0f);
  return zp_float_of(zp_float_bits(m / (m + 2.0f)) | sign);
}

/* Natural logarithm in fp64: -inf at 0, NaN below. Error: 3 ulp. */
double zp_log(double x);

/* Natural logarithm in fp32: zp_log rounded once more. Error: 0.51 ulp. */
static inline float zp_logf(float x)
{
  return (float)zp_log((double)x);
}

/* GELU in its tanh form, x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), of n numbers. The arrays of
 * these functions do not overlap. */
void zp_gelu(float *y, const float *x, int64_t n);

/* dy[i] becomes dy[i]·GELU'(x[i]). */
void zp_gelu_backward(float *dy, const float *x, int64_t n);

/* x[i] becomes e^(x[i] − shift). */
void zp_exp_shifted(float *x, float shift, int64_t n);

#endif
