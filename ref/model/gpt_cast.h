/* Arrays between fp32 and the configuration's precision, bit for bit as ref/num/half.h converts
 * single numbers (test_model_cast compares all patterns), but without branches, for vectors.
 * spec: NUM-1, NUM-2 */
#ifndef ZP_MODEL_GPT_CAST_H
#define ZP_MODEL_GPT_CAST_H

#include <stdint.h>

#include "../plan/dtype.h"
#include "zmath.h"

static inline uint16_t zp_gpt_bf16(float x)
{
  uint32_t u = zp_float_bits(x);
  uint32_t nearest = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  uint32_t quiet = (u >> 16) | 0x40u;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : nearest);
}

static inline float zp_gpt_of_bf16(uint16_t h)
{
  return zp_float_of((uint32_t)h << 16);
}

static inline uint16_t zp_gpt_f16(float x)
{
  uint32_t u = zp_float_bits(x);
  uint32_t a = u & 0x7fffffffu;
  /* exponent bias 127 − 15 */
  uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  /* The last place of 1/2 is 2^-24, fp16's unit below 2^-14: the addition rounds to it. */
  uint32_t small = zp_float_bits(zp_float_of(a) + 0.5f) - 0x3f000000u;
  uint32_t nan = 0x7e00u | ((a >> 13) & 0x3ffu);
  uint32_t h = a < 0x38800000u ? small : normal;
  h = a >= 0x47800000u ? 0x7c00u : h;
  h = a > 0x7f800000u ? nan : h;
  return (uint16_t)(h | ((u >> 16) & 0x8000u));
}

static inline float zp_gpt_of_f16(uint16_t h)
{
  uint32_t a = h & 0x7fffu;
  uint32_t small = zp_float_bits((float)(int32_t)a * 0x1p-24f);
  uint32_t normal = (a << 13) + 0x38000000u;
  uint32_t nonfinite = ((a << 13) | 0x7f800000u) | (a > 0x7c00u ? 0x400000u : 0u);
  uint32_t u = a < 0x400u ? small : normal;
  u = a >= 0x7c00u ? nonfinite : u;
  return zp_float_of(u | ((uint32_t)(h & 0x8000u) << 16));
}

/* out[i] = in[i] as fp32; in: n elements of `precision` (ZP_F32, ZP_BF16 or ZP_F16). Exact. */
void zp_gpt_decode(float *out, const void *in, int64_t n, int32_t precision);

/* out[i] = in[i] rounded once, to nearest even; out: n elements of `precision`. */
void zp_gpt_encode(void *out, const float *in, int64_t n, int32_t precision);

/* x[i] = the nearest number of `precision`: decode(encode(x)). */
void zp_gpt_round(float *x, int64_t n, int32_t precision);

#endif
