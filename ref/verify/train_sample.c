#include <stdlib.h>
#include <string.h>

#include "../engine/store.h"
#include "train_outcome.h"

char *zp_train_sample(const zp_gpt_shape *shape, const zp_snapshot *end, const zp_config *cfg,
                      const uint8_t *text, int64_t text_bytes, int32_t bytes, uint64_t seed)
{
  const int32_t prompt = text_bytes < ZP_SAMPLE_PROMPT ? (int32_t)text_bytes : ZP_SAMPLE_PROMPT;
  const int32_t n = prompt + bytes;
  float *values = calloc((size_t)end->elements + 1, sizeof *values);
  const float **params = calloc((size_t)end->entries + 1, sizeof *params);
  char *out = calloc((size_t)n + 1, 1);
  if (values == NULL || params == NULL || out == NULL) goto fail;
  for (int32_t j = 0; j < end->entries; j++) {
    const uint8_t *bits = end->param + end->at[j] * end->size;
    params[j] = values + end->at[j];
    zp_widen_from(zp_entry_dtype(cfg, j), bits, 0, cfg->params[j].numel, values + end->at[j]);
  }
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
