#include <stdlib.h>
#include <string.h>

#include "../num/half.h"
#include "train_outcome.h"

static float value_of(const zp_snapshot *s, int32_t precision, int64_t i)
{
  uint32_t bits;
  uint16_t half;
  float x;
  if (precision == ZP_F32) {
    memcpy(&bits, s->param + 4 * i, sizeof bits);
  } else {
    memcpy(&half, s->param + 2 * i, sizeof half);
    bits = precision == ZP_BF16 ? zp_f32_from_bf16(half) : zp_f32_from_f16(half);
  }
  memcpy(&x, &bits, sizeof x);
  return x;
}

char *zp_train_sample(const zp_gpt_shape *shape, const zp_snapshot *end, int32_t precision,
                      const uint8_t *text, int64_t text_bytes, int32_t bytes, uint64_t seed)
{
  const int32_t prompt = text_bytes < ZP_SAMPLE_PROMPT ? (int32_t)text_bytes : ZP_SAMPLE_PROMPT;
  const int32_t n = prompt + bytes;
  float *values = calloc((size_t)end->elements + 1, sizeof *values);
  const float **params = calloc((size_t)end->entries + 1, sizeof *params);
  char *out = calloc((size_t)n + 1, 1);
  if (values == NULL || params == NULL || out == NULL) goto fail;
  for (int64_t i = 0; i < end->elements; i++) values[i] = value_of(end, precision, i);
  for (int32_t j = 0; j < end->entries; j++) params[j] = values + end->at[j];
  memcpy(out, text, (size_t)prompt);
  if (zp_gpt_sample(shape, params, text, prompt, 0.7f, seed, (uint8_t *)out + prompt, bytes) != 0)
    goto fail;
  for (int32_t i = 0; i < n; i++)
    if (out[i] != '\n' && ((unsigned char)out[i] < 32 || (unsigned char)out[i] > 126)) out[i] = '?';
  free(values);
  free(params);
  return out;
fail:
  free(values);
  free(params);
  free(out);
  return NULL;
}
