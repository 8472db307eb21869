#include "gpt_net.h"

#include <string.h>

#include "gpt_matmul.h"
#include "zmath.h"

enum { V = ZP_GPT_VOCAB };

static int64_t widest(const zp_gpt_shape *shape)
{
  return 4 * shape->d_model > V ? 4 * shape->d_model : V;
}

void zp_gpt_make_block(zp_gpt_pool *pool, zp_gpt_block_kept *kept, const zp_gpt_shape *shape)
{
  int64_t N = (int64_t)shape->batch * shape->context, C = shape->d_model;
  kept->x = zp_gpt_take_f32(pool, N * C);
  kept->ln1 = zp_gpt_take_f32(pool, N * C);
  kept->mean1 = zp_gpt_take_f32(pool, N);
  kept->rstd1 = zp_gpt_take_f32(pool, N);
  kept->qkv = zp_gpt_take_f32(pool, N * 3 * C);
  kept->p = zp_gpt_take_f32(pool, N * shape->heads * shape->context);
  kept->att = zp_gpt_take_f32(pool, N * C);
  kept->mid = zp_gpt_take_f32(pool, N * C);
  kept->ln2 = zp_gpt_take_f32(pool, N * C);
  kept->mean2 = zp_gpt_take_f32(pool, N);
  kept->rstd2 = zp_gpt_take_f32(pool, N);
  kept->fc = zp_gpt_take_f32(pool, N * 4 * C);
  kept->gelu = zp_gpt_take_f32(pool, N * 4 * C);
}

void zp_gpt_make_head(zp_gpt_pool *pool, zp_gpt_head_kept *kept, const zp_gpt_shape *shape)
{
  int64_t N = (int64_t)shape->batch * shape->context, C = shape->d_model;
  kept->x = zp_gpt_take_f32(pool, N * C);
  kept->norm = zp_gpt_take_f32(pool, N * C);
  kept->mean = zp_gpt_take_f32(pool, N);
  kept->rstd = zp_gpt_take_f32(pool, N);
  kept->p = zp_gpt_take_f32(pool, N * V);
}

void zp_gpt_make_scratch(zp_gpt_pool *pool, zp_gpt_scratch *scratch, const zp_gpt_shape *shape)
{
  int64_t N = (int64_t)shape->batch * shape->context, C = shape->d_model, T = shape->context;
  scratch->wide = zp_gpt_take_f32(pool, N * widest(shape));
  scratch->narrow = zp_gpt_take_f32(pool, N * C);
  scratch->mid = zp_gpt_take_f32(pool, N * C);
  scratch->attention = zp_gpt_take_f32(pool, C / shape->heads * T + T * T);
  scratch->wt = zp_gpt_take_f32(pool, C * widest(shape));
}

/* y (n) = x + y. */
static void add_residual(float *y, const float *x, int64_t n)
{
  for (int64_t i = 0; i < n; i++) y[i] = x[i] + y[i];
}

void zp_gpt_block(float *y, zp_gpt_block_kept *kept, const float *const *w,
                  const zp_gpt_scratch *scratch, zp_gpt_dims d)
{
  int64_t N = d.B * d.T, C = d.C;
  zp_gpt_norm(kept->ln1, kept->mean1, kept->rstd1, kept->x, w[ZP_GPT_LN1_G], w[ZP_GPT_LN1_B], d);
  zp_gpt_linear(kept->qkv, kept->ln1, w[ZP_GPT_QKV_W], w[ZP_GPT_QKV_B], N, C, 3 * C);
  zp_gpt_attention(kept->att, kept->p, kept->qkv, scratch->attention, d);
  zp_gpt_linear(kept->mid, kept->att, w[ZP_GPT_PROJ_W], w[ZP_GPT_PROJ_B], N, C, C);
  add_residual(kept->mid, kept->x, N * C);
  zp_gpt_norm(kept->ln2, kept->mean2, kept->rstd2, kept->mid, w[ZP_GPT_LN2_G], w[ZP_GPT_LN2_B], d);
  zp_gpt_linear(kept->fc, kept->ln2, w[ZP_GPT_FC_W], w[ZP_GPT_FC_B], N, C, 4 * C);
  zp_gelu(kept->gelu, kept->fc, N * 4 * C);
  zp_gpt_linear(y, kept->gelu, w[ZP_GPT_OUT_W], w[ZP_GPT_OUT_B], N, 4 * C, C);
  add_residual(y, kept->mid, N * C);
}

