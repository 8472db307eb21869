/* Text from the model, and its loss on a text: fp32, one sequence at a time. */
#include <stdlib.h>
#include <string.h>

#include "gpt_data.h"
#include "gpt_net.h"
#include "zmath.h"

typedef struct reader {
  zp_gpt_shape shape; /* batch 1 */
  const float *const *params;
  int32_t *token, *target; /* (T) */
  zp_gpt_block_kept block; /* one for all blocks: nothing goes backward */
  zp_gpt_head_kept head;
  zp_gpt_scratch scratch;
  zp_gpt_pool pool;
} reader;

static int open_reader(reader *r, const zp_gpt_shape *shape, const float *const *params)
{
  *r = (reader){.shape = *shape, .params = params};
  r->shape.batch = 1;
  r->token = zp_gpt_take(&r->pool, shape->context, sizeof *r->token);
  r->target = zp_gpt_take(&r->pool, shape->context, sizeof *r->target);
  zp_gpt_make_block(&r->pool, &r->block, &r->shape);
  zp_gpt_make_head(&r->pool, &r->head, &r->shape);
  zp_gpt_make_scratch(&r->pool, &r->scratch, &r->shape);
  if (!r->pool.failed) return 0;
  zp_gpt_pool_free(&r->pool);
  return -1;
}

/* Logits of the T bytes after each of token[0..T-1], in head.p (T,256). */
static void logits(reader *r, int64_t T)
{
  zp_gpt_dims d = {1, T, r->shape.d_model, r->shape.heads};
  const float *const *w = r->params;
  float *y = r->head.x;
  zp_gpt_embed(y, r->token, w[0], w[1], d);
  for (int32_t l = 0; l < r->shape.layers; l++) {
    memcpy(r->block.x, y, (size_t)(T * d.C) * sizeof *y);
    zp_gpt_block(y, &r->block, w + 2 + ZP_GPT_BLOCK_ENTRIES * l, &r->scratch, d);
  }
  zp_gpt_head(&r->head, w + zp_gpt_entries(&r->shape) - 3, &r->scratch, d);
}

/* The byte after logit[256]: the likeliest, or drawn with `uniform` from [0, 1). */
static uint8_t choose(const float *logit, float temperature, double uniform)
{
  int best = 0;
  for (int v = 1; v < ZP_GPT_VOCAB; v++)
    if (logit[v] > logit[best]) best = v;
  if (!(temperature > 0.0f)) return (uint8_t)best;
  double weight[ZP_GPT_VOCAB], sum = 0.0;
  for (int v = 0; v < ZP_GPT_VOCAB; v++) {
    weight[v] = (double)zp_expf((logit[v] - logit[best]) / temperature);
    sum += weight[v];
  }
  double left = uniform * sum;
  for (int v = 0; v < ZP_GPT_VOCAB; v++) {
    left -= weight[v];
    if (left < 0.0) return (uint8_t)v;
  }
  return (uint8_t)best;
}

int zp_gpt_sample(const zp_gpt_shape *shape, const float *const *params, const uint8_t *prompt,
                  int32_t n_prompt, float temperature, uint64_t seed, uint8_t *out, int32_t n_out)
{
  reader r;
  if (open_reader(&r, shape, params)) return -1;
  for (int64_t i = 0; i < n_out; i++) {
    int64_t have = n_prompt + i; /* bytes known: prompt, then out[0..i-1] */
    int64_t T = have < shape->context ? have : shape->context;
    for (int64_t t = 0; t < T; t++) {
      int64_t at = have - T + t;
      r.token[t] = at < n_prompt ? prompt[at] : out[at - n_prompt];
    }
    logits(&r, T);
    double uniform = (double)(zp_gpt_hash(seed, (uint64_t)i, 0, 0) >> 11) * 0x1p-53;
    out[i] = choose(r.head.p + (T - 1) * ZP_GPT_VOCAB, temperature, uniform);
  }
  zp_gpt_pool_free(&r.pool);
  return 0;
}

int zp_gpt_loss_of(const zp_gpt_shape *shape, const float *const *params, const uint8_t *bytes,
                   int64_t n, double *loss)
{
  reader r;
  if (open_reader(&r, shape, params)) return -1;
  double total = 0.0;
  for (int64_t at = 0; at + 1 < n; at += shape->context) {
    int64_t T = n - 1 - at < shape->context ? n - 1 - at : shape->context;
    for (int64_t t = 0; t < T; t++) {
      r.token[t] = bytes[at + t];
      r.target[t] = bytes[at + t + 1];
    }
    logits(&r, T);
    zp_gpt_dims d = {1, T, shape->d_model, shape->heads};
    total += (double)zp_gpt_cross_entropy(r.head.p, r.target, d) * (double)T;
  }
  zp_gpt_pool_free(&r.pool);
  *loss = total / (double)(n - 1);
  return 0;
}
