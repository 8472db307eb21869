#include "gpt_cast.h"

#include "gpt_target.h"

static ZP_GPT_INLINE void decode_body(float *out, const uint16_t *in, int64_t n, int32_t precision)
{
  if (precision == ZP_BF16) {
    for (int64_t i = 0; i < n; i++) out[i] = zp_gpt_of_bf16(in[i]);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = zp_gpt_of_f16(in[i]);
  }
}

static ZP_GPT_INLINE void encode_body(uint16_t *out, const float *in, int64_t n, int32_t precision)
{
  if (precision == ZP_BF16) {
    for (int64_t i = 0; i < n; i++) out[i] = zp_gpt_bf16(in[i]);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = zp_gpt_f16(in[i]);
  }
}

static ZP_GPT_INLINE void round_body(float *x, int64_t n, int32_t precision)
{
  if (precision == ZP_BF16) {
    for (int64_t i = 0; i < n; i++) x[i] = zp_gpt_of_bf16(zp_gpt_bf16(x[i]));
  } else if (precision == ZP_F16) {
    for (int64_t i = 0; i < n; i++) x[i] = zp_gpt_of_f16(zp_gpt_f16(x[i]));
  }
}

ZP_GPT_DISPATCH(static, decode_16bit, decode_body,
                (float *out, const uint16_t *in, int64_t n, int32_t precision),
                (out, in, n, precision))
ZP_GPT_DISPATCH(static, encode_16bit, encode_body,
                (uint16_t * out, const float *in, int64_t n, int32_t precision),
                (out, in, n, precision))
ZP_GPT_DISPATCH(, zp_gpt_round, round_body, (float *x, int64_t n, int32_t precision),
                (x, n, precision))

void zp_gpt_decode(float *out, const void *in, int64_t n, int32_t precision)
{
  if (precision == ZP_F32) memcpy(out, in, (size_t)n * sizeof *out);
  else decode_16bit(out, in, n, precision);
}

void zp_gpt_encode(void *out, const float *in, int64_t n, int32_t precision)
{
  if (precision == ZP_F32) memcpy(out, in, (size_t)n * sizeof *in);
  else encode_16bit(out, in, n, precision);
}