void zp_gpt_block_backward(float *dx, float *const *dw, const float *dy,
                           const zp_gpt_block_kept *kept, const float *const *w,
                           const zp_gpt_scratch *scratch, zp_gpt_dims d)
{
  int64_t N = d.B * d.T, C = d.C;
  float *wide = scratch->wide;     /* (N,4C) of GELU's output, then input; later (N,3C) of qkv */
  float *narrow = scratch->narrow; /* (N,C) of a norm's or the attention's output */
  float *mid = scratch->mid;       /* (N,C) between attention and MLP */
  float *wt = scratch->wt;

  zp_gpt_transpose(wt, w[ZP_GPT_OUT_W], 4 * C, C);
  zp_gpt_linear_backward(wide, dw[ZP_GPT_OUT_W], dw[ZP_GPT_OUT_B], dy, kept->gelu, wt, N, 4 * C, C);
  zp_gelu_backward(wide, kept->fc, N * 4 * C);
  zp_gpt_transpose(wt, w[ZP_GPT_FC_W], C, 4 * C);
  zp_gpt_linear_backward(narrow, dw[ZP_GPT_FC_W], dw[ZP_GPT_FC_B], wide, kept->ln2, wt, N, C,
                         4 * C);
  zp_gpt_norm_backward(mid, dw[ZP_GPT_LN2_G], dw[ZP_GPT_LN2_B], narrow, dy, kept->mid, kept->mean2,
                       kept->rstd2, w[ZP_GPT_LN2_G], d);

  zp_gpt_transpose(wt, w[ZP_GPT_PROJ_W], C, C);
  zp_gpt_linear_backward(narrow, dw[ZP_GPT_PROJ_W], dw[ZP_GPT_PROJ_B], mid, kept->att, wt, N, C, C);
  zp_gpt_attention_backward(wide, narrow, kept->p, kept->qkv, scratch->attention, d);
  zp_gpt_transpose(wt, w[ZP_GPT_QKV_W], C, 3 * C);
  zp_gpt_linear_backward(narrow, dw[ZP_GPT_QKV_W], dw[ZP_GPT_QKV_B], wide, kept->ln1, wt, N, C,
                         3 * C);
  zp_gpt_norm_backward(dx, dw[ZP_GPT_LN1_G], dw[ZP_GPT_LN1_B], narrow, mid, kept->x, kept->mean1,
                       kept->rstd1, w[ZP_GPT_LN1_G], d);
}

void zp_gpt_head(zp_gpt_head_kept *kept, const float *const *w, const zp_gpt_scratch *scratch,
                 zp_gpt_dims d)
{
  int64_t N = d.B * d.T, C = d.C;
  zp_gpt_norm(kept->norm, kept->mean, kept->rstd, kept->x, w[0], w[1], d);
  zp_gpt_transpose(scratch->wt, w[2], V, C); /* (C,256) */
  memset(kept->p, 0, (size_t)(N * V) * sizeof(float));
  zp_gpt_matmul((zp_gpt_product){N, V, C, kept->p, V, kept->norm, C, 1, scratch->wt, V});
}

void zp_gpt_head_backward(float *dx, float *const *dw, const int32_t *target, float scale,
                          const zp_gpt_head_kept *kept, const float *const *w,
                          const zp_gpt_scratch *scratch, zp_gpt_dims d)
{
  int64_t N = d.B * d.T, C = d.C;
  float *dlogits = scratch->wide; /* (N,256) */
  float *dnorm = scratch->narrow; /* (N,C) */
  zp_gpt_cross_entropy_backward(dlogits, kept->p, target, scale, d);
  memset(dw[2], 0, (size_t)(V * C) * sizeof(float));
  zp_gpt_matmul((zp_gpt_product){V, C, N, dw[2], C, dlogits, 1, V, kept->norm, C});
  memset(dnorm, 0, (size_t)(N * C) * sizeof(float));
  zp_gpt_matmul((zp_gpt_product){N, C, V, dnorm, C, dlogits, V, 1, w[2], C});
  zp_gpt_norm_backward(dx, dw[0], dw[1], dnorm, NULL, kept->x, kept->mean, kept->rstd, w[0], d);
}
